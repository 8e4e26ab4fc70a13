package kernel

import "syscall"

// permitTiles asks Linux (5.16 and later) to let this process use the tiles,
// whose state is too large to be saved for every process. The answer holds for
// all its threads and for as long as it lives.
func permitTiles() bool {
	const (
		requestPermission = 0x1023 // ARCH_REQ_XCOMP_PERM
		tileData          = 18     // XFEATURE_XTILE_DATA
	)
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return errno == 0
}
