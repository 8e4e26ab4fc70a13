package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// LinesForm is a sort of journal: an append-only file of JSON objects, one a line.
type LinesForm[T any] struct {
	Name   string         // in messages
	Check  func(*T) error // says why an object cannot be a line
	Remedy string         // "; do this" where a line is none; "" = the caller says it
}

// Lines is such a file, open for appending. Used by one goroutine.
type Lines[T any] struct {
	*fsx.AppendFile
	form LinesForm[T]
	ends []int64 // file offsets after each line that was there at the start
}

// Open reads the file at path, cuts a torn last line off, and opens it for
// appending. A line in the middle that is none is a *fsx.CorruptError.
func (f LinesForm[T]) Open(path string) (*Lines[T], []T, error) {
	file, err := fsx.OpenAppend(fsx.OS, path)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", f.Name, err)
	}
	lines, ends, _, err := f.read(path)
	l := &Lines[T]{file, f, ends}
	if err == nil {
		err = l.Cut(len(lines))
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return l, lines, nil
}

// Read returns the whole lines of the file at path, and the bytes of a torn last
// one, which the next Open cuts off. Nothing is changed.
func (f LinesForm[T]) Read(path string) (lines []T, torn int64, err error) {
	lines, _, torn, err = f.read(path)
	return lines, torn, err
}

// read is Read that says where each line ends, too.
func (f LinesForm[T]) read(path string) (lines []T, ends []int64, torn int64, err error) {
	data, err := fsx.ReadFile(fsx.OS, path)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("read %s: %w", f.Name, err)
	}
	if lines, ends, err = f.Parse(data); err != nil {
		return nil, nil, 0, &fsx.CorruptError{Path: path, Reason: err.Error() + f.Remedy}
	}
	return lines, ends, int64(len(data) - bytes.LastIndexByte(data, '\n') - 1), nil
}

// Parse returns the whole lines of data and where each ends.
func (f LinesForm[T]) Parse(data []byte) (lines []T, ends []int64, err error) {
	for at := 0; ; {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return lines, ends, nil // nothing, or a torn line
		}
		var v T
		err := json.Unmarshal(data[at:at+n], &v)
		if err == nil {
			err = f.Check(&v)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("line %d at byte %d: %w", len(lines)+1, at, err)
		}
		at += n + 1
		lines, ends = append(lines, v), append(ends, int64(at))
	}
}

// Cut keeps the first n of the lines that were there when it was opened.
func (l *Lines[T]) Cut(n int) error {
	size := int64(0)
	if n > 0 {
		size = l.ends[n-1]
	}
	if size == l.Size() {
		return nil
	}
	return l.Truncate(size)
}

// Add writes a line; nil means on stable storage.
func (l *Lines[T]) Add(v T) error {
	err := l.form.Check(&v)
	if err == nil {
		err = l.AddLine(v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.form.Name, err)
	}
	return nil
}
