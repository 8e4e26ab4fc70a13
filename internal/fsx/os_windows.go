package fsx

import (
	"errors"
	"math"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// space asks the volume that holds name.
func space(name string) (s Space, err error) {
	path, err := windows.UTF16PtrFromString(name)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(path, &s.Free, &s.Total, nil)
	}
	if err != nil {
		return s, &os.PathError{Op: "free space", Path: name, Err: err}
	}
	return s, nil
}

// syncDir does nothing: Windows has no sync of a directory, and NTFS writes the changes of
// names to a journal of its own.
func syncDir(name string) error {
	_, err := os.Stat(name)
	return err
}

func syncData(f *os.File) error { return f.Sync() }

// TryLock takes the lock of an open file, which ends with the process, without waiting:
// ErrHeld where another open file has it.
func TryLock(f *os.File, shared bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	// Locks are mandatory: a byte behind all that is ever written is locked.
	at := &windows.Overlapped{OffsetHigh: math.MaxInt32}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return os.NewSyscallError("LockFileEx", err)
}

// patience is how long a file is waited for that another process has in hand.
const patience = 2 * time.Second

// patiently does what Windows refuses while somebody reads or replaces the file. Where
// denied, that may be told as missing rights.
func patiently(denied bool, do func() error) error {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := do()
		busy := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || denied && errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !busy || time.Now().After(end) {
			return err
		}
	}
}
