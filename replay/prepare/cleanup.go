package prepare

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Cleaned says what Cleanup did.
type Cleaned struct {
	Removed []string // paths, the directory last
	Kept    []Fault  // files of the manifest that are not as the step wrote them, and strangers
	Bytes   int64    // of what was removed
}

// Cleanup removes the chunks that the manifest of a step's directory lists, where
// they still have the size that the step gave them, then the manifest, then the
// directory if the step made it and nothing else is in it. What the manifest does
// not list is never touched. A pinned directory (or one in a pinned one) is
// ErrPinned, one without a manifest fs.ErrNotExist. The same call goes on after a
// kill.
func Cleanup(fsys fsx.FS, dir string) (*Cleaned, error) {
	done := &Cleaned{}
	if err := done.directory(fsys, dir); err != nil {
		return done, fmt.Errorf("clean up %s: %w", dir, err)
	}
	return done, nil
}

func (c *Cleaned) directory(fsys fsx.FS, dir string) error {
	m, err := ReadManifest(fsys, dir)
	if err != nil {
		return err
	}
	if at, err := PinnedAt(fsys, dir); err != nil {
		return err
	} else if at != "" {
		return fmt.Errorf("%w by %s", ErrPinned, at)
	}
	if err := removeLeft(fsys, dir, m); err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := c.file(fsys, filepath.Join(dir, f.Name), f); err != nil {
			return err
		}
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if name != ManifestName && !slices.ContainsFunc(c.Kept, func(f Fault) bool { return f.File == name }) {
			c.Kept = append(c.Kept, Fault{name, "the step did not write it"})
		}
	}
	if len(c.Kept) > 0 {
		return nil
	}
	if err := c.remove(fsys, filepath.Join(dir, ManifestName)); err != nil {
		return err
	}
	if !m.Made {
		return fsx.SyncDir(fsys, dir)
	}
	if err := c.remove(fsys, dir); err != nil {
		return err
	}
	return fsx.SyncDir(fsys, filepath.Dir(dir))
}

// file removes one file of the manifest. A pinned one stays.
func (c *Cleaned) file(fsys fsx.FS, path string, f File) error {
	info, err := fsys.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed before a kill
	}
	if err != nil {
		return err
	}
	if _, err := fsys.Stat(path + pinName); err == nil {
		c.Kept = append(c.Kept, Fault{f.Name, "it is pinned"})
		return nil
	}
	if info.IsDir() || info.Size() != f.Size {
		c.Kept = append(c.Kept, Fault{f.Name, fmt.Sprintf("it has %d bytes, the step wrote %d", info.Size(), f.Size)})
		return nil
	}
	if err := c.remove(fsys, path); err != nil {
		return err
	}
	c.Bytes += f.Size
	return nil
}

func (c *Cleaned) remove(fsys fsx.FS, path string) error {
	err := fsys.Remove(path)
	if err == nil {
		c.Removed = append(c.Removed, path)
	}
	return err
}

// pinName is the file that pins a directory, and ends the name of the one beside a
// file that pins that.
const pinName = ".pinned"

// pinPath is where the pin of path stands.
func pinPath(fsys fsx.FS, path string) (string, error) {
	info, err := fsys.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return filepath.Join(path, pinName), nil
	}
	return path + pinName, nil
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
	for pin, dir := own, abs; ; pin = filepath.Join(dir, pinName) {
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
