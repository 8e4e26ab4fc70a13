package train

import "github.com/chessbrain/chessbrain/nn/kernel"

// gates multiply the embedding of each square by a factor and add to it. The net has them
// as [width][64]; here they are in the order of a board's rows.
type gates struct {
	e           *engine
	gamma, beta int // parameter indices
	width       int
	mul, add    []float32   // [64][width]
	grads       [][]float32 // by worker: of mul and then of add, of the slice at work
}

// newGates makes those of so many numbers a square.
func newGates(e *engine, width int) *gates {
	n := squares * width
	t := &gates{e: e, gamma: e.param("input.gate.gamma"), beta: e.param("input.gate.beta"), width: width, mul: make([]float32, n), add: make([]float32, n)}
	for range e.workspaces {
		t.grads = append(t.grads, make([]float32, 2*n))
	}
	e.packers = append(e.packers, t)
	return t
}

func (t *gates) pack() {
	kernel.TransposeRows(t.mul, t.e.params[t.gamma].data, 1, t.width, squares)
	kernel.TransposeRows(t.add, t.e.params[t.beta].data, 1, t.width, squares)
}

// forward sets y, boards of rows, to the gated x.
func (t *gates) forward(y, x []float32) {
	for ; len(x) > 0; x, y = x[len(t.mul):], y[len(t.mul):] {
		y := y[:len(t.mul)]
		for i, m := range t.mul {
			y[i] = x[i]*m + t.add[i]
		}
	}
}

// begin and end enclose the backward pass of a slice. Without gates they do nothing.
func (t *gates) begin(s span) {
	if t != nil {
		clear(t.grads[s.worker])
	}
}

func (t *gates) end(s span, wg *weightGrads) {
	if t == nil {
		return
	}
	sums := t.grads[s.worker]
	kernel.TransposeRows(wg.of(s.slice, t.gamma), sums, 1, squares, t.width)
	kernel.TransposeRows(wg.of(s.slice, t.beta), sums[len(t.mul):], 1, squares, t.width)
}

// backward turns d, the gradient of a group's outputs, into that of the inputs x.
func (t *gates) backward(g span, d, x []float32) {
	n := len(t.mul)
	dMul, dAdd := t.grads[g.worker][:n], t.grads[g.worker][n:]
	for ; len(d) > 0; d, x = d[n:], x[n:] {
		kernel.Add(dAdd, dAdd, d[:n])
		d, x := d[:n], x[:n]
		for i, v := range d {
			dMul[i] += v * x[i]
			d[i] = v * t.mul[i]
		}
	}
}
