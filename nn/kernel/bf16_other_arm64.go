//go:build arm64 && !linux && !darwin

package kernel

// readArmBF16 is false where the operating system is not asked.
func readArmBF16() bool { return false }
