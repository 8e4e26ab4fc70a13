package shuffle

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Names in the output directory.
const (
	MarkerName = "train.json" // in a shuffle's directory: it is complete
	trainDir   = "train"
	valDir     = "val"
	tempSuffix = ".tmp"
	planName   = "plan.json"
	spreadName = "buckets.json"
	nameLayout = "20060102-150405"
)

// OutFile is one file of a shuffle.
type OutFile struct {
	Name   string `json:"name"` // relative to the shuffle's directory
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Manifest is the completion marker: the plan and the files that came of it.
type Manifest struct {
	Plan
	TrainRows int64     `json:"train_rows"` // rows in Train
	Train     []OutFile `json:"train"`
	HeldRows  int64     `json:"val_rows"` // rows in Val
	Val       []OutFile `json:"val"`
}

// ReadManifest reads the marker of the shuffle in dir. A directory without one
// is no finished shuffle: fs.ErrNotExist.
func ReadManifest(fsys fsx.FS, dir string) (*Manifest, error) {
	path := filepath.Join(dir, MarkerName)
	m := new(Manifest)
	if err := readJSON(fsys, path, m); err != nil {
		return nil, err
	}
	if m.Format != planFormat {
		return nil, &VersionError{Path: path, Version: uint32(m.Format)}
	}
	for _, f := range slices.Concat(m.Train, m.Val) {
		if f.Rows < 0 || !filepath.IsLocal(f.Name) {
			return nil, &CorruptError{Path: path, Reason: fmt.Sprintf("file %q of %d rows", f.Name, f.Rows)}
		}
	}
	if rows := [2]int64{Rows(m.Train), Rows(m.Val)}; rows != [2]int64{m.TrainRows, m.HeldRows} {
		return nil, &CorruptError{Path: path, Reason: fmt.Sprintf("files hold %v rows, want %d and %d", rows, m.TrainRows, m.HeldRows)}
	}
	return m, nil
}

// Rows is how many rows the files hold together.
func Rows(files []OutFile) (rows int64) {
	for _, f := range files {
		rows += f.Rows
	}
	return rows
}

// readJSON reads a file of JSON; damage is a *CorruptError.
func readJSON(fsys fsx.FS, path string, v any) error {
	data, err := fsx.ReadFile(fsys, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &CorruptError{Path: path, Reason: err.Error()}
	}
	return nil
}

// isName says whether a base name is that of a shuffle.
func isName(base string) bool {
	_, err := time.Parse(nameLayout, base)
	return err == nil
}

// Newest returns the marker of the newest finished shuffle in dir, nil where there is none.
func Newest(fsys fsx.FS, dir string) (*Manifest, error) {
	names, err := List(fsys, dir)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return ReadManifest(fsys, filepath.Join(dir, names[len(names)-1]))
}

// List returns the names of the finished shuffles in dir, oldest first. A
// directory that is not there holds none.
func List(fsys fsx.FS, dir string) ([]string, error) {
	dirs, err := fsx.Dirs(fsys, dir) // by name: the time of their beginning, so in order of time
	if err != nil {
		return nil, fmt.Errorf("list shuffles: %w", err)
	}
	return slices.DeleteFunc(dirs, func(name string) bool {
		_, err := fsys.Stat(filepath.Join(dir, name, MarkerName))
		return err != nil || !isName(name)
	}), nil
}

// leftovers returns the names of shuffles that were begun and not finished.
func leftovers(fsys fsx.FS, dir string) (names []string, err error) {
	dirs, err := fsx.Dirs(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("list shuffles: %w", err)
	}
	for _, name := range dirs {
		if stem, ok := strings.CutSuffix(name, tempSuffix); ok && isName(stem) {
			names = append(names, stem)
		}
	}
	return names, nil
}

// newName returns a name that sorts behind all others, also where the clock
// went back.
func newName(fsys fsx.FS, dir string, now time.Time) (string, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("name the shuffle: %w", err)
	}
	now = now.UTC().Truncate(time.Second)
	for _, e := range entries {
		if t, err := time.Parse(nameLayout, strings.TrimSuffix(e.Name(), tempSuffix)); err == nil && !now.After(t) {
			now = t.Add(time.Second)
		}
	}
	return now.Format(nameLayout), nil
}

// Verify reads all files of the finished shuffle in dir: that each is there,
// has the hash and the number of rows that the marker says, and that every row
// can be unpacked. It returns the marker, and the first fault.
func Verify(ctx context.Context, fsys fsx.FS, dir string) (*Manifest, error) {
	m, err := ReadManifest(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("verify shuffle: %w", err)
	}
	for _, want := range slices.Concat(m.Train, m.Val) {
		if err := verifyFile(ctx, fsys, filepath.Join(dir, filepath.FromSlash(want.Name)), want); err != nil {
			return nil, fmt.Errorf("verify shuffle: %w", err)
		}
	}
	return m, nil
}

func verifyFile(ctx context.Context, fsys fsx.FS, path string, want OutFile) error {
	f, err := OpenRowFile(fsys, path)
	if err != nil {
		return err
	}
	defer f.Close()
	got := OutFile{Name: want.Name, Rows: f.rows}
	if got.SHA256, got.Bytes, err = fsx.HashFile(fsys, path); err != nil {
		return err
	}
	b := encoding.NewTrainBatch(1)
	for k := range f.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := f.readBlock(k)
		if err != nil {
			return err
		}
		for i, row := range rows {
			b.Reset()
			if err := DecodeRow(b, row); err != nil {
				return f.corrupt(f.blocks[k].offset, "row %d: %v", f.blocks[k].firstRow+int64(i), err)
			}
		}
	}
	if got != want {
		return f.corrupt(0, "%d rows in %d bytes, hash %s; the marker says %d in %d, %s", got.Rows, got.Bytes, got.SHA256,
			want.Rows, want.Bytes, want.SHA256)
	}
	return nil
}
