package fsx

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// OS is the operating system's file system. Tests put a recorder of it here (memfs.Recorder).
var OS FS = osFS{}

type osFS struct{}

func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := openFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }
func (osFS) Rename(oldName, newName string) error {
	return patiently(true, func() error { return os.Rename(oldName, newName) })
}
func (osFS) Remove(name string) error                   { return os.Remove(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }

func (osFS) Space(name string) (Space, error) { return space(name) }
func (osFS) SyncDir(name string) error        { return syncDir(name) }

// osFile adds fdatasync to os.File.
type osFile struct{ *os.File }

func (f osFile) SyncData() error { return syncData(f.File) }

// Errors of TryLock.
var (
	ErrHeld    = errors.New("somebody else holds the lock")
	ErrNoLocks = errors.New("this file system has no locks")
)

// ErrNotFile says that something that is to be read is neither file nor directory.
var ErrNotFile = errors.New("it is no regular file")

// Open opens a file to read it. A pipe that has a name would be waited for without an end:
// what is neither file nor directory is refused, except what this process has open already.
func Open(name string) (*os.File, error) { return openFile(name, os.O_RDONLY, 0) }

func openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if flag == os.O_RDONLY && name != "/dev/stdin" && !strings.HasPrefix(name, "/dev/fd/") {
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return nil, &os.PathError{Op: "open", Path: name, Err: ErrNotFile}
		}
	}
	var f *os.File
	err := patiently(false, func() (err error) {
		f, err = os.OpenFile(name, flag, perm)
		return err
	})
	return f, err
}
