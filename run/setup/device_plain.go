//go:build !chessbrain_cuda

package setup

// CUDABuild says whether this program can use GPUs.
const CUDABuild = false
