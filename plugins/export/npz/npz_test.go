package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// write writes the arrays of the tests: three types, three to no dimensions, an
// array without elements.
func write(t *testing.T, w io.Writer, values []float32) {
	t.Helper()
	z := NewWriter(w)
	put := func(name string, d DType, shape []int, data []byte) {
		if err := z.Array(name, d, shape, func(out io.Writer) error {
			half := len(data) / 2 // in two parts
			_, err := out.Write(data[:half])
			_, err2 := out.Write(data[half:])
			return errors.Join(err, err2)
		}); err != nil {
			t.Fatal(err)
		}
	}
	put("f", Float32, []int{len(values) / 6, 2, 3}, Append(nil, values...))
	put("i", Int16, []int{4}, Append[int16](nil, -1, 0, 258, math.MinInt16))
	put("u", Uint8, []int{1, 3}, []byte{1, 2, 255})
	put("none", Int16, []int{0, 1858}, nil)
	put("text", Text(5), nil, []byte("hello"))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// entries unpacks the archive.
func entries(t *testing.T, file []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if all[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func randomValues() (values []float32, seed uint64) {
	seed = rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 60 {
		values = append(values, float32(rng.NormFloat64()))
	}
	return values, seed
}

// TestWriter reads the archive by the formats' descriptions: the literal header,
// data behind it from a multiple of 64 bytes on.
func TestWriter(t *testing.T) {
	values, seed := randomValues()
	var file bytes.Buffer
	write(t, &file, values)
	got := entries(t, file.Bytes())
	for name, want := range map[string]struct{ literal, data string }{
		"i.npy":    {"{'descr': '<i2', 'fortran_order': False, 'shape': (4,), }", "\xff\xff\x00\x00\x02\x01\x00\x80"},
		"u.npy":    {"{'descr': '|u1', 'fortran_order': False, 'shape': (1, 3,), }", "\x01\x02\xff"},
		"none.npy": {"{'descr': '<i2', 'fortran_order': False, 'shape': (0, 1858,), }", ""},
		"text.npy": {"{'descr': '|S5', 'fortran_order': False, 'shape': (), }", "hello"},
		"f.npy":    {"{'descr': '<f4', 'fortran_order': False, 'shape': (10, 2, 3,), }", ""},
	} {
		data := got[name]
		if !bytes.HasPrefix(data, []byte("\x93NUMPY\x01\x00")) {
			t.Fatalf("%s begins with %q", name, data[:min(8, len(data))])
		}
		n := 10 + int(binary.LittleEndian.Uint16(data[8:]))
		text := string(data[10:n])
		if n%64 != 0 || !strings.HasSuffix(text, "\n") || strings.TrimRight(text, " \n") != want.literal {
			t.Errorf("%s: header of %d bytes: %q", name, n, text)
		}
		if name != "f.npy" {
			if string(data[n:]) != want.data {
				t.Errorf("%s holds %q, want %q", name, data[n:], want.data)
			}
			continue
		}
		for i, v := range values {
			if x := math.Float32frombits(binary.LittleEndian.Uint32(data[n+4*i:])); x != v {
				t.Fatalf("seed %d: element %d is %v, want %v", seed, i, x, v)
			}
		}
		if len(data) != n+4*len(values) {
			t.Errorf("%s has %d bytes of data", name, len(data)-n)
		}
	}
	if len(got) != 5 {
		t.Errorf("%d entries", len(got))
	}
	var again bytes.Buffer
	write(t, &again, values)
	if !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Error("the same arrays gave other bytes")
	}
}

// TestArrayErrors: data of another length than the shape has, and errors of the
// caller and of the file below.
func TestArrayErrors(t *testing.T) {
	bad := errors.New("bad")
	for name, fill := range map[string]func(io.Writer) error{
		"short": func(w io.Writer) error { _, err := w.Write(make([]byte, 7)); return err },
		"long":  func(w io.Writer) error { _, err := w.Write(make([]byte, 9)); return err },
		"fails": func(io.Writer) error { return bad },
	} {
		err := NewWriter(io.Discard).Array("a", Int16, []int{2, 2}, fill)
		if err == nil || !strings.Contains(err.Error(), "array a") || errors.Is(err, bad) != (name == "fails") {
			t.Errorf("%s: %v", name, err)
		}
	}
	z := NewWriter(failing{bad})
	err := z.Array("a", Float32, []int{1 << 18}, func(w io.Writer) error {
		rng := rand.New(rand.NewPCG(1, 2))
		raw := make([]byte, 1<<20)
		for i := range raw {
			raw[i] = byte(rng.Uint32())
		}
		_, err := w.Write(raw)
		return err
	})
	if err := errors.Join(err, z.Close()); !errors.Is(err, bad) {
		t.Errorf("a file that cannot be written: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a made-up type was accepted")
		}
	}()
	NewWriter(io.Discard).Array("a", "<f", nil, nil)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestNumpy: numpy itself reads the file.
func TestNumpy(t *testing.T) {
	if out, err := exec.Command("python3", "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED against numpy, which python3 does not have here: %v\n%s", err, out)
	}
	values, seed := randomValues()
	var file bytes.Buffer
	write(t, &file, values)
	path := filepath.Join(t.TempDir(), "a.npz")
	raw := filepath.Join(t.TempDir(), "values")
	if err := errors.Join(os.WriteFile(path, file.Bytes(), 0o666), os.WriteFile(raw, Append(nil, values...), 0o666)); err != nil {
		t.Fatal(err)
	}
	const program = `
import sys, numpy
a = numpy.load(sys.argv[1])
assert sorted(a.files) == ["f", "i", "none", "text", "u"], a.files
assert (a["f"] == numpy.fromfile(sys.argv[2], "<f4").reshape(10, 2, 3)).all()
assert a["i"].tolist() == [-1, 0, 258, -32768] and a["i"].dtype == numpy.int16
assert a["u"].tolist() == [[1, 2, 255]] and a["u"].dtype == numpy.uint8
assert a["none"].shape == (0, 1858)
assert a["text"].item() == b"hello"
`
	if out, err := exec.Command("python3", "-c", program, path, raw).CombinedOutput(); err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, out)
	}
}
