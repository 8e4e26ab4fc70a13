package prepare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
)

// ManifestName is the file that makes a directory one of a step.
const ManifestName = "pipeline.json"

const manifestVersion = 1

// maxManifest bounds the manifests that are read, in bytes.
const maxManifest = 64 << 20

// Manifest says what a step's directory was made of and what is in it.
type Manifest struct {
	Version  int               `json:"version"`
	Step     string            `json:"step"`     // preprocess, process
	Settings map[string]string `json:"settings"` // all that decides the output beside the inputs
	Inputs   []InputFile       `json:"inputs"`
	Made     bool              `json:"made"`             // the step made the directory, so that clean-up may remove it
	Making   string            `json:"making,omitempty"` // name, without suffix, of the chunk being written
	Files    []File            `json:"files"`            // whole chunks, in order
	Counts   Counts            `json:"counts"`           // of the whole step; known when it is done
	Done     bool              `json:"done"`
}

// File is a chunk file that a step wrote.
type File struct {
	Name      string `json:"name"` // in the step's directory
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	Games     int    `json:"games"`
	Positions int    `json:"positions"`
	Rows      int    `json:"rows"` // positions meant for training
}

// Counts say what became of the games of a step:
// Read = Games + SameID + SameMoves + NoRows.
type Counts struct {
	Read      int64 `json:"read"`
	Games     int64 `json:"games"` // written
	Positions int64 `json:"positions"`
	Rows      int64 `json:"rows"`
	SameID    int64 `json:"same_id"`    // the same game twice
	SameMoves int64 `json:"same_moves"` // another game of the same moves
	NoRows    int64 `json:"no_rows"`    // nothing in it is trained on
	Damaged   int64 `json:"damaged"`    // stretches of input files that could not be read
}

var (
	chunkName = regexp.MustCompile(`^[0-9]{8}$`)
	hashForm  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// ReadManifest reads the manifest of a step's directory. Errors: fs.ErrNotExist,
// *ManifestError.
func ReadManifest(fsys fsx.FS, dir string) (*Manifest, error) {
	return ReadChecked(fsys, filepath.Join(dir, ManifestName), "manifest", maxManifest, (*Manifest).check)
}

// ReadChecked reads a file of JSON with at most so many bytes. What is not of the form
// of T, or what check refuses, is a *ManifestError; other errors say that what could
// not be read.
func ReadChecked[T any](fsys fsx.FS, path, what string, most int64, check func(*T) error) (*T, error) {
	data, err := fsx.ReadUpTo(fsys, path, most)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	v := new(T)
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if int64(len(data)) > most {
		err = fmt.Errorf("more than %d bytes", most)
	} else if err = in.Decode(v); err == nil {
		err = check(v)
	}
	if err != nil {
		return nil, &ManifestError{Path: path, Reason: err.Error()}
	}
	return v, nil
}

// check holds that a manifest names nothing but chunks of its own directory: what it
// says is believed when files are removed.
func (m *Manifest) check() error {
	if m.Version != manifestVersion {
		return fmt.Errorf("version %d, this build reads %d", m.Version, manifestVersion)
	}
	if m.Making != "" && !chunkName.MatchString(m.Making) {
		return fmt.Errorf("%q is no name of a chunk", m.Making)
	}
	for i, f := range m.Files {
		if f.Name != fileName(i) || f.Size < 0 || f.Games < 0 || !hashForm.MatchString(f.SHA256) {
			return fmt.Errorf("entry %d is no file of a step: %q", i, f.Name)
		}
	}
	return nil
}

// stem and fileName are the names of a step's i-th chunk, from 0.
func stem(i int) string     { return fmt.Sprintf("%08d", i+1) }
func fileName(i int) string { return stem(i) + replay.SealedSuffix }

// write makes m durable in dir.
func (m *Manifest) write(fsys fsx.FS, dir string) error {
	return replay.WriteJSON(fsys, filepath.Join(dir, ManifestName), m)
}

// differs says in what m is another step than want, "" for the same.
func (m *Manifest) differs(want *Manifest) string {
	if m.Step != want.Step {
		return fmt.Sprintf("it is of step %s", m.Step)
	}
	if !maps.Equal(m.Settings, want.Settings) {
		return fmt.Sprintf("its settings are %v, wanted %v", m.Settings, want.Settings)
	}
	if len(m.Inputs) != len(want.Inputs) {
		return fmt.Sprintf("it was made of %d files, there are %d", len(m.Inputs), len(want.Inputs))
	}
	for i, f := range m.Inputs {
		if f != want.Inputs[i] {
			return fmt.Sprintf("its input %s was changed, or is another one than %s", f.Path, want.Inputs[i].Path)
		}
	}
	return ""
}

// Errors of steps.
var (
	// ErrNoInput: a step found no game to work on. Going on with what an earlier
	// run left would train on old data without a word.
	ErrNoInput = errors.New("no input")

	// ErrOther: the directory holds the step of other inputs or settings.
	ErrOther = errors.New("the directory holds another step")

	// ErrForeign: the directory holds something that no step wrote.
	ErrForeign = errors.New("the directory is not empty and has no manifest")

	// ErrPinned: what is to be removed is pinned.
	ErrPinned = errors.New("pinned")
)

// ManifestError is a manifest that cannot be read.
type ManifestError struct {
	Path   string
	Reason string
}

func (e *ManifestError) Error() string {
	return fmt.Sprintf("manifest %s: %s; run the step again into a new directory", e.Path, e.Reason)
}

// Fault is a file of a step that is not as its manifest says.
type Fault struct {
	File   string // in the step's directory
	Reason string
}

// Check holds the files of a step's directory against its manifest.
func Check(fsys fsx.FS, dir string) ([]Fault, error) {
	m, err := ReadManifest(fsys, dir)
	if err != nil {
		return nil, err
	}
	var faults []Fault
	known := map[string]bool{ManifestName: true}
	for _, f := range m.Files {
		known[f.Name] = true
		sum, size, err := fsx.HashFile(fsys, filepath.Join(dir, f.Name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			faults = append(faults, Fault{f.Name, "the manifest names it and it is not there"})
		case err != nil:
			faults = append(faults, Fault{f.Name, err.Error()})
		case size != f.Size || sum != f.SHA256:
			faults = append(faults, Fault{f.Name, "it is not the file that the step wrote (size or SHA-256)"})
		}
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return faults, err
	}
	for _, e := range entries {
		if replay.IsChunk(e.Name()) && !known[e.Name()] {
			faults = append(faults, Fault{e.Name(), "the manifest does not name it"})
		}
	}
	if !m.Done {
		faults = append(faults, Fault{ManifestName, "the step was stopped before its end; the same command goes on"})
	}
	return faults, nil
}
