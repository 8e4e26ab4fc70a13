package train

import "github.com/chessbrain/chessbrain/nn/kernel"

// weightGrads gives each slice its own memory for the weight gradients of one
// layer and sums them in slice order. Those of 3x3 convolutions lie there by tap,
// [9][co][ci].
type weightGrads struct {
	e       *engine
	params  []int
	offset  map[int]int
	total   int
	own     map[int][][]float32 // by parameter: memory by slice outside of the arena
	restore map[int]func()      // by parameter: puts the summed gradient in the net's order
	arena   int                 // of the engine's two
	base    int                 // in the arena
}

func newWeightGrads(e *engine, layers ...*conv) *weightGrads {
	g := &weightGrads{e: e, offset: map[int]int{}, own: map[int][][]float32{}, restore: map[int]func(){}}
	g.layers(layers...)
	return g
}

// layers adds the parameters of layers.
func (g *weightGrads) layers(list ...*conv) {
	for _, c := range list {
		g.add(c.params()...)
		if c.channels > 0 {
			g.restore[c.weight] = c.restore
		}
	}
}

// add adds parameters.
func (g *weightGrads) add(params ...int) {
	for _, p := range params {
		g.params = append(g.params, p)
		g.offset[p] = g.total
		g.total += len(g.e.params[p].data)
	}
}

// addOwn adds a parameter whose gradient is summed in memory of its own, by slice, which
// the layer clears.
func (g *weightGrads) addOwn(p int, bySlice [][]float32) {
	g.params, g.own[p] = append(g.params, p), bySlice
}

// open gives the layers of list, whose backward pass begins, memory in the arena
// that the layers before did not use: theirs may still be due.
func (e *engine) open(list ...*weightGrads) {
	e.arena = 1 - e.arena
	total := 0
	for _, g := range list {
		g.arena, g.base = e.arena, total
		total += g.total
	}
	for s := range e.arenas[e.arena] {
		if len(e.arenas[e.arena][s]) < total {
			e.arenas[e.arena][s] = make([]float32, total)
		}
	}
}

// reset zeroes what a slice adds up in its memory. Call it at the start of the
// layer's first backward phase. 3x3 convolutions set theirs once.
func (g *weightGrads) reset(s span) {
	for _, p := range g.params {
		if !g.byTap(p) && g.own[p] == nil {
			clear(g.of(s.slice, p))
		}
	}
}

// byTap says whether p is the weight of a 3x3 convolution.
func (g *weightGrads) byTap(p int) bool {
	shape := g.e.params[p].spec.Shape
	return len(shape) == 4 && shape[2] == 3
}

// of returns the slice's part of a parameter's gradient; nil for parameter -1.
func (g *weightGrads) of(slice, p int) []float32 {
	if p < 0 {
		return nil
	}
	return g.from(slice, p, len(g.e.params[p].data))
}

// from returns n numbers from the slice's part of a parameter's gradient on, more than it
// has where those that were added next follow; nil for parameter -1.
func (g *weightGrads) from(slice, p, n int) []float32 {
	if p < 0 {
		return nil
	}
	if own := g.own[p]; own != nil {
		return own[slice][:n]
	}
	return g.e.arenas[g.arena][slice][g.base+g.offset[p]:][:n]
}

// dueSum is a parameter whose gradient waits to be summed over the slices.
type dueSum struct {
	g *weightGrads
	p int
}

// reduce has the gradient of each parameter set to the sum over the slices, beside
// the next phase or by finish. The open after the next one uses the memory again.
func (g *weightGrads) reduce() {
	for _, p := range g.params {
		g.e.due = append(g.e.due, dueSum{g, p})
	}
}

func (d dueSum) sum() {
	g, grad := d.g, d.g.e.params[d.p].grad
	sum := g.of(0, d.p)
	for s := 1; s < g.e.numSlices(); s++ {
		kernel.Add(sum, sum, g.of(s, d.p))
	}
	if g.byTap(d.p) {
		shape := g.e.params[d.p].spec.Shape
		clear(grad)
		kernel.AddConv3Taps(grad, sum, shape[1], shape[0])
	} else {
		copy(grad, sum)
	}
	if restore := g.restore[d.p]; restore != nil {
		restore()
	}
}
