package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// The tensors of a blockEnd.
const (
	ofZ = iota
	ofX
	ofGamma
	ofBeta
	ofW1
	ofB1
	ofW2
	ofB2
	blockTensors
)

var blockNames = [blockTensors]string{"z", "x", "gamma", "beta", "w1", "b1", "w2", "b2"}

// blockEnd is a residual block after its last convolution, with a loss:
// sum of weight * act(SE(bn(z)) + x), bn by batch statistics; units 0 = no SE.
type blockEnd struct {
	boards, channels, units int
	act                     int32
	tensors                 [blockTensors][]float64
	weight                  []float64 // [boards*64][channels]
}

func newBlockEnd(r *rand.Rand, boards, channels, units int, act int32) *blockEnd {
	p := &blockEnd{boards: boards, channels: channels, units: units, act: act}
	n := boards * 64 * channels
	p.weight = widened(normal(r, n, 1))
	for i, size := range []int{n, n, channels, channels, units * channels, units, 2 * channels * units, 2 * channels} {
		deviation := 1.0
		if i == ofW1 || i == ofW2 {
			deviation = 0.5
		}
		p.tensors[i] = widened(normal(r, size, deviation))
	}
	for i := range p.tensors[ofZ] { // neither mean 0 nor deviation 1
		p.tensors[ofZ][i] = float64(float32(p.tensors[ofZ][i]*1.5 + float64(i%channels%3)/2))
	}
	for p.units > 0 && p.nearKink() { // of the hidden units' ReLU
		p.tensors[ofB1] = widened(normal(r, units, 1))
	}
	// Away from ReLU's kink, which x alone moves.
	for i, v := range p.before() {
		if math.Abs(v) < 1e-4 {
			p.tensors[ofX][i] = float64(float32(p.tensors[ofX][i] + 1e-3))
		}
	}
	return p
}

// before returns the arguments of the last activation, in float64.
func (p *blockEnd) before() []float64 {
	c, z := p.channels, p.tensors[ofZ]
	out := make([]float64, len(z))
	scale, shift := p.normalise()
	for b := range p.boards {
		s, t := scale, shift
		if p.units > 0 {
			s, t = p.excite(b, scale, shift)
		}
		for i := b * 64 * c; i < (b+1)*64*c; i++ {
			out[i] = z[i]*s[i%c] + t[i%c] + p.tensors[ofX][i]
		}
	}
	return out
}

// normalise returns batch norm's scale and shift.
func (p *blockEnd) normalise() (scale, shift []float64) {
	c, z, count := p.channels, p.tensors[ofZ], float64(p.boards*64)
	mean, variance := make([]float64, c), make([]float64, c)
	for i, v := range z {
		mean[i%c] += v / count
	}
	for i, v := range z {
		variance[i%c] += (v - mean[i%c]) * (v - mean[i%c]) / count
	}
	scale, shift = make([]float64, c), make([]float64, c)
	for i := range c {
		scale[i] = p.tensors[ofGamma][i] / math.Sqrt(variance[i]+1e-5)
		shift[i] = p.tensors[ofBeta][i] - mean[i]*scale[i]
	}
	return scale, shift
}

// nearKink reports whether a difference quotient, or fp32's rounding, may cross the
// kink of a hidden unit of some board.
func (p *blockEnd) nearKink() bool {
	scale, shift := p.normalise()
	for b := range p.boards {
		for _, v := range p.hidden(b, scale, shift) {
			if math.Abs(v) < 1e-4 {
				return true
			}
		}
	}
	return false
}

// hidden returns the arguments of the hidden units' activation for board b.
func (p *blockEnd) hidden(b int, scale, shift []float64) []float64 {
	c := p.channels
	pool, hidden := make([]float64, c), make([]float64, p.units)
	for i := range 64 * c {
		pool[i%c] += (p.tensors[ofZ][b*64*c+i]*scale[i%c] + shift[i%c]) / 64
	}
	for u := range hidden {
		v := p.tensors[ofB1][u]
		for i, x := range pool {
			v += p.tensors[ofW1][u*c+i] * x
		}
		hidden[u] = v
	}
	return hidden
}

