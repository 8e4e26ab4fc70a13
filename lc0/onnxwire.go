package lc0

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Types of ONNX tensors.
const (
	onnxFloat = 1
	onnxInt32 = 6
	onnxInt64 = 7
)

// message is a protobuf message under construction; fields stand in the order of
// the calls.
type message []byte

func (m *message) varint(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) text(field protowire.Number, s string) { m.bytes(field, []byte(s)) }

// attribute is a number or a list of numbers of a node.
type attribute struct {
	name string
	list bool
	ints []int64
}

func intAttribute(name string, v int64) attribute     { return attribute{name, false, []int64{v}} }
func intsAttribute(name string, v ...int64) attribute { return attribute{name, true, v} }

// marshal returns an AttributeProto.
func (a attribute) marshal() []byte {
	const typeInt, typeInts = 2, 7
	var m message
	m.text(1, a.name)
	if !a.list {
		m.varint(3, a.ints[0])
		m.varint(20, typeInt)
		return m
	}
	for _, v := range a.ints {
		m.varint(8, v)
	}
	m.varint(20, typeInts)
	return m
}

// onnxGraph collects the parts of a GraphProto.
type onnxGraph struct {
	nodes, tensors, inputs, outputs []message
	seen                            map[string]bool // names of tensors
}

// node adds a NodeProto of that name and returns its output, which has the same.
func (g *onnxGraph) node(op, name string, inputs []string, attributes ...attribute) string {
	g.nodeOf(op, name, inputs, []string{name}, attributes...)
	return name
}

// nodeOf is node with outputs of other names.
func (g *onnxGraph) nodeOf(op, name string, inputs, outputs []string, attributes ...attribute) {
	var m message
	for _, s := range inputs {
		m.text(1, s)
	}
	for _, s := range outputs {
		m.text(2, s)
	}
	m.text(3, name)
	m.text(4, op)
	for _, a := range attributes {
		m.bytes(5, a.marshal())
	}
	g.nodes = append(g.nodes, m)
}

// tensor adds a TensorProto once and returns its name.
func (g *onnxGraph) tensor(name string, kind int64, data []byte, dims ...int) string {
	if g.seen[name] {
		return name
	}
	g.seen[name] = true
	m := make(message, 0, len(data)+len(name)+64)
	for _, d := range dims {
		m.varint(1, int64(d))
	}
	m.varint(2, kind)
	m.text(8, name)
	m.bytes(9, data)
	g.tensors = append(g.tensors, m)
	return name
}

func (g *onnxGraph) floats(name string, x []float32, dims ...int) string {
	data := make([]byte, 0, 4*len(x))
	for _, v := range x {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return g.tensor(name, onnxFloat, data, dims...)
}

func (g *onnxGraph) int64s(name string, x ...int64) string {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	return g.tensor(name, onnxInt64, data, len(x))
}

func (g *onnxGraph) int32s(name string, x []int32) string {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint32(data, uint32(v))
	}
	return g.tensor(name, onnxInt32, data, len(x))
}

// valueInfo returns a ValueInfoProto of float32; the first dimension is the
// batch, of any size.
func valueInfo(name string, dims ...int) message {
	var shape, batch message
	batch.text(2, "batch")
	shape.bytes(1, batch)
	for _, d := range dims {
		var dim message
		dim.varint(1, int64(d))
		shape.bytes(1, dim)
	}
	var tensor, kind, info message
	tensor.varint(1, onnxFloat)
	tensor.bytes(2, shape)
	kind.bytes(1, tensor)
	info.text(1, name)
	info.bytes(2, kind)
	return info
}

// marshal returns the GraphProto.
func (g *onnxGraph) marshal(name string) message {
	size := 0
	for _, t := range g.tensors {
		size += len(t) + 16
	}
	m := make(message, 0, size+256*len(g.nodes))
	for _, n := range g.nodes {
		m.bytes(1, n)
	}
	m.text(2, name)
	for i, t := range g.tensors {
		m.bytes(5, t)
		g.tensors[i] = nil // weights are large: one copy less
	}
	for _, v := range g.inputs {
		m.bytes(11, v)
	}
	for _, v := range g.outputs {
		m.bytes(12, v)
	}
	return m
}
