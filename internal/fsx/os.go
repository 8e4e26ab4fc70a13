package fsx

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// OS is the operating system's file system.
var OS FS = osFS{}

type osFS struct{}

func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Mkdir(name string, perm fs.FileMode) error  { return os.Mkdir(name, perm) }
func (osFS) Rename(oldName, newName string) error       { return os.Rename(oldName, newName) }
func (osFS) Remove(name string) error                   { return os.Remove(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }

// Space asks the file system that holds name.
func (osFS) Space(name string) (Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: name, Err: err}
	}
	size := uint64(st.Bsize)
	return Space{Free: uint64(st.Bavail) * size, Total: uint64(st.Blocks) * size}, nil
}

// SyncDir syncs a directory. A file system that cannot sync directories at all
// (EINVAL, as CIFS answers) keeps them in order by itself: that is no error.
func (osFS) SyncDir(name string) error {
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

// osFile adds fdatasync to os.File.
type osFile struct{ *os.File }

func (f osFile) SyncData() error { return syncData(f.File) }

// tryFlock takes a flock without waiting; EWOULDBLOCK where another open file has it.
func tryFlock(f *os.File, shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	for {
		if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != unix.EINTR {
			return err
		}
	}
}

// processGone says that no process of this machine has the id.
func processGone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
