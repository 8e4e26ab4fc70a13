package train

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// materialUnit is the unit of an auxiliary head's material, in pawns.
const materialUnit = 5

// auxRowLoss holds the outputs z of an auxiliary head for row i of b against what term t
// learns, and adds scale times the gradient to dz. files is 7 where the net sees the
// board's files mirrored, else 0.
func auxRowLoss(dz, z []float32, t *device.Term, b *encoding.TrainBatch, i, files int, scale float32) (r kernel.RowLoss) {
	ahead := &b.Ahead[i]
	squares := func(x []float32, at int) []float32 { return x[at : at+encoding.NumSquares] }
	switch {
	case t.Head == device.Survival && ahead.Known:
		return survivalRowLoss(squares(dz, nn.AuxSurvive), squares(z, nn.AuxSurvive), b.Men(i), ahead.Survive, files, scale)
	case t.Head == device.Material && ahead.Known:
		r, g := kernel.HuberMovesLeft(z[nn.AuxMaterial], float32(ahead.Material)/materialUnit, 1, huberDelta, scale)
		dz[nn.AuxMaterial] += g
		return r
	case t.Head == device.Reply && ahead.From != ahead.To:
		from := choiceRowLoss(squares(dz, nn.AuxFrom), squares(z, nn.AuxFrom), int(ahead.From)^files, scale)
		to := choiceRowLoss(squares(dz, nn.AuxTo), squares(z, nn.AuxTo), int(ahead.To)^files, scale)
		return kernel.RowLoss{Loss: from + to, Known: true}
	case t.Head == device.ShortTerm:
		return shortTermRowLoss(dz, z, t.Learn(&b.Targets[i], nn.ValueScalar).Q, scale)
	}
	return r
}

// survivalRowLoss is the mean binary cross entropy of the men's logits.
func survivalRowLoss(dz, z []float32, men, survive uint64, files int, scale float32) (r kernel.RowLoss) {
	n := bits.OnesCount64(men)
	if n == 0 {
		return r
	}
	share := scale / float32(n)
	for ; men != 0; men &= men - 1 {
		sq := bits.TrailingZeros64(men)
		at, sign := sq^files, -1.0
		if survive>>sq&1 != 0 {
			sign = 1
		}
		loss, slope := softplus(-sign * float64(z[at]))
		r.Loss += loss / float64(n)
		dz[at] -= share * float32(sign*slope)
	}
	r.Known = true
	return r
}

// choiceRowLoss is the cross entropy of a softmax and the right one of its choices, which
// are nn.MaxCategories at most.
func choiceRowLoss(dz, z []float32, right int, scale float32) float64 {
	var room [nn.MaxCategories]float32
	p := room[:copy(room[:], z)]
	kernel.Softmax(p)
	for k, v := range p {
		dz[k] += scale * v
	}
	dz[right] -= scale
	return -math.Log(max(float64(p[right]), 1e-30))
}

// shortTermRowLoss is the square d of the value's error, and the square of the error of
// d's forecast. The forecast follows d, and d does not follow the forecast.
func shortTermRowLoss(dz, z []float32, q, scale float32) (r kernel.RowLoss) {
	if q != q {
		return r
	}
	v := math.Tanh(float64(z[nn.AuxValue]))
	d := v - float64(q)
	forecast, slope := softplus(float64(z[nn.AuxError]))
	off := forecast - d*d
	dz[nn.AuxValue] += scale * float32(2*d*(1-v*v))
	dz[nn.AuxError] += scale * float32(2*off*slope)
	return kernel.RowLoss{Loss: d*d + off*off, Known: true}
}

// softplus returns log(1+exp(x)), and its derivative.
func softplus(x float64) (y, slope float64) {
	e := math.Exp(-math.Abs(x))
	if y, slope = math.Log1p(e), e/(1+e); x > 0 {
		return y + x, 1 - slope
	}
	return y, slope
}

// softPolicy is the cross entropy of a policy's logits, which it leaves as a softmax, and
// target, which it leaves softened, both to the power of 1/temperature. Its gradient by
// the logits is (logits - target)/temperature as they are left.
func softPolicy(logits, target []float32, temperature float64) kernel.RowLoss {
	device.Soften(target, temperature)
	for j := range logits {
		logits[j] /= float32(temperature)
	}
	r := kernel.MovesCrossEntropy(logits, target)
	r.Hit = false
	return r
}

// plain says whether a policy's term is the cross entropy alone.
func (t *term) plain() bool { return t.Temperature == 0 && !t.Optimistic }

// optimism is the weight of row i in term t: 1 where that is not optimistic, NaN where
// the outcome is not known. Neither value nor error follows it.
func (h *head) optimism(t *term, i int) float64 {
	if !t.Optimistic {
		return 1
	}
	z, q := h.auxiliary(i), t.Learn(&h.e.batch.Targets[i], nn.ValueScalar).Q
	squareError, _ := softplus(float64(z[nn.AuxError]))
	return device.Optimism(float64(q), math.Tanh(float64(z[nn.AuxValue])), squareError, t.Strength)
}

// furtherPolicyTerms takes the terms of row i that are soft or optimistic, with its
// logits beside the legal moves, and calls add with the gradient of each.
func (h *head) furtherPolicyTerms(s span, i int, logits []float32, add func(grad []float32)) {
	for _, t := range h.terms {
		if t.plain() {
			continue
		}
		buffer := h.e.workerScratch(s, softBuffer, 2*len(logits))
		p, target := buffer[:len(logits)], buffer[len(logits):]
		copy(p, logits)
		copy(target, h.e.batch.PolicyOf(i))
		temperature, weight := cmp.Or(t.Temperature, 1), h.optimism(t, i)
		r := softPolicy(p, target, temperature)
		r.Loss, r.Known = weight*r.Loss, r.Known && weight == weight
		h.measured(t, s, i, r)
		if !r.Known {
			continue
		}
		scale := h.gradScale(t, i) * float32(weight/temperature)
		for j := range p {
			p[j] = scale * (p[j] - target[j])
		}
		add(p)
	}
}
