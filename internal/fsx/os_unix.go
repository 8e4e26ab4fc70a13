//go:build unix

package fsx

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// statSpace asks the file system that holds name.
func statSpace(name string) (Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: name, Err: err}
	}
	size := uint64(st.Bsize)
	return Space{Free: uint64(st.Bavail) * size, Total: uint64(st.Blocks) * size}, nil
}

// tryFlock takes a flock without waiting. held: another open file has it.
// unsupported: this file system has no flock.
func tryFlock(f *os.File, shared bool) (held, unsupported bool, err error) {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	for {
		err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err != unix.EINTR {
			break
		}
	}
	switch {
	case err == nil:
		return false, false, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, false, nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EINVAL):
		return false, true, nil
	}
	return false, false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
}

// processGone says that no process of this machine has the id.
func processGone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
