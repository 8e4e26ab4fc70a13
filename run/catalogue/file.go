package catalogue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
)

// ErrOther says that a file is not a catalogue of this version: it is damaged, or
// another program wrote it. It can be made anew from the run's other files.
var ErrOther = errors.New("not a catalogue that this program can read")

// formatVersion is the version of the file's fields. Another one is ErrOther: the
// catalogue is made anew.
const formatVersion = 1

// maxBytes bounds a catalogue that is read: some million rows.
const maxBytes = 1 << 28

// Read reads the catalogue at path. fs.ErrNotExist: there is none; ErrOther: make it
// anew.
func Read(fsys fsx.FS, path string) (*Catalogue, error) {
	data, err := fsx.ReadUpTo(fsys, path, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	c, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("read catalogue %s: %w: %w", path, ErrOther, err)
	}
	return c, nil
}

// Write makes the catalogue the content of the file at path, durably and as a
// whole. wrote is false where the file had that content already.
func (c *Catalogue) Write(fsys fsx.FS, path string) (wrote bool, err error) {
	data, err := c.encode()
	if err != nil {
		return false, fmt.Errorf("write catalogue %s: %w", path, err)
	}
	old, err := fsx.ReadUpTo(fsys, path, maxBytes)
	if err == nil && bytes.Equal(old, data) {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("write catalogue: %w", err)
	}
	if err := fsx.WriteFile(fsys, path, data); err != nil {
		return false, fmt.Errorf("write catalogue: %w", err)
	}
	return true, nil
}

// file is the catalogue as it is stored.
type file struct {
	Version int `json:"version"`
	*Catalogue
}

// encode returns the catalogue's file. The same catalogue gives the same bytes.
func (c *Catalogue) encode() ([]byte, error) {
	data, err := json.MarshalIndent(file{formatVersion, c}, "", " ")
	return append(data, '\n'), err
}

// decode reads a catalogue's file. A field that this program does not know is
// an error: the next Write would lose it.
func decode(data []byte) (*Catalogue, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("more than %d bytes", maxBytes)
	}
	// The version comes first: the fields of another one may differ.
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	if v.Version != formatVersion {
		return nil, fmt.Errorf("its version is %d, this program reads %d", v.Version, formatVersion)
	}
	c := &Catalogue{}
	return c, run.StrictJSON(data, &file{Catalogue: c})
}
