//go:build !unix

package run

// writable leaves the answer to the first file that is made.
func writable(string) error { return nil }
