package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Reserve is the room that must stay free on a file system: the larger of both, and no
// more than a quarter of it, so that small ones can be used at all.
type Reserve struct {
	Bytes uint64
	Share float64 // of the file system's size, 0..1
}

// DefaultReserve is where producers of data stop: 2 GiB or 5 % free, of a disk below
// 8 GiB a quarter.
var DefaultReserve = Reserve{Bytes: 2 << 30, Share: 0.05}

// Of is the reserve of one file system in bytes.
func (r Reserve) Of(s Space) uint64 {
	return max(min(r.Bytes, s.Total/4), uint64(r.Share*float64(s.Total)))
}

// Usable is how much may be written to a file system, in bytes.
func (r Reserve) Usable(s Space) uint64 { return s.Free - min(s.Free, r.Of(s)) }

// Check returns *SpaceError if less than the reserve plus need bytes is free
// where path lies.
func (r Reserve) Check(fsys FS, path string, need uint64) error {
	space, err := fsys.Space(path)
	if err != nil {
		return fmt.Errorf("free space of %s: %w", path, err)
	}
	if want := r.Of(space) + need; space.Free < want {
		return &SpaceError{Path: path, Free: space.Free, Total: space.Total, Need: want}
	}
	return nil
}

// Exists says whether anything is at path, on the operating system's disk.
func Exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// IsFile says whether a regular file is there, on the operating system's disk.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// NearestDir returns path or its nearest parent that exists.
func NearestDir(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

// RealPath returns the absolute path without symbolic links of what exists of it.
func RealPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	there := NearestDir(abs)
	found, err := filepath.EvalSymlinks(there)
	if err != nil {
		return abs
	}
	return filepath.Join(found, strings.TrimPrefix(abs, there))
}

// SameFile says whether two paths name one file, there or to be made.
func SameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y) || RealPath(a) == RealPath(b)
}

// CanCreate tries whether a file can be written on the operating system's disk,
// before hours of work are done for it. It leaves nothing behind.
func CanCreate(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &fs.PathError{Op: "write", Path: path, Err: syscall.EISDIR}
	}
	if Special(path) { // it is written to, where it is; a pipe may wait for its reader
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(linked(path)), ".create-*.tmp")
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		failed.Op, failed.Path = "write", path // not the name that was tried
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
