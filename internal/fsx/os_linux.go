package fsx

import (
	"os"
	"strings"

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

// bootID changes with every start of the machine; empty where not known.
func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
