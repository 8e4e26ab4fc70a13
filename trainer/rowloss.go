package trainer

import (
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// rowLoss is the loss of one row and whether its target is known.
type rowLoss struct {
	value float64
	known bool
}

// policyRow is what one row says about the policy head.
type policyRow struct {
	rowLoss
	entropy       float64 // of the net's policy, nats
	targetEntropy float64 // of the target
	legalEntropy  float64 // log of the number of legal moves: a uniform net's loss
	hit           bool    // the net's likeliest move is a likeliest move of the target
}

// policyRowLoss holds row i of b against the policy outputs y of that row, which
// lie where off says. dy takes scale times the loss's gradient (0 where the
// target is not known: NaN, no mass, no legal move); prob, beside b.Legal, takes
// the net's policy. Only legal moves are ever looked at.
func policyRowLoss(dy, prob, y []float32, off *kernel.PolicyOffsets, b *encoding.TrainBatch, i int, scale float32) policyRow {
	s := kernel.PolicyCrossEntropy(dy, prob, y, len(y), off, b.LegalStart[i:i+2], b.Legal, b.Policy, nil, scale, 1)
	if s.Rows == 0 {
		return policyRow{}
	}
	target := b.PolicyOf(i)
	r := policyRow{
		rowLoss:      rowLoss{s.Loss, true},
		entropy:      s.Entropy,
		legalEntropy: math.Log(float64(len(target))),
		hit:          s.Correct > 0,
	}
	for _, t := range target {
		if t > 0 {
			r.targetEntropy -= float64(t) * math.Log(float64(t))
		}
	}
	return r
}

// wdlTarget returns the win, draw and loss probabilities of a target, cut to
// [0,1] and normalised; NaN where Q or D is not known.
func wdlTarget(t encoding.QDM) [3]float32 {
	w, d, l := t.WDL()
	wdl := [3]float32{max(w, 0), max(d, 0), max(l, 0)} // max keeps NaN
	sum := wdl[0] + wdl[1] + wdl[2]
	for i := range wdl {
		wdl[i] /= sum
	}
	return wdl
}

// wdlRowLoss is the cross entropy of softmax(z) over win, draw, loss against a
// target; scale times its gradient is added to dz. hit says whether the
// likeliest outcome agrees.
func wdlRowLoss(dz, z []float32, t encoding.QDM, scale float32) (r rowLoss, hit bool) {
	var grad [3]float32
	target := wdlTarget(t)
	s := kernel.WDLCrossEntropy(grad[:], z[:3], target[:], nil, scale, 1)
	for i, g := range grad {
		dz[i] += g
	}
	return rowLoss{s.Loss, s.Rows > 0}, s.Correct > 0
}

// scalarRowLoss is (tanh(z) - q)^2; scale times its gradient with respect to z
// is added to dz. hit says whether the value falls on the same side: win above
// 1/3, loss below -1/3, else draw.
func scalarRowLoss(dz, z []float32, t encoding.QDM, scale float32) (r rowLoss, hit bool) {
	var v, grad [1]float32
	kernel.Tanh(v[:], z[:1])
	s := kernel.ScalarMSE(grad[:], v[:], []float32{t.Q}, nil, scale, 1)
	kernel.TanhBackward(grad[:], grad[:], v[:])
	dz[0] += grad[0]
	return rowLoss{s.Loss, s.Rows > 0}, s.Rows > 0 && outcome(v[0]) == outcome(t.Q)
}

func outcome(q float32) int {
	switch {
	case q > 1.0/3:
		return 1
	case q < -1.0/3:
		return -1
	}
	return 0
}

// movesLeftRowLoss is the Huber loss of the net's moves left relu(z), in plies,
// against a target, both divided by 20, delta 0.5; scale times its gradient with
// respect to z is added to dz.
func movesLeftRowLoss(dz, z []float32, t encoding.QDM, scale float32) rowLoss {
	var m, grad [1]float32
	kernel.ReLUForward(m[:], z[:1])
	if z[0] != z[0] {
		m[0] = z[0] // ReLU turns NaN into 0 and would hide it
	}
	s := kernel.HuberMovesLeft(grad[:], m[:], []float32{t.M}, nil, movesLeftUnit, huberDelta, scale, 1)
	kernel.ReLUBackward(grad[:], grad[:], m[:])
	dz[0] += grad[0]
	return rowLoss{s.Loss, s.Rows > 0}
}

// tally sums a quantity over rows with weights. Tallies of slices are merged in
// slice order, so the sums do not depend on the worker count.
type tally struct {
	n                    int     // rows counted
	w, wx, w2, w2x, w2xx float64 // sums of w, w*x, w^2, w^2*x, w^2*x^2
}

func (t *tally) add(x, w float64) {
	t.n++
	t.w += w
	t.wx += w * x
	t.w2 += w * w
	t.w2x += w * w * x
	t.w2xx += w * w * x * x
}

func (t *tally) merge(o *tally) {
	t.n += o.n
	t.w += o.w
	t.wx += o.wx
	t.w2 += o.w2
	t.w2x += o.w2x
	t.w2xx += o.w2xx
}

// mean is the weighted mean, NaN where nothing was counted.
func (t *tally) mean() float64 { return t.wx / t.w }

// stdErr is the standard error of the weighted mean, the rows taken as
// independent: sqrt(sum w^2 (x-mean)^2) / sum w, widened by n/(n-1).
func (t *tally) stdErr() float64 {
	if t.n < 2 {
		return math.NaN()
	}
	mean := t.mean()
	sq := max(t.w2xx-2*mean*t.w2x+mean*mean*t.w2, 0)
	return math.Sqrt(sq*float64(t.n)/float64(t.n-1)) / t.w
}
