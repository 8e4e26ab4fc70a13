package kernel

import "golang.org/x/sys/unix"

// readArmBF16 asks Linux's auxiliary vector, because x/sys/cpu does not tell FEAT_BF16.
// Without the vector there are no bf16 products.
func readArmBF16() bool {
	const (
		hwcap2 = 26      // AT_HWCAP2
		bf16   = 1 << 14 // HWCAP2_BF16
	)
	vector, err := unix.Auxv()
	if err != nil {
		return false
	}
	for _, entry := range vector {
		if entry[0] == hwcap2 {
			return entry[1]&bf16 != 0
		}
	}
	return false
}
