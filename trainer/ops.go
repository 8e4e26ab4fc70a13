package trainer

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	// Gorgonia's allocator refuses to start on a Go release that it does not
	// know; the pinned version of this module lets it.
	_ "go4.org/unsafe/assume-no-moving-gc"
)

// towerLayer is a layer whose output is the tower's activations.
type towerLayer interface {
	name() string
	params() []int
	forward(x []float32) []float32
	// backward gets the forward pass's input and output and the output's
	// gradient, which it may overwrite, sets the gradients of the parameters and
	// returns that of x. Both passes may leave work to the next phase.
	backward(x, y, dy []float32) []float32
}

// headLayer is a head with its losses.
type headLayer interface {
	name() string
	params() []int
	grads() *weightGrads
	// forward takes the tower's activations to the losses of each slice, whose sum
	// is the objective.
	forward(x []float32) passes
	objective() float64
	// backward sets the gradients of the parameters but for grads, and sets dx to
	// that of x, or adds it if add.
	backward(x, dx []float32, add bool) passes
}

// heads is all heads as one operation: their losses' sum. They go through their
// phases together. Separate operations would have Gorgonia add up their gradients
// of the tower's activations.
type heads struct {
	e    *engine
	list []headLayer
}

func (h *heads) params() []int {
	var p []int
	for _, l := range h.list {
		p = append(p, l.params()...)
	}
	return p
}

func (h *heads) forward(x []float32) float64 {
	h.run(func(l headLayer, _ int) passes { return l.forward(x) })
	sum := 0.0
	for _, l := range h.list {
		sum += l.objective()
	}
	return sum
}

func (h *heads) backward(x []float32) []float32 {
	if len(h.e.towerGrad) < len(x) {
		h.e.towerGrad = make([]float32, len(x))
	}
	if len(h.list) == 0 {
		clear(h.e.towerGrad)
	}
	grads := make([]*weightGrads, len(h.list))
	for i, l := range h.list {
		grads[i] = l.grads()
	}
	h.e.open(grads...)
	h.run(func(l headLayer, i int) passes { return l.backward(x, h.e.towerGrad, i > 0) })
	for _, g := range grads {
		g.reduce()
	}
	return h.e.towerGrad
}

// run takes all heads through the passes of.
func (h *heads) run(of func(l headLayer, i int) passes) {
	first, last, all := make([]phase, len(h.list)), make([]phase, len(h.list)), make([]passes, len(h.list))
	for i, l := range h.list {
		all[i] = of(l, i)
		first[i], last[i] = all[i].first, all[i].last
	}
	h.e.run(together(first))
	for _, p := range all {
		p.settle()
	}
	h.e.run(together(last))
}

// coarseOp is what our Gorgonia operations share. An operation's values are
// retained buffers of its layer, so nothing is allocated in a run. Gorgonia
// may itself overwrite a returned buffer once no node needs it, so whatever a
// backward operation needs from the graph is one of its inputs. It must believe
// that no input is overwritten: backward operations do so with the tower's
// gradient, one buffer for all layers, which no later node reads as it was. Values
// between operations may lack what a layer has left to the next phase.
type coarseOp struct {
	label string // unique in the graph: Gorgonia merges nodes that look alike
	in    []hm.Type
	out   hm.Type
	shape tensor.Shape
}

func (o *coarseOp) Arity() int { return len(o.in) }
func (o *coarseOp) Type() hm.Type {
	return hm.NewFnType(append(append([]hm.Type(nil), o.in...), o.out)...)
}
func (o *coarseOp) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return o.shape.Clone(), nil
}
func (o *coarseOp) ReturnsPtr() bool     { return true }
func (o *coarseOp) CallsExtern() bool    { return false }
func (o *coarseOp) OverwritesInput() int { return -1 }
func (o *coarseOp) WriteHash(h hash.Hash) {
	fmt.Fprint(h, "chessbrain/", o.label)
}
func (o *coarseOp) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}
func (o *coarseOp) String() string { return o.label }

// apply makes the node of an operation over its inputs.
func apply(op gorgonia.Op, base *coarseOp, in ...*gorgonia.Node) (*gorgonia.Node, error) {
	for _, n := range in {
		base.in = append(base.in, n.Type())
	}
	return gorgonia.ApplyOp(op, in...)
}

