package lc0

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields are a message's fields in order: bytes, or a number.
type fields []field

type field struct {
	num   protowire.Number
	bytes []byte
	value uint64
}

func decode(t *testing.T, data []byte) (f fields) {
	t.Helper()
	for len(data) > 0 {
		num, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		data = data[size:]
		x := field{num: num}
		switch kind {
		case protowire.BytesType:
			x.bytes, size = protowire.ConsumeBytes(data)
		case protowire.VarintType:
			x.value, size = protowire.ConsumeVarint(data)
		case protowire.Fixed32Type:
			var bits uint32
			bits, size = protowire.ConsumeFixed32(data)
			x.value = uint64(bits)
		default:
			t.Fatalf("field %d has wire type %d", num, kind)
		}
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		f, data = append(f, x), data[size:]
	}
	return f
}

// all returns the fields of a number.
func (f fields) all(num protowire.Number) (list []field) {
	for _, x := range f {
		if x.num == num {
			list = append(list, x)
		}
	}
	return list
}

func (f fields) number(num protowire.Number) uint64 {
	for _, x := range f.all(num) {
		return x.value
	}
	return 0
}

func (f fields) text(num protowire.Number) string {
	for _, x := range f.all(num) {
		return string(x.bytes)
	}
	return ""
}

func (f fields) texts(num protowire.Number) (list []string) {
	for _, x := range f.all(num) {
		list = append(list, string(x.bytes))
	}
	return list
}

// array is a tensor of an interpreter: float64 whatever the file's type, row-major.
type array struct {
	dims []int
	data []float64
}

func newArray(dims ...int) *array {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return &array{dims, make([]float64, n)}
}

// onnxNode is a decoded NodeProto.
type onnxNode struct {
	op, name        string
	inputs, outputs []string
	attributes      map[string][]int64
	floats          map[string]float64
}

// decodedModel is a model as its readers see it.
type decodedModel struct {
	ir, opset       uint64
	nodes           []onnxNode
	tensors         map[string]*array
	inputs, outputs map[string]string // name -> shape, as "float[batch,112,8,8]"
	meta            map[string]string
}

// decodeModel reads a ModelProto by onnx.proto's field numbers.
func decodeModel(t *testing.T, data []byte) *decodedModel {
	t.Helper()
	m := decode(t, data)
	d := &decodedModel{ir: m.number(1), tensors: map[string]*array{}, inputs: map[string]string{}, outputs: map[string]string{}, meta: map[string]string{}}
	opset := decode(t, []byte(m.text(8)))
	if domain := opset.text(1); domain != "" {
		t.Errorf("operators of %q", domain)
	}
	d.opset = opset.number(2)
	for _, x := range m.all(14) {
		entry := decode(t, x.bytes)
		d.meta[entry.text(1)] = entry.text(2)
	}
	g := decode(t, []byte(m.text(7)))
	if g.text(2) == "" {
		t.Error("the graph has no name, which is required")
	}
	for _, x := range g.all(1) {
		d.nodes = append(d.nodes, decodeNode(t, x.bytes))
	}
	for _, x := range g.all(5) {
		f := decode(t, x.bytes)
		if name := f.text(8); d.tensors[name] != nil || name == "" {
			t.Errorf("two tensors of name %q, or none", name)
		}
		d.tensors[f.text(8)] = decodeTensor(t, f)
	}
	for _, x := range g.all(11) {
		f := decode(t, x.bytes)
		d.inputs[f.text(1)] = decodeShape(t, f)
	}
	for _, x := range g.all(12) {
		f := decode(t, x.bytes)
		d.outputs[f.text(1)] = decodeShape(t, f)
	}
	return d
}

func decodeNode(t *testing.T, data []byte) onnxNode {
	t.Helper()
	f := decode(t, data)
	n := onnxNode{op: f.text(4), name: f.text(3), inputs: f.texts(1), outputs: f.texts(2), attributes: map[string][]int64{}, floats: map[string]float64{}}
	for _, x := range f.all(5) {
		a := decode(t, x.bytes)
		var values []int64
		switch kind := a.number(20); kind {
		case 1: // FLOAT
			n.floats[a.text(1)] = float64(math.Float32frombits(uint32(a.number(2))))
			continue
		case 2: // INT
			values = []int64{int64(a.number(3))}
		case 7: // INTS
			for _, v := range a.all(8) {
				values = append(values, int64(v.value))
			}
		default:
			t.Errorf("attribute %s of %s has type %d", a.text(1), n.name, kind)
		}
		n.attributes[a.text(1)] = values
	}
	return n
}

func decodeTensor(t *testing.T, f fields) *array {
	t.Helper()
	var dims []int
	for _, d := range f.all(1) {
		dims = append(dims, int(d.value))
	}
	a, raw := newArray(dims...), []byte(f.text(9))
	kind := f.number(2)
	width := map[uint64]int{1: 4, 6: 4, 7: 8}[kind]
	if len(raw) != width*len(a.data) || width == 0 {
		t.Fatalf("tensor %s of type %d and shape %v has %d bytes", f.text(8), kind, dims, len(raw))
	}
	for i := range a.data {
		switch kind {
		case 1:
			a.data[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		case 6:
			a.data[i] = float64(int32(binary.LittleEndian.Uint32(raw[4*i:])))
		case 7:
			a.data[i] = float64(int64(binary.LittleEndian.Uint64(raw[8*i:])))
		}
	}
	return a
}

// decodeShape returns the type of a ValueInfoProto.
func decodeShape(t *testing.T, info fields) string {
	t.Helper()
	tensor := decode(t, []byte(decode(t, []byte(info.text(2))).text(1)))
	s := map[uint64]string{1: "float["}[tensor.number(1)]
	for i, x := range decode(t, []byte(tensor.text(2))).all(1) {
		if i > 0 {
			s += ","
		}
		if dim := decode(t, x.bytes); dim.text(2) != "" {
			s += dim.text(2)
		} else {
			s += fmt.Sprint(dim.number(1))
		}
	}
	return s + "]"
}
