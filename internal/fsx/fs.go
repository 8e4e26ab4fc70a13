package fsx

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// FS is the file system as this program uses it. Names are operating-system
// paths. OS is the real one; memfs.FS breaks on demand. Errors are those of
// package os: errors.Is with fs.ErrNotExist and fs.ErrExist works.
type FS interface {
	// OpenFile is os.OpenFile.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)

	// Mkdir makes one directory. Its entry lasts after SyncDir of the parent.
	Mkdir(name string, perm fs.FileMode) error

	// Rename replaces newName by oldName at once. It lasts after SyncDir.
	Rename(oldName, newName string) error

	// Remove removes a file or empty directory.
	Remove(name string) error

	// ReadDir lists a directory, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)

	Stat(name string) (fs.FileInfo, error)

	// SyncDir makes the entries of a directory (created, renamed, removed)
	// durable: fsync of the directory.
	SyncDir(name string) error

	// Space says how much room the file system that holds name has.
	Space(name string) (Space, error)
}

// File is an open file of an FS. Used by one goroutine at a time.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error     // fsync: data and all metadata
	SyncData() error // fdatasync: data, and the size that is needed to read it
}

// Space is the room of a file system in bytes.
type Space struct {
	Free  uint64 // open to this user
	Total uint64
}

// ReadFile returns the whole content of a file.
func ReadFile(fsys FS, name string) ([]byte, error) { return ReadUpTo(fsys, name, math.MaxInt64-1) }

// ReadUpTo is ReadFile for a file of at most so many bytes; one byte more says that it
// has more.
func ReadUpTo(fsys FS, name string, most int64) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// HashFile returns the SHA-256 of a file, hexadecimal, and its size.
func HashFile(fsys FS, name string) (sum string, size int64, err error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// RemoveAll removes name and what is in it. A name that is not there is no
// error.
func RemoveAll(fsys FS, name string) error {
	err := fsys.Remove(name)
	if err == nil || os.IsNotExist(err) {
		return nil
	}
	info, statErr := fsys.Stat(name)
	if statErr != nil || !info.IsDir() {
		return err
	}
	entries, err := fsys.ReadDir(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := RemoveAll(fsys, filepath.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return fsys.Remove(name)
}
