package npz

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// DType is the type of an array's elements, as numpy writes it: order of bytes,
// kind, bytes of an element.
type DType string

// The types of numbers, little endian.
const (
	Uint8   DType = "|u1"
	Int16   DType = "<i2"
	Float32 DType = "<f4"
)

// Text is the type of byte strings of n > 0 bytes; numpy cuts zeros off their
// ends.
func Text(n int) DType { return DType("|S" + strconv.Itoa(n)) }

// size returns the bytes of an element. It panics on a type that the functions
// of this package do not make.
func (d DType) size() int {
	n, err := strconv.Atoi(string(d[min(2, len(d)):]))
	if err != nil || n < 1 {
		panic(fmt.Sprintf("npz: type %q", string(d)))
	}
	return n
}

// Writer writes one file, array after array.
type Writer struct{ z *zip.Writer }

// NewWriter returns a writer of a file into w. The caller closes it.
func NewWriter(w io.Writer) *Writer { return &Writer{zip.NewWriter(w)} }

// Array writes an array, compressed. Names are those of numpy.savez, each once,
// without slashes. fill writes the elements: little endian, the last dimension
// running fastest; what is not exactly as long as the shape says is an error. A
// shape without dimensions is a single element.
func (w *Writer) Array(name string, d DType, shape []int, fill func(io.Writer) error) error {
	file, err := w.z.Create(name + ".npy")
	if err != nil {
		return fmt.Errorf("array %s: %w", name, err)
	}
	want := int64(d.size())
	for _, n := range shape {
		want *= int64(n)
	}
	buffered := bufio.NewWriterSize(file, 1<<16)
	buffered.Write(header(d, shape)) // an error stays until Flush
	data := &counter{w: buffered}
	if err := fill(data); err != nil {
		return fmt.Errorf("array %s: %w", name, err)
	}
	if data.n != want {
		return fmt.Errorf("array %s: %d bytes were written, shape %v of %s has %d", name, data.n, shape, d, want)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("array %s: %w", name, err)
	}
	return nil
}

// Close writes the archive's directory. It does not close the file below.
func (w *Writer) Close() error { return w.z.Close() }

// counter counts the bytes that go through it.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// header is that of a .npy file, version 1.0: magic, version, length u16, a
// Python literal padded with spaces so that the data begin at a multiple of 64
// bytes.
func header(d DType, shape []int) []byte {
	var dims strings.Builder
	for _, n := range shape {
		fmt.Fprintf(&dims, "%d, ", n)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", d, strings.TrimSuffix(dims.String(), " "))
	pad := 63 - (10+len(text))%64
	text += strings.Repeat(" ", pad) + "\n"
	h := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), byte(len(text)>>8))
	return append(h, text...)
}

// Append appends numbers as elements of their type.
func Append[T float32 | int16](dst []byte, values ...T) []byte {
	dst, _ = binary.Append(dst, binary.LittleEndian, values) // numbers have a size
	return dst
}
