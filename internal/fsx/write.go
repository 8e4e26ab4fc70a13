package fsx

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// tempSuffix ends the names of files and directories that are not whole yet.
// Such names also begin with a dot.
const tempSuffix = ".partial"

var tempCounter atomic.Uint64

// WriteFile makes path hold data, replacing what was there. nil means that the
// new content is on stable storage under its name; after an error or a crash
// path holds the whole old or the whole new content. ErrSync is fatal.
func WriteFile(fsys FS, path string, data []byte) error {
	return WriteFileFunc(fsys, path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteFileFunc is WriteFile of what write writes. The writer is buffered.
func WriteFileFunc(fsys FS, path string, write func(io.Writer) error) error {
	temp, f, err := createTemp(fsys, path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := fillAndSync(f, write); err != nil {
		f.Close()
		fsys.Remove(temp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		fsys.Remove(temp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := renameAndSync(fsys, temp, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// fillAndSync writes the content of f and makes it durable.
func fillAndSync(f File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return syncError(f.Name(), err)
	}
	return nil
}

// renameAndSync gives temp its final name and makes that durable. Without the
// directory's fsync a crash can undo the rename after the caller was told.
func renameAndSync(fsys FS, temp, path string) error {
	if err := fsys.Rename(temp, path); err != nil {
		RemoveAll(fsys, temp)
		return err
	}
	return SyncDir(fsys, filepath.Dir(path))
}

// SyncDir is FS.SyncDir with a failure reported as ErrSync.
func SyncDir(fsys FS, dir string) error {
	if err := fsys.SyncDir(dir); err != nil {
		return syncError(dir, err)
	}
	return nil
}

// createTemp opens a new file beside path.
func createTemp(fsys FS, path string) (string, File, error) {
	for range 100 {
		temp := tempName(path)
		f, err := fsys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return temp, f, err
		}
	}
	return "", nil, fmt.Errorf("no free temporary name: %w", fs.ErrExist)
}

// tempName is a hidden name beside path, another one at each call.
func tempName(path string) string {
	dir, base := filepath.Split(path)
	return filepath.Join(dir, fmt.Sprintf(".%s.%d-%d%s", base, os.Getpid(), tempCounter.Add(1), tempSuffix))
}

// IsTemp says whether a base name is one of WriteFile's or WriteDir's
// temporary names.
func IsTemp(base string) bool {
	return strings.HasPrefix(base, ".") && strings.HasSuffix(base, tempSuffix)
}

// RemoveTemps removes what crashed WriteFile and WriteDir calls left in dir. No
// other process may be writing there. It returns how many it removed.
func RemoveTemps(fsys FS, dir string) (int, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, e := range entries {
		if !IsTemp(e.Name()) {
			continue
		}
		if err := RemoveAll(fsys, filepath.Join(dir, e.Name())); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}
