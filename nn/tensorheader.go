package nn

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// namedEntry is a tensor of the header.
type namedEntry struct {
	name string
	headerEntry
}

// parseHeader returns the tensors in the order of their data, and the metadata.
// Data must follow each other without gap or overlap from 0 on.
func parseHeader(header []byte) ([]namedEntry, map[string]string, error) {
	bad := func(format string, args ...any) (e []namedEntry, m map[string]string, err error) {
		return nil, nil, &FormatError{8, "header: " + fmt.Sprintf(format, args...)}
	}
	entries, meta, err := decodeHeader(header)
	if err != nil {
		return bad("%v", err)
	}
	for _, e := range entries {
		if e.Shape == nil || len(e.Offsets) != 2 {
			return bad("tensor %q wants a shape and two data_offsets", e.name)
		}
	}
	slices.SortStableFunc(entries, func(a, b namedEntry) int {
		return slices.Compare(a.Offsets, b.Offsets) // empty tensors first
	})
	at := int64(0)
	for _, e := range entries {
		width := int64(dtypes[e.DType].width)
		if width == 0 {
			return bad("tensor %q has dtype %q, want F32, F16 or BF16", e.name, e.DType)
		}
		n, ok := elements(e.Shape)
		if !ok {
			return bad("tensor %q has shape %v, want at most %d dimensions and %d numbers", e.name, e.Shape, maxDimensions, int64(maxElements))
		}
		lo, hi := e.Offsets[0], e.Offsets[1]
		switch {
		case lo < 0 || hi < lo || hi-lo != n*width:
			return bad("tensor %q of shape %v, %s, has data_offsets %v", e.name, e.Shape, e.DType, e.Offsets)
		case lo < at:
			return bad("tensor %q overlaps the one before", e.name)
		case lo > at:
			return bad("there is a gap before tensor %q", e.name)
		}
		at = hi
	}
	return entries, meta, nil
}

// decodeHeader reads the JSON object token by token: encoding/json would let the
// second of two equal names replace the first.
func decodeHeader(header []byte) (entries []namedEntry, meta map[string]string, err error) {
	d := json.NewDecoder(bytes.NewReader(header))
	d.DisallowUnknownFields()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, fmt.Errorf("want a JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		name, _ := t.(string)
		if seen[name] {
			return nil, nil, fmt.Errorf("the name %q appears twice", name)
		}
		seen[name] = true
		if name == metadataKey {
			if err := d.Decode(&meta); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		e := namedEntry{name: name}
		if err := d.Decode(&e.headerEntry); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		entries = append(entries, e)
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, nil, fmt.Errorf("there is text after the JSON object")
	}
	return entries, meta, nil
}

// dtypes are the types that are read: the bytes of a number, and the number that
// little-endian bytes begin with.
var dtypes = map[string]struct {
	width  int
	number func([]byte) float32
}{
	"F32":  {4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }},
	"F16":  {2, func(b []byte) float32 { return Float16(binary.LittleEndian.Uint16(b)) }},
	"BF16": {2, func(b []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16) }},
}
