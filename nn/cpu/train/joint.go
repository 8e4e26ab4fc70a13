package train

import "github.com/chessbrain/chessbrain/nn/kernel"

// joint is several fully connected layers of the same inputs, on each square, as one: a
// row of outputs has those of all, one after the other. Those of the first are multiplied
// with factor.
type joint struct {
	conv
	weights, biases []int // parameter indices
	factor          float32
	data, bias      []float32 // all weights, [co][ci], and biases
}

// newJoint makes the layers of the prefixes, which have biases or have none.
func newJoint(e *engine, factor float32, prefixes ...string) *joint {
	j := &joint{factor: factor}
	shape := e.shape(prefixes[0] + ".weight")
	j.conv = conv{e: e, size: 1, ci: shape[1], co: len(prefixes) * shape[0], perBoard: squares, needsInputGrad: true, bias: -1}
	for _, p := range prefixes {
		j.weights = append(j.weights, e.param(p+".weight"))
		if bias := e.param(p + ".bias"); bias >= 0 {
			j.biases = append(j.biases, bias)
		}
	}
	j.weight, j.data = j.weights[0], make([]float32, j.co*j.ci)
	if len(j.biases) > 0 {
		j.conv.bias, j.bias = j.biases[0], make([]float32, j.co)
	}
	j.packed, j.turned = make([]float32, kernel.PackedMatLen(j.ci, j.co)), make([]float32, kernel.PackedMatLen(j.co, j.ci))
	j.weightGradLength = kernel.MatMulWeightGradScratchLen(j.ci, j.co)
	j.inHalf()
	e.packers = append(e.packers, j)
	return j
}

// pack joins the master weights and copies them for the kernels.
func (j *joint) pack() {
	j.join(j.data, j.weights)
	j.join(j.bias, j.biases)
	j.packMat(j.data)
}

// join sets dst to the parameters, one after the other.
func (j *joint) join(dst []float32, params []int) {
	for i, p := range params {
		n := copy(dst, j.e.params[p].data)
		if i == 0 {
			kernel.Scale(dst[:n], j.factor)
		}
		dst = dst[n:]
	}
}

// addTo adds the parameters to wg: the gradients of all weights lie together there, as
// those of all biases.
func (j *joint) addTo(wg *weightGrads) {
	for _, params := range [][]int{j.weights, j.biases} {
		if len(params) > 0 {
			wg.add(params...)
			wg.restore[params[0]] = func() { kernel.Scale(j.e.params[params[0]].grad, j.factor) }
		}
	}
}

// on is that of conv.
func (j *joint) on(g span, w *workspace, x []float32) []float32 {
	y := w.take(g.n * j.perBoard * j.co)
	j.forwardWith(g, y, x, j.bias)
	return y
}
