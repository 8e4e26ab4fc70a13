package train

import (
	"fmt"
	"hash"
	"hash/fnv"
	"runtime"
	"slices"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	// Gorgonia's allocator refuses to start on a Go release that it does not
	// know; the pinned version of this module lets it.
	_ "go4.org/unsafe/assume-no-moving-gc"
)

// graph is the training graph of a net over one micro-batch, and all that the
// program has of Gorgonia. Gorgonia differentiates the graph and runs it on its tape
// machine; the layers compute. There is one operation for each layer of the tower,
// (x, parameters...) -> y, and one for the heads, (x, parameters...) -> loss. Shapes
// are static: a micro-batch with fewer rows than the capacity uses the front of the
// buffers.
//
// The derivative of a layer is one operation more, (y, dy, x) -> dx. An operation has
// one result, and a layer's backward pass has many: it leaves the gradients of the
// parameters in their memory, and an operation (dx) -> gradient for each parameter
// hands them out. Two things Gorgonia is not told. A backward pass overwrites dy, one
// buffer for the whole tower, which no later operation reads as it was. And values
// between operations may lack what a layer has left to the next phase (engine.carry).
// Both hold as long as each layer runs once forward, in order, and once backward, in
// the reverse order. TestGraphOrder holds the machine to that, and
// TestGradientsAgainstStock holds the gradients against a net of Gorgonia's own
// operations in float64.
type graph struct {
	vm    gorgonia.VM
	nodes map[int]*gorgonia.Node // by parameter index
	grads map[int]*tensor.Dense  // the parameters' gradients
	loss  gorgonia.Value         // read after a run
}

// newGraph builds the graph, differentiates it and compiles it. trunk is the shape of
// the tower's activations.
func newGraph(layers []towerLayer, h *heads, params []param, trunk ...int) (*graph, error) {
	g := &graph{nodes: map[int]*gorgonia.Node{}, grads: map[int]*tensor.Dense{}}
	expr := gorgonia.NewGraph(gorgonia.WithGraphName("train"))
	for _, l := range layers {
		g.declare(expr, params, l.params())
	}
	g.declare(expr, params, h.params())
	var x *gorgonia.Node
	var err error
	for _, l := range layers {
		if x, err = g.layer(l, x, tensor.Shape(trunk)); err != nil {
			return nil, fmt.Errorf("build training graph: %w", err)
		}
	}
	loss, err := g.losses(h, x)
	if err != nil {
		return nil, fmt.Errorf("build training graph: %w", err)
	}
	var wrt gorgonia.Nodes
	for i := range params {
		if n := g.nodes[i]; n != nil {
			wrt = append(wrt, n)
		}
	}
	if _, err := gorgonia.Grad(loss, wrt...); err != nil {
		return nil, fmt.Errorf("differentiate training graph: %w", err)
	}
	gorgonia.Read(loss, &g.loss)
	g.vm = gorgonia.NewTapeMachine(expr)
	return g, nil
}

// declare makes the input nodes of parameters. Their values share the weights' memory.
func (g *graph) declare(expr *gorgonia.ExprGraph, params []param, which []int) {
	for _, i := range which {
		shape := params[i].spec.Shape
		g.nodes[i] = gorgonia.NewTensor(expr, tensor.Float32, len(shape), gorgonia.WithName(params[i].spec.Name), gorgonia.WithShape(shape...),
			gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(params[i].data))))
		g.grads[i] = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(params[i].grad))
	}
}

// layer adds a layer of the tower over x. The first one has no x: it reads the
// micro-batch, and its derivative gives back dy.
func (g *graph) layer(l towerLayer, x *gorgonia.Node, shape tensor.Shape) (*gorgonia.Node, error) {
	var y, dx *tensor.Dense
	var xs gorgonia.Nodes // x, if there is one
	if x != nil {
		xs = gorgonia.Nodes{x}
	}
	out := gorgonia.TensorType{Dims: len(shape), Of: tensor.Float32}
	forward := &op{label: l.name(), out: out, shape: shape, do: func(in []gorgonia.Value) (gorgonia.Value, error) {
		return wrap(&y, l.forward(floatsOf(in[:len(xs)])), shape), nil
	}}
	backward := &op{label: l.name() + ".backward", out: out, shape: shape, do: func(in []gorgonia.Value) (gorgonia.Value, error) {
		return wrap(&dx, l.backward(floatsOf(in[2:]), floats(in[0]), floats(in[1])), shape), nil
	}}
	forward.diff = func(y, dy *gorgonia.Node) (gorgonia.Nodes, error) {
		return g.derivatives(backward, append(gorgonia.Nodes{y, dy}, xs...), l.params(), x != nil)
	}
	return forward.apply(slices.Concat(xs, g.nodesOf(l.params()))...)
}

// losses adds the heads over x. Their losses and the gradients of these are computed
// at one time, so that the loss's own gradient must be 1: it is what is minimised.
func (g *graph) losses(h *heads, x *gorgonia.Node) (*gorgonia.Node, error) {
	var dx *tensor.Dense
	forward := &op{label: "heads", out: tensor.Float32, shape: tensor.ScalarShape(), do: func(in []gorgonia.Value) (gorgonia.Value, error) {
		return gorgonia.NewF32(float32(h.forward(floats(in[0])))), nil
	}}
	backward := &op{label: "heads.backward", out: x.Type(), shape: x.Shape(), do: func(in []gorgonia.Value) (gorgonia.Value, error) {
		if d, ok := in[2].Data().(float32); !ok || d != 1 {
			return nil, fmt.Errorf("the gradient of the loss is %v, want 1", in[2].Data())
		}
		return wrap(&dx, h.backward(floats(in[0])), x.Shape()), nil
	}}
	forward.diff = func(loss, dLoss *gorgonia.Node) (gorgonia.Nodes, error) {
		return g.derivatives(backward, gorgonia.Nodes{x, loss, dLoss}, h.params(), true)
	}
	return forward.apply(append(gorgonia.Nodes{x}, g.nodesOf(h.params())...)...)
}