// excite returns the scale and shift of board b with squeeze-and-excitation.
func (p *blockEnd) excite(b int, scale, shift []float64) (s, t []float64) {
	c := p.channels
	hidden, f := p.hidden(b, scale, shift), make([]float64, 2*c)
	for u, v := range hidden {
		hidden[u] = act64(v, p.act)
	}
	s, t = make([]float64, c), make([]float64, c)
	for o := range f {
		f[o] = p.tensors[ofB2][o]
		for u, h := range hidden {
			f[o] += p.tensors[ofW2][o*p.units+u] * h
		}
	}
	for i := range c {
		gate := 1 / (1 + math.Exp(-f[i]))
		s[i], t[i] = gate*scale[i], gate*shift[i]+f[c+i]
	}
	return s, t
}

func (p *blockEnd) loss() float64 {
	var sum float64
	for i, v := range p.before() {
		sum += p.weight[i] * act64(v, p.act)
	}
	return sum
}

// slope returns the central difference of the loss along a direction of one tensor.
func (p *blockEnd) slope(tensor int, direction []float64) float64 {
	const h = 1e-6
	at := func(h float64) float64 {
		q := *p
		q.tensors[tensor] = make([]float64, len(direction))
		for i, v := range p.tensors[tensor] {
			q.tensors[tensor][i] = v + h*direction[i]
		}
		return q.loss()
	}
	return (at(h) - at(-h)) / (2 * h)
}

// blockRun is a blockEnd on the device: every buffer that a kernel reads or writes.
type blockRun struct {
	t      *testing.T
	d      driver.Device
	s      driver.Stream
	p      *blockEnd
	padded int

	z, x, y, dres, dz                 driver.Ptr
	zsums, mean, invStd, scale, shift driver.Ptr
	se                                SEForwardArgs
	back                              SEBackwardArgs
	grads                             [blockTensors]driver.Ptr
}

func (r *blockRun) floats(n int) driver.Ptr { return alloc(r.t, r.d, 4*n) }

func (r *blockRun) up(v []float64) driver.Ptr {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return upload(r.t, r.d, r.s, F32, out)
}

// plane uploads activations with padded channels.
func (r *blockRun) plane(v []float64) driver.Ptr {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return upload(r.t, r.d, r.s, F32, padColumns(out, r.p.channels, r.padded))
}

// rows reads rows of real channels back.
func (r *blockRun) rows(p driver.Ptr, rows int) []float32 {
	var out []float32
	all := download(r.t, r.s, F32, p, rows*r.padded)
	for i := range rows {
		out = append(out, all[i*r.padded:][:r.p.channels]...)
	}
	return out
}

