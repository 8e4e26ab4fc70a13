package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

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

// PlainJSON is an error of reading JSON as text, without the names of Go's types.
func PlainJSON(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		plain := cmp.Or(wrong.Field, "it") + " has the wrong type: " + wrong.Value
		return errors.New(strings.Replace(err.Error(), wrong.Error(), plain, 1))
	}
	return err
}

// StrictJSON decodes one JSON value and nothing more, without unknown fields.
func StrictJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return PlainJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON value")
	}
	return nil
}

// WriteJSON replaces a file of a run by a value as JSON; nil means on stable storage.
func WriteJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		err = fsx.PutFile(fsx.OS, path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
