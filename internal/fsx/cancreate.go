package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// CanCreate tries whether a file can be written on the operating system's disk,
// before hours of work are done for it. It leaves nothing behind.
func CanCreate(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("is a directory")}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".create-*.tmp")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