// launchBlock runs p forward and backward in fp32.
func launchBlock(t *testing.T, d driver.Device, k *Set, s driver.Stream, p *blockEnd) *blockRun {
	r := &blockRun{t: t, d: d, s: s, p: p, padded: Pad(p.channels)}
	n, row, board := p.boards*64*r.padded, r.padded, p.boards*r.padded
	r.z, r.x, r.y, r.dres, r.dz = r.plane(p.tensors[ofZ]), r.plane(p.tensors[ofX]), r.floats(n), r.plane(p.weight), r.floats(n)
	z := download(t, s, F32, r.z, n)
	r.zsums, _ = uploadSums(t, d, s, z, z, p.boards, r.padded)
	r.mean, r.invStd, r.scale, r.shift = r.floats(row), r.floats(row), r.floats(row), r.floats(row)
	for i := ofGamma; i < blockTensors; i++ {
		r.grads[i] = r.floats(max(1, len(p.tensors[i])))
	}
	gamma := r.up(p.tensors[ofGamma])
	boards, channels, padded, units := int32(p.boards), int32(p.channels), int32(r.padded), int32(p.units)
	zero := make([]float64, p.channels)
	run(t, k, s, BNForward(BNForwardArgs{
		Sums: r.zsums, Gamma: gamma, Beta: r.up(p.tensors[ofBeta]), PendingMean: r.up(zero), PendingVar: r.up(zero),
		Mean: r.mean, InvStd: r.invStd, Scale: r.scale, Shift: r.shift, Boards: boards, Channels: channels, Padded: padded, Momentum: 0.1,
	}))
	scale, shift := r.scale, r.shift
	if p.units > 0 {
		r.se = SEForwardArgs{
			Sums: r.zsums, Scale: r.scale, Shift: r.shift,
			W1: r.up(p.tensors[ofW1]), B1: r.up(p.tensors[ofB1]), W2: r.up(p.tensors[ofW2]), B2: r.up(p.tensors[ofB2]),
			Pool: r.floats(board), Pre: r.floats(p.boards * p.units), Gate: r.floats(board), BoardScale: r.floats(board), BoardShift: r.floats(board),
			Boards: boards, Channels: channels, Padded: padded, Units: units, Act: p.act,
		}
		run(t, k, s, SEForward(r.se))
		scale, shift = r.se.BoardScale, r.se.BoardShift
	}
	byBoard := btoi(p.units > 0)
	sums := r.floats(2 * board)
	run(t, k, s,
		Join(F32, JoinArgs{Z: r.z, Scale: scale, Shift: shift, X: r.x, Y: r.y, Boards: boards, Padded: padded, Act: p.act, ByBoard: byBoard}),
		JoinBackward(F32, JoinBackwardArgs{Dy: r.dres, Z: r.z, Scale: scale, Shift: shift, X: r.x, D: r.dres, Sums: sums, Boards: boards, Padded: padded, Act: p.act, ByBoard: byBoard}))
	coefficients := r.floats(3 * row)
	input := BNInputArgs{D: r.dres, Z: r.z, K: coefficients, Dz: r.dz, Boards: boards, Padded: padded}
	if p.units > 0 {
		r.back = SEBackwardArgs{
			Sums: sums, Zsums: r.zsums, Scale: r.scale, Shift: r.shift, Gate: r.se.Gate, Pre: r.se.Pre, W1: r.se.W1, W2: r.se.W2,
			Df: r.floats(p.boards * 2 * p.channels), Dhid: r.floats(p.boards * p.units),
			DynScale: r.floats(board), DynShift: r.floats(board), DynSums: r.floats(2 * board),
			Boards: boards, Channels: channels, Padded: padded, Units: units, Act: p.act,
		}
		layers := []OuterLayer{
			{Dout: r.back.Df, In: r.se.Pre, Dw: r.grads[ofW2], Dbias: r.grads[ofB2], Rows: 2 * channels, Columns: units, DoutStride: 2 * channels, InStride: units, Act: p.act},
			{Dout: r.back.Dhid, In: r.se.Pool, Dw: r.grads[ofW1], Dbias: r.grads[ofB1], Rows: units, Columns: channels, DoutStride: units, InStride: padded},
		}
		run(t, k, s, SEBackward(r.back), Outer(OuterArgs{Layers: uploadLayers(t, d, s, layers), Boards: boards}, layers))
		sums, input.DynScale, input.DynShift = r.back.DynSums, r.back.DynScale, r.back.DynShift
	}
	run(t, k, s, BNBackward(BNBackwardArgs{
		Sums: sums, Gamma: gamma, Mean: r.mean, InvStd: r.invStd, Dgamma: r.grads[ofGamma], Dbeta: r.grads[ofBeta], K: coefficients,
		Boards: boards, Channels: channels, Padded: padded,
	}), BNInput(F32, input))
	return r
}

// gradient returns the device's gradient of a tensor.
func (r *blockRun) gradient(tensor int) []float32 {
	switch tensor {
	case ofZ:
		return r.rows(r.dz, r.p.boards*64)
	case ofX:
		return r.rows(r.dres, r.p.boards*64)
	}
	return download(r.t, r.s, F32, r.grads[tensor], len(r.p.tensors[tensor]))
}