func (g *graph) nodesOf(params []int) (nodes gorgonia.Nodes) {
	for _, p := range params {
		nodes = append(nodes, g.nodes[p])
	}
	return nodes
}

// derivatives adds a backward operation and returns the gradients of its layer's
// inputs: dx where it has an x, then those of the parameters.
func (g *graph) derivatives(backward *op, in gorgonia.Nodes, params []int, hasX bool) (grads gorgonia.Nodes, err error) {
	dx, err := backward.apply(in...)
	if err != nil {
		return nil, err
	}
	if hasX {
		grads = append(grads, dx)
	}
	for _, i := range params {
		p := g.nodes[i]
		hand := &op{label: p.Name() + ".gradient", out: p.Type(), shape: p.Shape(),
			do: func([]gorgonia.Value) (gorgonia.Value, error) { return g.grads[i], nil }}
		n, err := hand.apply(dx)
		if err != nil {
			return nil, err
		}
		grads = append(grads, n)
	}
	return grads, nil
}

// run does a forward and backward pass over the engine's batch and returns the
// objective. The gradients lie in the engine's parameters.
func (g *graph) run() (float64, error) {
	// Without Reset a register keeps its last value, and stock operations would
	// write into it.
	g.vm.Reset()
	if err := g.vm.RunAll(); err != nil {
		return 0, fmt.Errorf("run training graph: %w", err)
	}
	loss, ok := g.loss.Data().(float32)
	if !ok {
		return 0, fmt.Errorf("run training graph: the loss is %T", g.loss.Data())
	}
	return float64(loss), nil
}

// close lets go of the machine; a second call does nothing. The machine has a
// finalizer and reaches the graph through its program's operations, and the graph
// holds the machine. Go never frees a cycle with a finalizer in it: without both
// lines here every trainer that a process ever made would stay in memory, buffers
// and all. Close has done what the finalizer does.
func (g *graph) close() error {
	if g.vm == nil {
		return nil
	}
	err := g.vm.Close()
	runtime.SetFinalizer(g.vm, nil)
	g.vm = nil
	return err
}

// op is an operation of the graph; it implements gorgonia.Op and gorgonia.SDOp. Its
// result is a buffer that its layer keeps, so nothing is allocated in a run. Gorgonia
// may itself overwrite a result once no node needs it, so whatever a backward operation
// needs from the graph is one of its inputs.
type op struct {
	label string // unique in the graph: Gorgonia merges nodes that look alike
	in    []hm.Type
	out   hm.Type
	shape tensor.Shape
	do    func(in []gorgonia.Value) (gorgonia.Value, error)
	diff  func(y, dy *gorgonia.Node) (gorgonia.Nodes, error) // gradients of the inputs; nil = it has none
}

// apply makes the node of an operation over its inputs.
func (o *op) apply(in ...*gorgonia.Node) (*gorgonia.Node, error) {
	for _, n := range in {
		o.in = append(o.in, n.Type())
	}
	return gorgonia.ApplyOp(o, in...)
}

func (o *op) Arity() int                                            { return len(o.in) }
func (o *op) Type() hm.Type                                         { return hm.NewFnType(append(append([]hm.Type(nil), o.in...), o.out)...) }
func (o *op) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) { return o.shape.Clone(), nil }
func (o *op) Do(in ...gorgonia.Value) (gorgonia.Value, error)       { return o.do(in) }
func (o *op) ReturnsPtr() bool                                      { return true }
func (o *op) CallsExtern() bool                                     { return false }
func (o *op) OverwritesInput() int                                  { return -1 }
func (o *op) WriteHash(h hash.Hash)                                 { fmt.Fprint(h, "chessbrain/", o.label) }
func (o *op) String() string                                        { return o.label }

func (o *op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// DiffWRT says that all inputs of a layer have gradients.
func (o *op) DiffWRT(inputs int) []bool {
	return slices.Repeat([]bool{o.diff != nil}, inputs)
}

// SymDiff adds the operations of the inputs' gradients.
func (o *op) SymDiff(_ gorgonia.Nodes, y, dy *gorgonia.Node) (gorgonia.Nodes, error) {
	if o.diff == nil {
		return nil, fmt.Errorf("%s has no derivative", o.label)
	}
	return o.diff(y, dy)
}

// floats is the data of a value that is a float32 tensor.
func floats(v gorgonia.Value) []float32 { return v.Data().([]float32) }

// floatsOf is floats of the only value of in, nil without one.
func floatsOf(in []gorgonia.Value) []float32 {
	if len(in) == 0 {
		return nil
	}
	return floats(in[0])
}

// wrap returns data as a tensor of the given shape, made once.
func wrap(t **tensor.Dense, data []float32, shape tensor.Shape) *tensor.Dense {
	if *t == nil {
		*t = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data[:shape.TotalSize()]))
	}
	return *t
}
