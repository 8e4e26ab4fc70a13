package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// BytesSection returns the section of a state that is saved as what save returns. what
// names the state in messages; load sees states of this version alone.
func BytesSection(name, what string, version int, save func() ([]byte, error), load func([]byte) error) stage.Section {
	return stage.Section{Name: name, Version: version,
		Save: func(w io.Writer) error {
			data, err := save()
			if err != nil {
				return err
			}
			_, err = w.Write(data)
			return err
		},
		Load: func(r io.Reader, saved int) error {
			if saved != version {
				return fmt.Errorf("%s has version %d, this program reads %d", what, saved, version)
			}
			data, err := io.ReadAll(r)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			return load(data)
		}}
}

// WriteJSON makes v, which is written for people too, the content of a file, durably.
func WriteJSON(fsys fsx.FS, path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return fsx.WriteFile(fsys, path, append(data, '\n'))
}

// JSONSection is BytesSection of the JSON of a T.
func JSONSection[T any](name, what string, version int, save func() T, load func(T) error) stage.Section {
	return BytesSection(name, what, version, func() ([]byte, error) {
		data, err := json.Marshal(save())
		return append(data, '\n'), err
	}, func(data []byte) error {
		var state T
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(&state); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return load(state)
	})
}
