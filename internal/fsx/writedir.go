package fsx

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// MkdirAll makes path and its missing parents, each durable.
func MkdirAll(fsys FS, path string) error {
	info, err := fsys.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := MkdirAll(fsys, parent); err != nil {
			return err
		}
	}
	if err := fsys.Mkdir(path, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncDir(fsys, parent)
}

// WriteDir makes the directory path, filled by fill, which writes into the
// temporary directory that it is given. nil means that the directory and all
// that is in it are on stable storage; after an error or a crash path is not
// there. A path that exists already is fs.ErrExist and is left alone. ErrSync
// is fatal.
func WriteDir(fsys FS, path string, fill func(tmp string) error) error {
	if _, err := fsys.Stat(path); err == nil {
		return fmt.Errorf("write directory: %w", &fs.PathError{Op: "mkdir", Path: path, Err: fs.ErrExist})
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write directory: %w", err)
	}
	temp, err := MkdirTemp(fsys, path)
	if err == nil {
		err = fill(temp)
		if err == nil {
			err = syncTree(fsys, temp)
		}
		if err == nil {
			err = renameAndSync(fsys, temp, path)
		} else {
			RemoveAll(fsys, temp)
		}
	}
	if err != nil {
		return fmt.Errorf("write directory %s: %w", path, err)
	}
	return nil
}

// MkdirTemp makes a new directory beside path, under a name that IsTemp knows.
func MkdirTemp(fsys FS, path string) (string, error) {
	return makeTemp(path, func(temp string) error { return fsys.Mkdir(temp, 0o777) })
}

// syncTree syncs every file and directory under dir, and dir.
func syncTree(fsys FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if e.IsDir() {
			err = syncTree(fsys, name)
		} else {
			err = syncFile(fsys, name)
		}
		if err != nil {
			return err
		}
	}
	return SyncDir(fsys, dir)
}

// syncFile syncs a file that was written and closed before.
func syncFile(fsys FS, name string) error {
	f, err := fsys.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		err = syncError(name, err)
	}
	return cmp.Or(err, f.Close())
}

// RemoveDir removes a directory whose files belong together: it vanishes as a whole, and nil
// means for good. One that is not there is no error.
func RemoveDir(fsys FS, dir string) error {
	old := MarkedTemp(dir, RemovedMark)
	err := removeRenamed(fsys, old) // left by a kill
	if err == nil {
		err = fsys.Rename(dir, old)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = removeRenamed(fsys, old)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}

// removeRenamed removes a directory under a temporary name once that name lasts: a power
// cut that undid the rename would bring back a directory with holes. The removal lasts, too:
// nobody may look for that name again.
func removeRenamed(fsys FS, temp string) error {
	if err := SyncDir(fsys, filepath.Dir(temp)); err != nil {
		return err
	}
	return RemoveForGood(fsys, temp)
}

// RemoveForGood is RemoveAll of what a power cut must not bring back.
func RemoveForGood(fsys FS, name string) error {
	if err := RemoveAll(fsys, name); err != nil {
		return err
	}
	return SyncDir(fsys, filepath.Dir(name))
}

// Entries lists a directory without what is hidden or temporary, sorted by name; one
// that is not there has none.
func Entries(fsys FS, dir string) ([]fs.DirEntry, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }), err
}

// Dirs returns the names of the directories that Entries lists.
func Dirs(fsys FS, dir string) (names []string, err error) {
	entries, err := Entries(fsys, dir)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
