package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// ErrStateMismatch means that a saved state belongs to another net or optimizer, or to
// another run's parts.
var ErrStateMismatch = errors.New("saved trainer state does not fit")

// ErrNoCheckpoint means that a directory holds no checkpoint at all.
var ErrNoCheckpoint = errors.New("no checkpoint")

// CorruptError says which file of a checkpoint, or which part of a state, is damaged.
type CorruptError = fsx.CorruptError

// Checkpoint is a checkpoint directory whose files have all been held against
// the manifest's hashes.
type Checkpoint struct {
	Path     string
	Manifest *Manifest
	Warnings []string // what the user must be told: damage found, and what was taken instead

	fsys fsx.FS
}

// Load opens the current checkpoint of dir. If it is damaged the one
// before it is taken, and so on, with a warning for each. Errors:
// ErrNoCheckpoint where there is none, a *CorruptError where none is whole.
func Load(fsys fsx.FS, dir string) (*Checkpoint, error) {
	names, err := List(fsys, dir)
	if err != nil {
		return nil, err
	}
	current, err := Current(fsys, dir)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 && current == "" {
		return nil, fmt.Errorf("%w in %s", ErrNoCheckpoint, dir)
	}
	var warnings []string
	var damaged []error
	for _, name := range loadOrder(names, current) {
		c, err := Open(fsys, filepath.Join(dir, name))
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("checkpoint %s cannot be used: %v", name, err))
			damaged = append(damaged, err)
			continue
		}
		if name != current {
			warnings = append(warnings, fmt.Sprintf("going on from checkpoint %s instead of %s", name, cmp.Or(current, "the current one (no marker)")))
		}
		c.Warnings = warnings
		return c, nil
	}
	return nil, fmt.Errorf("no checkpoint of %s is whole; put one back from a copy, or begin a new run from a net of this one (--net FILE): %w", dir, errors.Join(damaged...))
}

// loadOrder is the current checkpoint, those before it newest first, and then
// those after it, oldest first: they were never marked as current. Without a
// marker it is newest first.
func loadOrder(names []string, current string) []string {
	var order []string
	marked := len(names) // how many were marked at some time
	if current != "" {
		order = append(order, current)
		marked, _ = slices.BinarySearchFunc(names, stepOf(current)+1, func(name string, step int64) int {
			return cmp.Compare(stepOf(name), step)
		})
	}
	for _, name := range slices.Backward(names[:marked]) {
		if name != current {
			order = append(order, name)
		}
	}
	return append(order, names[marked:]...)
}

// Open reads the manifest of one checkpoint directory and verifies
// the size and hash of each file. Errors: a *CorruptError with the file.
func Open(fsys fsx.FS, path string) (*Checkpoint, error) {
	m, err := ReadManifest(fsys, path)
	if err != nil {
		return nil, err
	}
	if m.Name != filepath.Base(path) {
		return nil, &CorruptError{Path: filepath.Join(path, manifestFile), Reason: "it is the manifest of " + m.Name}
	}
	for _, f := range m.Files {
		if err := verifyFile(fsys, path, f); err != nil {
			return nil, err
		}
	}
	return &Checkpoint{Path: path, Manifest: m, fsys: fsys}, nil
}

func verifyFile(fsys fsx.FS, path string, want ManifestFile) error {
	name := filepath.Join(path, want.Name)
	sum, size, err := fsx.HashFile(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &CorruptError{Path: name, Reason: missing}
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	case size != want.Size:
		return &CorruptError{Path: name, Reason: fmt.Sprintf("%d bytes instead of %d", size, want.Size)}
	case sum != want.SHA256:
		return &CorruptError{Path: name, Reason: "its SHA-256 does not match the manifest"}
	}
	return nil
}

// missing is the fault of a file that a checkpoint must have.
const missing = "the file is missing"

// ReadManifest reads the manifest of one checkpoint directory, without a look at its
// other files. One that is missing or damaged is a *CorruptError.
func ReadManifest(fsys fsx.FS, path string) (*Manifest, error) {
	name := filepath.Join(path, manifestFile)
	data, err := fsx.ReadUpTo(fsys, name, maxManifestBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &CorruptError{Path: name, Reason: missing}
	}
	if err != nil {
		return nil, err
	}
	m, err := DecodeManifest(data)
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		corrupt.Path = name
	}
	return m, err
}

// Current returns the name of the checkpoint that is marked as current in
// dir, "" where there is no marker or it is damaged. It reads the marker only, so it is
// cheap to poll.
func Current(fsys fsx.FS, dir string) (string, error) {
	data, err := fsx.ReadFile(fsys, filepath.Join(dir, currentFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read checkpoint marker: %w", err)
	}
	name := strings.TrimSuffix(string(data), "\n")
	if _, _, ok := ParseName(name); !ok {
		return "", nil
	}
	return name, nil
}

// Open opens one of the checkpoint's files by name; the caller closes it.
func (c *Checkpoint) Open(name string) (io.ReadCloser, error) {
	for _, f := range c.Manifest.Files {
		if f.Name == name {
			return c.fsys.OpenFile(filepath.Join(c.Path, name), os.O_RDONLY, 0)
		}
	}
	return nil, fmt.Errorf("checkpoint %s: %s: %w", c.Manifest.Name, name, fs.ErrNotExist)
}

// Restore loads every section from the checkpoint. A section that the
// checkpoint lacks is an error. The names of sections that the checkpoint holds
// and nobody asked for are returned: their owners' state is lost when the next
// checkpoint is written, so the user should be told.
func (c *Checkpoint) Restore(sections []stage.Section) (unclaimed []string, err error) {
	held := map[string]ManifestFile{}
	for _, f := range c.Manifest.Files {
		if f.Section != "" {
			held[f.Section] = f
		}
	}
	for _, s := range sections {
		if _, ok := held[s.Name]; !ok {
			return nil, fmt.Errorf("checkpoint %s has no section %q: %w", c.Manifest.Name, s.Name, ErrStateMismatch)
		}
	}
	for _, s := range sections {
		f := held[s.Name]
		delete(held, s.Name)
		r, err := c.Open(f.Name)
		if err != nil {
			return nil, err
		}
		err = s.Load(r, f.Version)
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: load section %q: %w", c.Manifest.Name, s.Name, err)
		}
	}
	return slices.Sorted(maps.Keys(held)), nil
}