// floats is the data of a value that is a float32 tensor.
func floats(v gorgonia.Value) []float32 { return v.Data().([]float32) }

// towerOp is the forward operation of a tower layer: (x, params...) -> y. The
// first layer has no x; it reads the engine's batch.
type towerOp struct {
	coarseOp
	layer  towerLayer
	hasX   bool
	graph  *graph
	buffer *tensor.Dense // y
}

func (o *towerOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	var x []float32
	if o.hasX {
		x = floats(in[0])
	}
	var y []float32
	o.graph.timed(o.label, func() { y = o.layer.forward(x) })
	return o.graph.wrap(&o.buffer, y, o.shape), nil
}

// DiffWRT says that all inputs have gradients.
func (o *towerOp) DiffWRT(inputs int) []bool { return allTrue(inputs) }

// SymDiff adds the backward node and one node for each parameter's gradient.
func (o *towerOp) SymDiff(in gorgonia.Nodes, y, dy *gorgonia.Node) (gorgonia.Nodes, error) {
	back := &towerBackOp{coarseOp: coarseOp{label: o.label + ".backward"}, layer: o.layer, hasX: o.hasX, graph: o.graph}
	back.out, back.shape = o.out, o.shape
	nodes := gorgonia.Nodes{y, dy}
	if o.hasX {
		nodes = append(nodes, in[0])
	}
	dx, err := apply(back, &back.coarseOp, nodes...)
	if err != nil {
		return nil, err
	}
	return o.graph.paramGrads(o.layer.params(), dx, o.hasX)
}

// towerBackOp is the backward operation of a tower layer: (y, dy, x) -> dx. The
// first layer, which has no x, gives back dy.
type towerBackOp struct {
	coarseOp
	layer  towerLayer
	hasX   bool
	graph  *graph
	buffer *tensor.Dense // dx
}

func (o *towerBackOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	var x, dx []float32
	if o.hasX {
		x = floats(in[2])
	}
	o.graph.timed(o.label, func() { dx = o.layer.backward(x, floats(in[0]), floats(in[1])) })
	if !o.hasX {
		return in[1], nil
	}
	return o.graph.wrap(&o.buffer, dx, o.shape), nil
}

// headOp is the forward operation of the heads: (x, params...) -> loss.
type headOp struct {
	coarseOp
	layer *heads
	graph *graph
}

func (o *headOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	var sum float64
	o.graph.timed(o.label, func() { sum = o.layer.forward(floats(in[0])) })
	return gorgonia.NewF32(float32(sum)), nil
}

// DiffWRT says that all inputs have gradients.
func (o *headOp) DiffWRT(inputs int) []bool { return allTrue(inputs) }

// SymDiff adds the backward node and one node for each parameter's gradient.
func (o *headOp) SymDiff(in gorgonia.Nodes, loss, dLoss *gorgonia.Node) (gorgonia.Nodes, error) {
	back := &headBackOp{coarseOp: coarseOp{label: o.label + ".backward"}, layer: o.layer, graph: o.graph}
	back.out, back.shape = in[0].Type(), in[0].Shape()
	dx, err := apply(back, &back.coarseOp, in[0], loss, dLoss)
	if err != nil {
		return nil, err
	}
	return o.graph.paramGrads(o.layer.params(), dx, true)
}

// headBackOp is the backward operation of the heads: (x, loss, dLoss) -> dx. The
// loss comes in for the order only, and its gradient is always 1.
type headBackOp struct {
	coarseOp
	layer  *heads
	graph  *graph
	buffer *tensor.Dense // dx
}

func (o *headBackOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	if d, ok := in[2].Data().(float32); !ok || d != 1 {
		return nil, fmt.Errorf("%s: the loss's gradient is %v, want 1", o.label, in[2].Data())
	}
	var dx []float32
	o.graph.timed(o.label, func() { dx = o.layer.backward(floats(in[0])) })
	return o.graph.wrap(&o.buffer, dx, o.shape), nil
}

// paramGradOp hands out a parameter's gradient, which the layer's backward
// operation has set: (dx) -> gradient.
type paramGradOp struct {
	coarseOp
	grad *tensor.Dense
}

func (o *paramGradOp) Do(...gorgonia.Value) (gorgonia.Value, error) { return o.grad, nil }

func allTrue(n int) []bool {
	b := make([]bool, n)
	for i := range b {
		b[i] = true
	}
	return b
}
