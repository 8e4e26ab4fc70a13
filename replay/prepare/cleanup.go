package prepare

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

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
	m, err := ReadManifest(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("clean up %s: %w", dir, err)
	}
	if at, err := PinnedAt(fsys, dir); err != nil || at != "" {
		if err == nil {
			err = fmt.Errorf("%w by %s", ErrPinned, at)
		}
		return nil, fmt.Errorf("clean up %s: %w", dir, err)
	}
	done := &Cleaned{}
	if err := removeLeft(fsys, dir, m); err != nil {
		return done, fmt.Errorf("clean up %s: %w", dir, err)
	}
	for _, f := range m.Files {
		if err := done.file(fsys, filepath.Join(dir, f.Name), f); err != nil {
			return done, fmt.Errorf("clean up %s: %w", dir, err)
		}
	}
	if err := done.strangers(fsys, dir); err != nil || len(done.Kept) > 0 {
		return done, err
	}
	path := filepath.Join(dir, ManifestName)
	if err := fsys.Remove(path); err != nil {
		return done, fmt.Errorf("clean up %s: %w", dir, err)
	}
	done.Removed = append(done.Removed, path)
	if !m.Made {
		return done, fsx.SyncDir(fsys, dir)
	}
	if err := fsys.Remove(dir); err != nil {
		return done, fmt.Errorf("clean up %s: %w", dir, err)
	}
	done.Removed = append(done.Removed, dir)
	return done, fsx.SyncDir(fsys, filepath.Dir(dir))
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
	if _, err := fsys.Stat(path + pinSuffix); err == nil {
		c.Kept = append(c.Kept, Fault{f.Name, "it is pinned"})
		return nil
	}
	if info.IsDir() || info.Size() != f.Size {
		c.Kept = append(c.Kept, Fault{f.Name, fmt.Sprintf("it has %d bytes, the step wrote %d", info.Size(), f.Size)})
		return nil
	}
	if err := fsys.Remove(path); err != nil {
		return err
	}
	c.Removed = append(c.Removed, path)
	c.Bytes += f.Size
	return nil
}

// strangers lists what else is in the directory.
func (c *Cleaned) strangers(fsys fsx.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("clean up %s: %w", dir, err)
	}
	for _, e := range entries {
		if name := e.Name(); name != ManifestName && !c.keeps(name) {
			c.Kept = append(c.Kept, Fault{name, "the step did not write it"})
		}
	}
	return nil
}

func (c *Cleaned) keeps(name string) bool {
	for _, k := range c.Kept {
		if k.File == name {
			return true
		}
	}
	return false
}
