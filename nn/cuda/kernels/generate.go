package kernels

//go:generate go run ./gen
