package kernel

import "golang.org/x/sys/unix"

// readArmBF16 asks macOS, which knows no such name on machines without FEAT_BF16.
func readArmBF16() bool {
	has, err := unix.SysctlUint32("hw.optional.arm.FEAT_BF16")
	return err == nil && has != 0
}
