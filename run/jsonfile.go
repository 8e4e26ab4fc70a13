package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// ReadJSON reads a file of JSON. One that is not there is no error; there says that it
// could be read, whatever it holds.
func ReadJSON(path string, into any) (there bool, err error) {
	data, err := fsx.ReadFile(fsx.OS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(data, into)
}

// WriteJSON replaces a file of a run by a value as JSON; nil means on stable storage.
func WriteJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		err = fsx.MkdirAll(fsx.OS, filepath.Dir(path))
	}
	if err == nil {
		err = fsx.WriteFile(fsx.OS, path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
