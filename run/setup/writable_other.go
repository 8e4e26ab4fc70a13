//go:build !unix

package setup

// writable leaves the answer to the first file that is made.
func writable(string) error { return nil }
