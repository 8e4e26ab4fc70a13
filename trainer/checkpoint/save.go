package checkpoint

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// File is a plain file of a checkpoint beside the sections, such as
// net.safetensors or metrics.json.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// Save writes dir/name with one file per section, the plain files and
// the manifest, and then makes it the current one. nil means that all of it is
// on stable storage; after an error or a crash the earlier checkpoints are
// untouched and still current. A checkpoint of the same name is replaced (after
// a return to an earlier one the same step is reached again). fsx.ErrSync is
// fatal.
func Save(fsys fsx.FS, dir, name string, m Manifest, sections []stage.Section, files ...File) error {
	if _, _, ok := ParseName(name); !ok {
		return fmt.Errorf("save checkpoint: %q is not <job>_step<NNNNNNNN>", name)
	}
	if err := fsx.MkdirAll(fsys, dir); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	ordinal, err := nextOrdinal(fsys, dir, name)
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	m.Name, m.Ordinal = name, ordinal
	path := filepath.Join(dir, name)
	fill := func(tmp string) error { return fillCheckpoint(fsys, tmp, m, sections, files) }
	err = fsx.WriteDir(fsys, path, fill)
	if errors.Is(err, fs.ErrExist) {
		err = replaceDir(fsys, path, fill)
	}
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	if err := fsx.WriteFile(fsys, filepath.Join(dir, currentFile), []byte(name+"\n")); err != nil {
		return fmt.Errorf("mark checkpoint %s as current: %w", name, err)
	}
	return nil
}

// replaceDir writes a directory beside path and swaps the two by rename. A crash
// between the renames leaves path missing; the loader then takes the checkpoint
// before it.
func replaceDir(fsys fsx.FS, path string, fill func(string) error) error {
	fresh, old := path+".new", fsx.MarkedTemp(path, fsx.RemovedMark)
	err := cmp.Or(fsx.RemoveAll(fsys, fresh), fsx.RemoveAll(fsys, old)) // left by a kill
	if err == nil {
		err = fsx.WriteDir(fsys, fresh, fill)
	}
	if err == nil {
		err = fsys.Rename(path, old)
	}
	if err == nil {
		err = fsys.Rename(fresh, path)
	}
	if err == nil {
		err = fsx.SyncDir(fsys, filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	return fsx.RemoveForGood(fsys, old)
}

// fillCheckpoint writes the sections, the files and last the manifest into tmp.
func fillCheckpoint(fsys fsx.FS, tmp string, m Manifest, sections []stage.Section, files []File) error {
	m.Files = nil
	names := map[string]bool{manifestFile: true}
	add := func(f ManifestFile, write func(io.Writer) error) error {
		if !validFileName.MatchString(f.Name) || names[f.Name] {
			return fmt.Errorf("file name %q is not valid or is there twice", f.Name)
		}
		names[f.Name] = true
		size, sum, err := writeHashed(fsys, filepath.Join(tmp, f.Name), write)
		if err != nil {
			return fmt.Errorf("write %s: %w", f.Name, err)
		}
		f.Size, f.SHA256 = size, sum
		m.Files = append(m.Files, f)
		return nil
	}
	for _, s := range sections {
		if err := add(ManifestFile{Name: s.Name + ".section", Section: s.Name, Version: s.Version}, s.Save); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := add(ManifestFile{Name: f.Name}, f.Write); err != nil {
			return err
		}
	}
	data, err := m.encode()
	if err != nil {
		return err
	}
	_, _, err = writeHashed(fsys, filepath.Join(tmp, manifestFile), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	return err
}

// writeHashed writes a new file and returns its size and SHA-256.
func writeHashed(fsys fsx.FS, path string, write func(io.Writer) error) (int64, string, error) {
	f, err := fsys.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return 0, "", err
	}
	hash, w := sha256.New(), bufio.NewWriterSize(f, 1<<16)
	err = write(io.MultiWriter(w, hash))
	if err == nil {
		err = w.Flush()
	}
	info, statErr := f.Stat()
	if err = cmp.Or(err, statErr, f.Close()); err != nil {
		return 0, "", err
	}
	return info.Size(), hex.EncodeToString(hash.Sum(nil)), nil
}

// List returns the names of the checkpoints in dir, ascending by step
// (as numbers: step 9 before step 10), then by name. A dir that is not there has
// none.
func List(fsys fsx.FS, dir string) ([]string, error) {
	dirs, err := fsx.Dirs(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	names := slices.DeleteFunc(dirs, func(name string) bool {
		_, _, ok := ParseName(name)
		return !ok
	})
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(stepOf(a), stepOf(b)), strings.Compare(a, b))
	})
	return names, nil
}

func stepOf(name string) int64 {
	_, step, _ := ParseName(name)
	return step
}

// nextOrdinal is one more than the highest ordinal of the readable checkpoints
// in dir; a checkpoint that is written again keeps its own.
func nextOrdinal(fsys fsx.FS, dir, name string) (int64, error) {
	names, err := List(fsys, dir)
	if err != nil {
		return 0, err
	}
	next := int64(1)
	for _, n := range names {
		m, err := ReadManifest(fsys, filepath.Join(dir, n))
		if err != nil {
			continue // damaged: the loader warns about it
		}
		if n == name {
			return m.Ordinal, nil
		}
		next = max(next, m.Ordinal+1)
	}
	return next, nil
}

// Retention says which checkpoints Prune keeps.
type Retention struct {
	Last  int   // the newest so many, at least 1
	Every int64 // and each whose ordinal is a multiple of this; 0 = none
}

// Prune removes the checkpoints that r does not keep and returns their names.
// The current one always stays.
func Prune(fsys fsx.FS, dir string, r Retention) ([]string, error) {
	names, err := List(fsys, dir)
	if err != nil {
		return nil, err
	}
	current, err := Current(fsys, dir)
	if err != nil {
		return nil, err
	}
	var removed []string
	for _, name := range names[:max(0, len(names)-max(r.Last, 1))] {
		path := filepath.Join(dir, name)
		if name == current {
			continue
		}
		if m, err := ReadManifest(fsys, path); err == nil && r.Every > 0 && m.Ordinal%r.Every == 0 {
			continue
		}
		if err := fsx.RemoveDir(fsys, path); err != nil {
			return removed, fmt.Errorf("remove old checkpoint %s: %w", name, err)
		}
		removed = append(removed, name)
	}
	return removed, nil
}
