package prepare

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// A pin is a file: pinFile in a directory, or beside a file its name with
// pinSuffix.
const (
	pinFile   = ".pinned"
	pinSuffix = ".pinned"
)

// pinPath is where the pin of path stands.
func pinPath(fsys fsx.FS, path string) (string, error) {
	info, err := fsys.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return filepath.Join(path, pinFile), nil
	}
	return path + pinSuffix, nil
}

// Pin exempts a directory and all that is in it, or a file, from clean-up. Twice
// is no error.
func Pin(fsys fsx.FS, path string) error {
	pin, err := pinPath(fsys, path)
	if err == nil {
		err = fsx.WriteFile(fsys, pin, []byte("chessbrain does not remove this\n"))
	}
	if err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	return nil
}

// Unpin takes a pin away; without one it does nothing.
func Unpin(fsys fsx.FS, path string) error {
	pin, err := pinPath(fsys, path)
	if err != nil {
		return fmt.Errorf("unpin: %w", err)
	}
	if err := fsys.Remove(pin); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unpin: %w", err)
	}
	return nil
}

// PinnedAt returns the pin that holds path: its own, or that of a directory
// above it; "" where there is none.
func PinnedAt(fsys fsx.FS, path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	own, err := pinPath(fsys, abs)
	if err != nil {
		return "", err
	}
	for pin, dir := own, abs; ; pin = filepath.Join(dir, pinFile) {
		if _, err := fsys.Stat(pin); err == nil {
			return pin, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", nil
		}
		dir = above
	}
}
