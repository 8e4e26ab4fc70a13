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

// intAttribute returns an AttributeProto of type INT.
func intAttribute(name string, v int64) message { return attribute(name, 3, 2, v) }

// intsAttribute returns an AttributeProto of type INTS.
func intsAttribute(name string, list ...int64) message { return attribute(name, 8, 7, list...) }

// floatAttribute returns an AttributeProto of type FLOAT.
func floatAttribute(name string, v float32) message {
	m := attribute(name, 0, 1)
	return protowire.AppendFixed32(protowire.AppendTag(m, 2, protowire.Fixed32Type), math.Float32bits(v))
}

func attribute(name string, field protowire.Number, kind int64, values ...int64) message {
	var m message
	m.text(1, name)
	for _, v := range values {
		m.varint(field, v)
	}
	m.varint(20, kind)
	return m
}

// onnxGraph collects the parts of a GraphProto.
type onnxGraph struct {
	nodes, tensors, inputs, outputs []message
	seen                            map[string]bool // names of tensors
}

// node adds a NodeProto of that name and returns its output, which has the same.
func (g *onnxGraph) node(op, name string, inputs []string, attributes ...message) string {
	g.nodeOf(op, name, inputs, []string{name}, attributes...)
	return name
}

// nodeOf is node with outputs of other names.
func (g *onnxGraph) nodeOf(op, name string, inputs, outputs []string, attributes ...message) {
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
		m.bytes(5, a)
	}
	g.nodes = append(g.nodes, m)
}

// tensor adds a TensorProto once and returns its name. x is a slice of numbers of the
// kind.
func (g *onnxGraph) tensor(name string, kind int64, x any, dims ...int) string {
	if g.seen[name] {
		return name
	}
	g.seen[name] = true
	size := binary.Size(x)
	m := make(message, 0, size+len(name)+64)
	for _, d := range dims {
		m.varint(1, int64(d))
	}
	m.varint(2, kind)
	m.text(8, name)
	m = protowire.AppendVarint(protowire.AppendTag(m, 9, protowire.BytesType), uint64(size))
	m, _ = binary.Append(m, binary.LittleEndian, x) // numbers have a size
	g.tensors = append(g.tensors, m)
	return name
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
