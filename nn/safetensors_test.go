package nn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// file builds a tensor file of any header and data.
func file(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func TestSafetensorsRoundTrip(t *testing.T) {
	for _, name := range []string{"8x1", "5x2-plain-mish-classical-scalar-noml"} {
		n := sample(t, name)
		meta := map[string]string{"name": "a-b-s1-d2", "arch": "not this"}
		var buf, again bytes.Buffer
		for _, w := range []io.Writer{&buf, &again} {
			if err := WriteSafetensors(w, n, meta); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(buf.Bytes(), again.Bytes()) {
			t.Error("the same net gives two files")
		}
		if size := binary.LittleEndian.Uint64(buf.Bytes()); size%8 != 0 {
			t.Errorf("header length %d is no multiple of 8", size)
		}
		if meta["arch"] != "not this" {
			t.Error("the caller's metadata changed")
		}
		back, got, err := ReadSafetensors(iotest.OneByteReader(&buf))
		if err != nil {
			t.Fatal(err)
		}
		if !back.Arch.Equal(n.Arch) || back.ID() != n.ID() {
			t.Errorf("read %s %s, want %s %s", back.Arch, back.ID(), n.Arch, n.ID())
		}
		if got["name"] != "a-b-s1-d2" || got[MetaNetID] != n.ID() || !strings.HasPrefix(got[MetaArch], `{"version":1`) {
			t.Errorf("metadata %v", got)
		}
	}
}

func TestTensorsRoundTrip(t *testing.T) {
	in := []Tensor{
		{"z", []int{2, 3}, []float32{1, -2, float32(math.Inf(1)), math.MaxFloat32, math.SmallestNonzeroFloat32, 0}},
		{"empty", []int{0, 4}, []float32{}},
		{"scalar", []int{}, []float32{7}},
		{`q"uote é`, []int{1}, []float32{8}},
	}
	meta := map[string]string{"b": "2", "a": "1"}
	var buf bytes.Buffer
	if err := EncodeTensors(&buf, in, meta); err != nil {
		t.Fatal(err)
	}
	out, got, err := DecodeTensors(&buf)
	if err != nil || !reflect.DeepEqual(out, in) || !reflect.DeepEqual(got, meta) {
		t.Errorf("%v %v %v", out, got, err)
	}
	buf.Reset()
	if err := EncodeTensors(&buf, nil, nil); err != nil {
		t.Fatal(err)
	}
	if out, got, err := DecodeTensors(&buf); err != nil || len(out) != 0 || got != nil {
		t.Errorf("empty file: %v %v %v", out, got, err)
	}
}

// The bytes of a file, as the format's own documentation lays it out.
func TestTensorsGolden(t *testing.T) {
	var buf bytes.Buffer
	if err := EncodeTensors(&buf, []Tensor{{"w", []int{2}, []float32{1, -2}}}, map[string]string{"k": "v"}); err != nil {
		t.Fatal(err)
	}
	want := file(`{"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`+" ", 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0)
	if !bytes.Equal(buf.Bytes(), want) {
		t.Errorf("%q, want %q", buf.Bytes(), want)
	}
}

func TestEncodeTensorsRefuses(t *testing.T) {
	for name, in := range map[string][]Tensor{
		"shape":    {{"a", []int{3}, []float32{1}}},
		"negative": {{"a", []int{-1, -1}, []float32{1}}},
		"name":     {{"a", []int{1}, []float32{1}}, {"a", []int{1}, []float32{1}}},
		"reserved": {{"__metadata__", []int{1}, []float32{1}}},
	} {
		var buf bytes.Buffer
		if err := EncodeTensors(&buf, in, nil); err == nil || buf.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes written", name, err, buf.Len())
		}
	}
	want := errors.New("full")
	if err := EncodeTensors(failingWriter{want}, []Tensor{{"a", nil, []float32{1}}}, nil); !errors.Is(err, want) {
		t.Errorf("writer's error is %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestDecodeHalfFloats(t *testing.T) {
	header := `{"h":{"dtype":"F16","shape":[6],"data_offsets":[0,12]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[12,16]}}`
	halves := []byte{0, 0x3c, 0, 0xc0, 1, 0, 0xff, 0x7b, 0, 0x7c, 0, 0x80}
	got, _, err := DecodeTensors(bytes.NewReader(file(header, append(halves, 0x80, 0x3f, 0x49, 0xc0)...)))
	if err != nil {
		t.Fatal(err)
	}
	want := []float32{1, -2, 1. / (1 << 24), 65504, float32(math.Inf(1)), float32(math.Copysign(0, -1))}
	for i, v := range got[0].Data {
		if math.Float32bits(v) != math.Float32bits(want[i]) {
			t.Errorf("half %d is %v, want %v", i, v, want[i])
		}
	}
	if b := got[1].Data; b[0] != 1 || b[1] != -3.140625 {
		t.Errorf("bfloat16 %v", b)
	}
}

func TestDecodeTensorsRefuses(t *testing.T) {
	entry := func(name, dtype, shape string, lo, hi int) string {
		return fmt.Sprintf(`%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, dtype, shape, lo, hi)
	}
	one := entry("a", "F32", "[1]", 0, 4)
	four, eight := make([]byte, 4), make([]byte, 8)
	for name, c := range map[string]struct {
		in  []byte
		say string
	}{
		"nothing":        {nil, "header length"},
		"short length":   {[]byte{1, 2, 3}, "header length"},
		"huge header":    {[]byte{0, 0, 0, 0, 0, 0, 0, 0x7f, '{'}, "header length"},
		"lying header":   {[]byte{0, 0, 0xff, 0, 0, 0, 0, 0, '{', '}'}, "ends within the header"},
		"no JSON":        {file("hello"), "JSON object"},
		"array":          {file("[]"), "JSON object"},
		"unclosed":       {file("{" + one), ""},
		"text after":     {file("{" + one + "}{}"), "after the JSON"},
		"twice":          {file("{"+one+","+entry("a", "F32", "[1]", 4, 8)+"}", eight...), "twice"},
		"dtype":          {file("{"+entry("a", "F64", "[1]", 0, 8)+"}", eight...), "F64"},
		"unknown field":  {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}}`, four...), "more"},
		"no shape":       {file(`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, four...), "wants a shape"},
		"three offsets":  {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}}`, four...), "two data_offsets"},
		"short data":     {file("{"+one+"}", 1, 2, 3), "ends within the tensor a"},
		"more data":      {file("{"+one+"}", eight...), "after the last"},
		"gap":            {file("{"+entry("a", "F32", "[1]", 4, 8)+"}", eight...), "gap"},
		"overlap":        {file("{"+one+","+entry("b", "F32", "[1]", 2, 6)+"}", eight...), "overlaps"},
		"same place":     {file("{"+one+","+entry("b", "F32", "[1]", 0, 4)+"}", four...), "overlaps"},
		"size":           {file("{"+entry("a", "F32", "[2]", 0, 4)+"}", four...), "data_offsets"},
		"backwards":      {file("{"+entry("a", "F32", "[1]", 4, 0)+"}", four...), "data_offsets"},
		"negative shape": {file("{"+entry("a", "F32", "[-1]", 0, 4)+"}", four...), "shape"},
		"overflow":       {file("{"+entry("a", "F32", "[4294967296,4294967297]", 0, 4)+"}", four...), "shape"},
		"product":        {file("{"+entry("a", "F32", "[65536,65536,65536,65536]", 0, 0)+"}", four...), "shape"},
		"dimensions":     {file("{"+entry("a", "F32", "[1,1,1,1,1,1,1,1,1]", 0, 4)+"}", four...), "shape"},
		"metadata":       {file(`{"__metadata__":{"a":1}}`), "__metadata__"},
		"lying size":     {file("{"+entry("a", "F32", "[2147483648]", 0, 8589934592)+"}", four...), "ends within"},
	} {
		_, _, err := DecodeTensors(bytes.NewReader(c.in))
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want a FormatError with %q", name, err, c.say)
		}
	}
	want := errors.New("disk")
	if _, _, err := DecodeTensors(io.MultiReader(bytes.NewReader(file("{"+one+"}")), iotest.ErrReader(want))); !errors.Is(err, want) {
		t.Errorf("reader's error is %v", err)
	}
}

func TestReadSafetensorsRefuses(t *testing.T) {
	n := sample(t, "8x1")
	write := func(params []Param, meta map[string]string) []byte {
		var buf bytes.Buffer
		var tensors []Tensor
		for _, p := range params {
			tensors = append(tensors, Tensor(p))
		}
		if err := EncodeTensors(&buf, tensors, meta); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	arch := map[string]string{MetaArch: `{"version":1,"filters":8,"blocks":1,"se_ratio":4,"activation":"relu","input_format":1,"policy_head":"convolutional","value_head":"wdl","value_channels":32,"value_hidden":128,"moves_left":true,"moves_left_channels":8,"moves_left_hidden":128}`}
	if _, _, err := ReadSafetensors(bytes.NewReader(write(n.Params, arch))); err != nil {
		t.Fatalf("without an id: %v", err)
	}
	turned := append([]Param{}, n.Params[3:]...)
	turned = append(turned, n.Params[:3]...)
	if back, _, err := ReadSafetensors(bytes.NewReader(write(turned, arch))); err != nil || back.ID() != n.ID() {
		t.Errorf("tensors in another order: %v", err)
	}
	with := func(key, old, new string) map[string]string {
		m := map[string]string{MetaArch: strings.Replace(arch[MetaArch], old, new, 1)}
		if key != "" {
			m[key] = new
		}
		return m
	}
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"no architecture":  {write(n.Params, nil), ErrArch},
		"bad JSON":         {write(n.Params, with(MetaArch, "", "{")), ErrArch},
		"unknown field":    {write(n.Params, with("", `{"version"`, `{"attention":1,"version"`)), ErrArch},
		"newer version":    {write(n.Params, with("", `"version":1`, `"version":3`)), ErrArch},
		"huge":             {write(n.Params, with("", `"blocks":1`, `"blocks":1000000000`)), ErrArch},
		"another net":      {write(n.Params, with("", `"blocks":1`, `"blocks":2`)), ErrParams},
		"a tensor missing": {write(n.Params[1:], arch), ErrParams},
		"a tensor more":    {write(append(turned, Param{Name: "x", Shape: []int{1}, Data: []float32{1}}), arch), ErrParams},
	} {
		if _, _, err := ReadSafetensors(bytes.NewReader(c.in)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	var format *FormatError
	wrong := map[string]string{MetaArch: arch[MetaArch], MetaNetID: strings.Repeat("0", 64)}
	if _, _, err := ReadSafetensors(bytes.NewReader(write(n.Params, wrong))); !errors.As(err, &format) {
		t.Errorf("wrong id: %v", err)
	}
}

// Whatever is accepted must come back from its own encoding.
func FuzzDecodeTensors(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 0, 0, 0x80, 0x3f))
	f.Add(file(`{"__metadata__":{"k":"v"},"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}`, 1, 2, 3, 4))
	f.Add(file(`{"a":{"dtype":"F16","shape":[0,9],"data_offsets":[0,0]},"b":{"dtype":"F16","shape":[],"data_offsets":[0,2]}}`, 1, 2))
	f.Add(file(`{}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		tensors, meta, err := DecodeTensors(bytes.NewReader(in))
		if err != nil {
			var format *FormatError
			if !errors.As(err, &format) {
				t.Fatalf("error %v is no FormatError", err)
			}
			return
		}
		var buf bytes.Buffer
		if err := EncodeTensors(&buf, tensors, meta); err != nil {
			t.Fatal(err)
		}
		again, meta2, err := DecodeTensors(&buf)
		if err != nil || len(again) != len(tensors) || len(meta2) != len(meta) {
			t.Fatalf("read back: %v", err)
		}
		for i, x := range tensors {
			y := again[i]
			if x.Name != y.Name || !equalInts(x.Shape, y.Shape) || len(x.Data) != len(y.Data) {
				t.Fatalf("tensor %d: %v and %v", i, x, y)
			}
			for j := range x.Data {
				if math.Float32bits(x.Data[j]) != math.Float32bits(y.Data[j]) {
					t.Fatalf("%s[%d]: %v and %v", x.Name, j, x.Data[j], y.Data[j])
				}
			}
		}
	})
}
