package nn

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Limits of a tensor file, against headers that lie.
const (
	maxHeaderLen  = 16 << 20 // bytes of the JSON header
	maxDimensions = 8
	maxElements   = 1 << 31 // of one tensor
	metadataKey   = "__metadata__"
	headerAlign   = 8 // the data starts at a multiple of it
)

// Tensor is a named float32 array, row-major. A scalar has an empty shape.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// FormatError says where a tensor file is corrupt or not supported.
type FormatError struct {
	Offset int64 // bytes from the start
	Reason string
}

// Error returns offset and reason.
func (e *FormatError) Error() string {
	return fmt.Sprintf("tensor file, byte %d: %s", e.Offset, e.Reason)
}

// headerEntry is what the JSON header says of one tensor.
type headerEntry struct {
	DType   string  `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"` // of the data part: first byte, end
}

// EncodeTensors writes a safetensors file: u64 header length, JSON header, data,
// all little endian, tensors in the given order without gaps, dtype F32. meta may
// be nil. The same input gives the same bytes. Names must differ and not be
// "__metadata__"; shapes must fit the data.
func EncodeTensors(w io.Writer, tensors []Tensor, meta map[string]string) error {
	header, err := tensorHeader(tensors, meta)
	if err != nil {
		return err
	}
	buf := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	if _, err := w.Write(append(buf, header...)); err != nil {
		return fmt.Errorf("write tensor header: %w", err)
	}
	for i := range tensors {
		if buf, err = WriteFloats(w, buf, tensors[i].Data); err != nil {
			return fmt.Errorf("write tensor %s: %w", tensors[i].Name, err)
		}
	}
	return nil
}

// tensorHeader returns the JSON header, filled up with spaces.
func tensorHeader(tensors []Tensor, meta map[string]string) ([]byte, error) {
	header := []byte{'{'}
	field := func(key string, value any) error {
		if len(header) > 1 {
			header = append(header, ',')
		}
		k, err := json.Marshal(key)
		if err != nil {
			return err
		}
		v, err := json.Marshal(value)
		header = append(append(append(header, k...), ':'), v...)
		return err
	}
	if len(meta) > 0 {
		if err := field(metadataKey, meta); err != nil { // maps are written in key order
			return nil, err
		}
	}
	seen := map[string]bool{metadataKey: true}
	at := int64(0)
	for i := range tensors {
		t := &tensors[i]
		if seen[t.Name] {
			return nil, fmt.Errorf("write tensors: the name %q is taken", t.Name)
		}
		seen[t.Name] = true
		if n, ok := elements(t.Shape); !ok || n != int64(len(t.Data)) {
			return nil, fmt.Errorf("write tensor %s: shape %v does not fit %d numbers", t.Name, t.Shape, len(t.Data))
		}
		end := at + 4*int64(len(t.Data))
		shape := append([]int{}, t.Shape...) // never null
		if err := field(t.Name, headerEntry{"F32", shape, []int64{at, end}}); err != nil {
			return nil, err
		}
		at = end
	}
	header = append(header, '}')
	for len(header)%headerAlign != 0 {
		header = append(header, ' ')
	}
	if len(header) > maxHeaderLen {
		return nil, fmt.Errorf("write tensors: the header has %d bytes, at most %d can be read back", len(header), maxHeaderLen)
	}
	return header, nil
}

// elements returns the product of a shape, and whether the shape is allowed.
func elements(shape []int) (int64, bool) {
	if len(shape) > maxDimensions {
		return 0, false
	}
	n := int64(1)
	for _, d := range shape {
		if d < 0 || int64(d) > maxElements {
			return 0, false
		}
		if n *= int64(d); n > maxElements {
			return 0, false
		}
	}
	return n, true
}

// DecodeTensors reads a safetensors file to its end: tensors in file order, and
// the metadata (nil without). F16 and BF16 are widened to float32; other types
// are refused. Corrupt input gives a *FormatError. Memory grows only with the
// bytes that are really there.
func DecodeTensors(r io.Reader) ([]Tensor, map[string]string, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	header, err := readHeader(br)
	if err != nil {
		return nil, nil, err
	}
	entries, meta, err := parseHeader(header)
	if err != nil {
		return nil, nil, err
	}
	base := int64(8 + len(header))
	tensors := make([]Tensor, 0, len(entries))
	for _, e := range entries {
		data, err := readFloats(br, e.DType, e.Offsets[1]-e.Offsets[0])
		if err != nil {
			return nil, nil, readError(err, base+e.Offsets[0], "tensor "+e.name)
		}
		tensors = append(tensors, Tensor{Name: e.name, Shape: e.Shape, Data: data})
	}
	switch _, err := br.ReadByte(); {
	case err == nil:
		end := base
		if len(entries) > 0 {
			end += entries[len(entries)-1].Offsets[1]
		}
		return nil, nil, &FormatError{end, "there is data after the last tensor"}
	case err != io.EOF:
		return nil, nil, fmt.Errorf("read tensors: %w", err)
	}
	return tensors, meta, nil
}

// readHeader returns the JSON text.
func readHeader(r io.Reader) ([]byte, error) {
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, readError(err, 0, "header length")
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n < 2 || n > maxHeaderLen {
		return nil, &FormatError{0, fmt.Sprintf("the header length is %d, want 2 to %d: not a safetensors file?", n, maxHeaderLen)}
	}
	header, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && uint64(len(header)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, readError(err, 8, "header")
	}
	return header, nil
}

// readError turns an early end into a FormatError.
func readError(err error, offset int64, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &FormatError{offset, "the file ends within the " + what}
	}
	return fmt.Errorf("read %s: %w", what, err)
}

// ReadFloats reads n numbers that WriteFloats wrote; a number that lies costs no memory.
func ReadFloats(r io.Reader, n int) ([]float32, error) { return readFloats(r, "F32", 4*int64(n)) }

// readFloats reads size bytes of a type in blocks, so that a size that lies
// costs no memory.
func readFloats(r io.Reader, dtype string, size int64) ([]float32, error) {
	const block = 256 << 10
	t := dtypes[dtype]
	buf := make([]byte, min(size, block))
	data := make([]float32, 0, len(buf)/t.width)
	for size > 0 {
		b := buf[:min(size, block)]
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		size -= int64(len(b))
		for ; len(b) > 0; b = b[t.width:] {
			data = append(data, t.number(b))
		}
	}
	return slices.Clip(data), nil
}
