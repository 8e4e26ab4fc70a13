package trainer

import (
	"fmt"
	"runtime"
	"time"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// graph is the training graph of a net over one micro-batch: an input node of
// the tower, one node for each residual block, one for the heads with the sum of
// their losses, and what Gorgonia's differentiation adds. Shapes are static: a
// micro-batch with fewer rows than the capacity uses the front of the buffers.
type graph struct {
	e      *engine
	layers []towerLayer
	heads  []headLayer

	vm        gorgonia.VM
	paramNode map[int]*gorgonia.Node // by parameter index
	grads     map[int]*tensor.Dense  // gradients of the last run
	total     gorgonia.Value         // read after a run

	observe func(op string, d time.Duration) // if not nil, told how long each operation took
}

// newGraph builds the graph, differentiates it and compiles it.
func newGraph(e *engine, layers []towerLayer, heads []headLayer) (*graph, error) {
	g := &graph{e: e, layers: layers, heads: heads, paramNode: map[int]*gorgonia.Node{}, grads: map[int]*tensor.Dense{}}
	expr := gorgonia.NewGraph(gorgonia.WithGraphName("train"))
	for _, l := range layers {
		g.declare(expr, l.params())
	}
	for _, h := range heads {
		g.declare(expr, h.params())
	}
	trunk, err := g.tower()
	if err != nil {
		return nil, fmt.Errorf("build training graph: %w", err)
	}
	total, err := g.lossSum(trunk)
	if err != nil {
		return nil, fmt.Errorf("build training graph: %w", err)
	}
	var wrt gorgonia.Nodes
	for i := range e.params {
		if n := g.paramNode[i]; n != nil {
			wrt = append(wrt, n)
		}
	}
	if _, err := gorgonia.Grad(total, wrt...); err != nil {
		return nil, fmt.Errorf("differentiate training graph: %w", err)
	}
	gorgonia.Read(total, &g.total)
	g.vm = gorgonia.NewTapeMachine(expr)
	return g, nil
}

// declare makes the input nodes of parameters. Their values share the master
// weights' memory.
func (g *graph) declare(expr *gorgonia.ExprGraph, params []int) {
	for _, i := range params {
		p := &g.e.params[i]
		value := tensor.New(tensor.WithShape(p.spec.Shape...), tensor.WithBacking(p.data))
		g.paramNode[i] = gorgonia.NewTensor(expr, tensor.Float32, len(p.spec.Shape),
			gorgonia.WithName(p.spec.Name), gorgonia.WithShape(p.spec.Shape...), gorgonia.WithValue(value))
		g.grads[i] = tensor.New(tensor.WithShape(p.spec.Shape...), tensor.WithBacking(p.grad))
	}
}

// tower adds the input layer and the blocks and returns the last one's node.
func (g *graph) tower() (*gorgonia.Node, error) {
	var x *gorgonia.Node
	for _, l := range g.layers {
		op := &towerOp{coarseOp: coarseOp{label: l.name()}, layer: l, hasX: x != nil, graph: g}
		op.shape = g.towerShape()
		op.out = gorgonia.TensorType{Dims: len(op.shape), Of: tensor.Float32}
		var in gorgonia.Nodes
		if x != nil {
			in = append(in, x)
		}
		y, err := apply(op, &op.coarseOp, append(in, g.nodes(l.params())...)...)
		if err != nil {
			return nil, err
		}
		x = y
	}
	return x, nil
}

// towerShape is the shape of the tower's activations, [boards, 64, filters].
func (g *graph) towerShape() tensor.Shape {
	return tensor.Shape{g.e.capacity, 64, g.e.shape("input.bn.gamma")[0]}
}

// lossSum adds the heads.
func (g *graph) lossSum(trunk *gorgonia.Node) (*gorgonia.Node, error) {
	h := &heads{e: g.e, list: g.heads}
	op := &headOp{coarseOp: coarseOp{label: "heads", out: tensor.Float32, shape: tensor.ScalarShape()}, layer: h, graph: g}
	return apply(op, &op.coarseOp, append(gorgonia.Nodes{trunk}, g.nodes(h.params())...)...)
}

func (g *graph) nodes(params []int) gorgonia.Nodes {
	n := make(gorgonia.Nodes, len(params))
	for i, p := range params {
		n[i] = g.paramNode[p]
	}
	return n
}

// paramGrads returns the gradient nodes of an operation's inputs: dx where it
// has an x, and one node for each parameter, ordered after dx.
func (g *graph) paramGrads(params []int, dx *gorgonia.Node, hasX bool) (gorgonia.Nodes, error) {
	var nodes gorgonia.Nodes
	if hasX {
		nodes = append(nodes, dx)
	}
	for _, i := range params {
		p := g.paramNode[i]
		op := &paramGradOp{coarseOp: coarseOp{label: p.Name() + ".gradient", out: p.Type(), shape: p.Shape()}, grad: g.grads[i]}
		n, err := apply(op, &op.coarseOp, dx)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// wrap returns data as a tensor of the given shape, made once.
func (g *graph) wrap(t **tensor.Dense, data []float32, shape tensor.Shape) *tensor.Dense {
	if *t == nil {
		*t = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data[:shape.TotalSize()]))
	}
	return *t
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
	loss, ok := g.total.Data().(float32)
	if !ok {
		return 0, fmt.Errorf("run training graph: the loss is %T", g.total.Data())
	}
	return float64(loss), nil
}

// forward runs the layers alone, without Gorgonia: no gradients are wanted.
func (g *graph) forward() {
	var x []float32
	for _, l := range g.layers {
		x = l.forward(x)
	}
	(&heads{e: g.e, list: g.heads}).forward(x)
}

// timed calls f, the work of one operation.
func (g *graph) timed(op string, f func()) {
	if g.observe == nil {
		f()
		return
	}
	start := time.Now()
	f()
	g.observe(op, time.Since(start))
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
