//go:build unix

package fsx

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// space asks the file system that holds name.
func space(name string) (Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: name, Err: err}
	}
	size := uint64(st.Bsize)
	return Space{Free: uint64(st.Bavail) * size, Total: uint64(st.Blocks) * size}, nil
}

// syncDir syncs a directory. A file system that cannot sync directories at all
// (EINVAL, as CIFS answers) keeps them in order by itself: that is no error.
func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

// TryLock takes the lock of an open file, which ends with the process, without waiting:
// ErrHeld where another open file has it, ErrNoLocks where this file system has none.
func TryLock(f *os.File, shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	for {
		switch err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return ErrHeld
		case unix.ENOSYS, unix.ENOTSUP, unix.ENOLCK, unix.EINVAL:
			return ErrNoLocks
		default:
			return os.NewSyscallError("flock", err)
		}
	}
}

// patiently does what needs no patience here.
func patiently(_ bool, do func() error) error { return do() }
