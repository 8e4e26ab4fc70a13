package fsx

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData is fdatasync, repeated when a signal interrupts it.
func syncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
