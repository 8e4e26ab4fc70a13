package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// lossTolerance is the relative error of the losses' fp32 sums: a few roundings of
// 2^-24 and two of expf's ulps.
const lossTolerance = 4e-6

// storedError bounds the rounding of x when it is stored as t; fp16 has nothing
// between the multiples of 2^-24.
func storedError(t Type, x float64) float64 {
	return map[Type]float64{F32: 0x1p-24, BF16: 0x1p-8, FP16: 0x1p-11}[t]*math.Abs(x) + 0x1p-25
}

// lossOutcome is what a loss says of one row, in float64: grad is beside the outputs.
type lossOutcome struct {
	loss, hit, entropy float64
	margin             float64 // the hit hangs on a difference of so much; 0 = on a tie
	grad               []float64
}

// crossEntropyOf is -sum t log softmax(z), unknown as policy_loss says it.
func crossEntropyOf(z, t []float64) lossOutcome {
	o := lossOutcome{loss: math.NaN(), entropy: math.NaN(), grad: make([]float64, len(z))}
	total := 0.0
	for _, v := range t {
		total += v
	}
	if !(total > 0) {
		return o
	}
	top, most, sum := 0, 0, 0.0
	for j := range z {
		if z[j] > z[top] {
			top = j
		}
		if t[j] > t[most] {
			most = j
		}
	}
	o.margin = min(nearestGap(z, top), nearestGap(t, most))
	for _, v := range z {
		sum += math.Exp(v - z[top])
	}
	o.loss, o.entropy, o.hit = 0, 0, oneWhere(top == most)
	for j := range z {
		logP := z[j] - z[top] - math.Log(sum)
		p := math.Exp(logP)
		if t[j] != 0 {
			o.loss -= t[j] * logP
		}
		if p != 0 {
			o.entropy -= p * logP
		}
		o.grad[j] = p*total - t[j]
	}
	o.loss = knownLoss(o.loss)
	return o
}

// nearestGap is the distance from the value at i to the nearest other one.
func nearestGap(x []float64, i int) float64 {
	d := math.Inf(1)
	for j, v := range x {
		if j != i {
			d = min(d, math.Abs(v-x[i]))
		}
	}
	return d
}

func knownLoss(x float64) float64 {
	if x != x {
		return math.Inf(1)
	}
	return x
}

func oneWhere(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func within(got, want, tolerance float64) bool {
	return got == want || got != got && want != want || math.Abs(got-want) <= tolerance
}

// identical compares bit for bit, so that NaN equals itself.
func identical(x, y []float32) bool {
	return slices.EqualFunc(x, y, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })
}

func float64s(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// policyCase is a batch for the policy's loss. Logits of moves that are not legal are NaN.
type policyCase struct {
	place          *kernel.PolicyOffsets
	rows, width    int
	start          []int32
	legal          []uint16
	target, weight []float32
	logits         []float32
}

// Rows of newPolicyCase that are out of the ordinary.
const (
	rowTies    = 7
	rowTie2    = 8
	rowNaNMove = 9
)

// newPolicyCase has every kind of row: without moves, with an unknown target, with
// more moves than a warp has lanes, and those named above.
func newPolicyCase(r *rand.Rand, place *kernel.PolicyOffsets, width int) *policyCase {
	counts := []int{30, 0, 25, 12, 218, 1, 33, 64, 50, 7, 40, 32, 29}
	c := &policyCase{place: place, rows: len(counts), width: width, start: []int32{0}}
	c.logits = make([]float32, c.rows*width)
	for i := range c.logits {
		c.logits[i] = float32(math.NaN())
	}
	for row, n := range counts {
		z, t := make([]float32, n), make([]float32, n)
		sum := float32(0)
		for j := range z {
			z[j], t[j] = 3*float32(r.NormFloat64()), max(0, r.Float32()-0.4)
			if j == 0 {
				t[j] = 0.1 // a known target has some mass
			}
			sum += t[j]
		}
		for j := range t {
			t[j] /= sum
		}
		switch row {
		case 2:
			t[n-1] = float32(math.NaN())
		case 3:
			clear(t)
		case 5:
			t[0] = 1
		case 6:
			for j := range t {
				t[j] /= 2
			}
		case rowTies: // the first of equal ones counts, whichever lane has it
			z[3], z[40], t[3], t[40] = 20, 20, 2, 2
		case rowTie2:
			z[3], z[40], t[40] = 20, 20, 2
		case rowNaNMove:
			z[5], t[5] = float32(math.NaN()), 0.25
		case 10:
			z[0], t[0], z[1], z[2], t[2] = -1e4, 0, 500, float32(math.Inf(-1)), 0 // harmless
		}
		for j, v := range r.Perm(encoding.NumPolicy)[:n] {
			c.legal = append(c.legal, uint16(v))
			c.logits[row*width+int(place[v])] = z[j]
		}
		c.target = append(c.target, t...)
		c.start = append(c.start, int32(len(c.legal)))
		c.weight = append(c.weight, 0.5+r.Float32())
	}
	return c
}

// lossOutcome is the reference of one row; at says where its gradient lies.
func (c *policyCase) outcome(row int) (o lossOutcome, at []int) {
	lo, hi := c.start[row], c.start[row+1]
	z := make([]float64, hi-lo)
	for j, v := range c.legal[lo:hi] {
		at = append(at, int(c.place[v]))
		z[j] = float64(c.logits[row*c.width+at[j]])
	}
	if lo == hi {
		return crossEntropyOf(nil, nil), nil
	}
	return crossEntropyOf(z, float64s(c.target[lo:hi])), at
}

func testPlaces() map[string]struct {
	place *kernel.PolicyOffsets
	width int
} {
	return map[string]struct {
		place *kernel.PolicyOffsets
		width int
	}{
		"convolutional": {kernel.NewConvPolicyOffsets(encoding.ConvPolicyIndex()), 64 * encoding.NumConvPlanes},
		"classical":     {kernel.NewFlatPolicyOffsets(), Pad(encoding.NumPolicy)},
	}
}

func TestPolicyLoss(t *testing.T) {
	r := fresh(t)
	d, k, s := open(t)
	for name, head := range testPlaces() {
		for _, typ := range []Type{F32, BF16, FP16} {
			t.Run(name+"/"+typ.String(), func(t *testing.T) {
				c := newPolicyCase(r, head.place, head.width)
				const scale = 32
				a := PolicyLossArgs{Rows: int32(c.rows), Width: int32(c.width), Scale: scale}
				a.Logits, a.Place = uploadOf(t, d, s, c.logits), uploadOf(t, d, s, c.place[:])
				a.Start, a.Legal = uploadOf(t, d, s, c.start), uploadOf(t, d, s, c.legal)
				a.Target, a.Weight = uploadOf(t, d, s, c.target), uploadOf(t, d, s, c.weight)
				a.Loss, a.Entropy = alloc(t, d, c.rows*2*4), alloc(t, d, c.rows*4)
				a.Dlogits = alloc(t, d, c.rows*c.width*typ.Size())
				run(t, k, s, PolicyLoss(typ, a))
				loss, entropy := downloadOf[float32](t, s, a.Loss, c.rows*2), downloadOf[float32](t, s, a.Entropy, c.rows)
				grad := download(t, s, typ, a.Dlogits, c.rows*c.width)
				for row := range c.rows {
					o, at := c.outcome(row)
					checkRow(t, row, loss[2*row:], o)
					if tol := lossTolerance * (1 + math.Abs(o.entropy)); !within(float64(entropy[row]), o.entropy, tol) {
						t.Errorf("row %d: entropy %v, want %v", row, entropy[row], o.entropy)
					}
					want := make([]float64, c.width)
					for j, g := range o.grad {
						want[at[j]] = scale * float64(c.weight[row]) * g
					}
					checkGradient(t, typ, row, grad[row*c.width:][:c.width], want, scale)
				}
				if loss[2*rowTies+1] != 1 || loss[2*rowTie2+1] != 0 || !math.IsInf(float64(loss[2*rowNaNMove]), 1) {
					t.Errorf("ties %v and %v, NaN logit %v; want hits 1 and 0, loss +Inf", loss[2*rowTies:][:2], loss[2*rowTie2:][:2], loss[2*rowNaNMove])
				}
				a.Dlogits, a.Loss = 0, alloc(t, d, c.rows*2*4) // without gradients, as an evaluation
				run(t, k, s, PolicyLoss(typ, a))
				if again := downloadOf[float32](t, s, a.Loss, c.rows*2); !identical(again, loss) {
					t.Errorf("losses without gradients are others: %v, with: %v", again, loss)
				}
			})
		}
	}
}

// TestPolicyLossAsOnCPU holds the reference of TestPolicyLoss against nn/kernel.
func TestPolicyLossAsOnCPU(t *testing.T) {
	r := fresh(t)
	for name, head := range testPlaces() {
		c := newPolicyCase(r, head.place, head.width)
		for row := range c.rows {
			if row == rowNaNMove {
				continue // there the loss is NaN, here +Inf
			}
			o, at := c.outcome(row)
			lo, hi := c.start[row], c.start[row+1]
			dy, prob := make([]float32, c.width), make([]float32, hi-lo)
			s := kernel.PolicyCrossEntropy(dy, prob, c.logits[row*c.width:][:c.width], c.place, c.legal[lo:hi], c.target[lo:hi], 1)
			if s.Known == (o.loss != o.loss) || s.Known && (!within(s.Loss, o.loss, 1e-6) || !within(s.Entropy, o.entropy, 1e-6) || s.Hit != (o.hit == 1)) {
				t.Errorf("%s row %d: %+v, want loss %v, entropy %v, hit %v", name, row, s, o.loss, o.entropy, o.hit)
			}
			for j, g := range o.grad {
				if !within(float64(dy[at[j]]), g, 1e-6) {
					t.Errorf("%s row %d, move %d: gradient %v, want %v", name, row, j, dy[at[j]], g)
				}
			}
		}
	}
}

// checkRow holds a loss and its hit against the reference.
func checkRow(t *testing.T, row int, got []float32, want lossOutcome) {
	t.Helper()
	if tol := lossTolerance * (1 + math.Abs(want.loss)); !within(float64(got[0]), want.loss, tol) {
		t.Errorf("row %d: loss %v, want %v", row, got[0], want.loss)
	}
	if want.margin > 1e-5 && float64(got[1]) != want.hit {
		t.Errorf("row %d: hit %v, want %v", row, got[1], want.hit)
	}
}

// checkGradient holds a row of stored gradients against the reference; what is 0
// there must be 0.
func checkGradient(t *testing.T, typ Type, row int, got []float32, want []float64, scale float64) {
	t.Helper()
	for i, w := range want {
		tol := 0.0
		if w != 0 {
			tol = storedError(typ, w) + 2*lossTolerance*scale
		}
		if !within(float64(got[i]), w, tol) {
			t.Errorf("row %d: gradient of output %d is %v, want %v within %v", row, i, got[i], w, tol)
			return
		}
	}
}

// scalarTerms are blends of all kinds: both targets, the first alone, the other alone.
var scalarTerms = []ScalarTerm{
	{Learns: Target{0, 1, 0.3}, Scale: 32},
	{Learns: Target{2, 3, 0}, Scale: 16},
	{Learns: Target{4, 5, 1}, Scale: 8},
}

// scalarOutcome is the reference of one row and term.
func scalarOutcome(head int, z []float64, term ScalarTerm, targets []encoding.QDM) lossOutcome {
	a, b, r := targets[term.Learns.Target], targets[term.Learns.Other], float64(term.Learns.Ratio)
	knows := func(v encoding.QDM) bool { // all that the head's formula reads
		return [...]bool{LossWDL: v.Q == v.Q && v.D == v.D, LossValue: v.Q == v.Q, LossMovesLeft: v.M == v.M}[head]
	}
	switch { // a blend of a known and an unknown part is the known one
	case r == 0 || r == 1:
	case !knows(b):
		r = 0
	case !knows(a):
		r = 1
	}
	mix := func(x, y float32) float64 {
		switch r {
		case 0:
			return float64(x)
		case 1:
			return float64(y)
		}
		return r*float64(y) + (1-r)*float64(x)
	}
	q, d, m := mix(a.Q, b.Q), mix(a.D, b.D), mix(a.M, b.M)
	none := lossOutcome{loss: math.NaN(), grad: make([]float64, len(z))}
	switch head {
	case LossWDL:
		t := []float64{max(0, (1-d+q)/2), max(0, d), max(0, (1-d-q)/2)}
		sum := t[0] + t[1] + t[2]
		for i := range t {
			t[i] /= sum
		}
		return crossEntropyOf(z, t)
	case LossValue:
		if q != q {
			return none
		}
		v := math.Tanh(z[0])
		side := func(x float64) int { return int(oneWhere(x > 1./3) - oneWhere(x < -1./3)) }
		margin := min(math.Abs(math.Abs(v)-1./3), math.Abs(math.Abs(q)-1./3))
		return lossOutcome{loss: knownLoss((v - q) * (v - q)), hit: oneWhere(side(v) == side(q)), margin: margin, grad: []float64{2 * (v - q) * (1 - v*v)}}
	}
	if m != m {
		return none
	}
	x := (max(z[0], 0) - m) / 20
	loss, grad := x*x/2, x/20
	if math.Abs(x) > 0.5 {
		loss, grad = 0.5*(math.Abs(x)-0.25), math.Copysign(0.5, x)/20
	}
	if !(z[0] > 0) {
		grad = 0
	}
	return lossOutcome{loss: knownLoss(loss), margin: 1, grad: []float64{grad}}
}

// newTargets returns estimates of which some are unknown and some impossible.
func newTargets(r *rand.Rand, rows int) [][encoding.NumTargets]encoding.QDM {
	targets := make([][encoding.NumTargets]encoding.QDM, rows)
	for i := range targets {
		for j := range targets[i] {
			q := encoding.QDM{Q: 2*r.Float32() - 1, D: r.Float32(), M: 150 * r.Float32()}
			for _, f := range []*float32{&q.Q, &q.D, &q.M} {
				if r.IntN(8) == 0 {
					*f = float32(math.NaN())
				}
			}
			if i == 5 {
				q = encoding.QDM{Q: 0.9, D: 1.25, M: 0}
			}
			targets[i][j] = q
		}
	}
	return targets
}

func TestScalarLoss(t *testing.T) {
	r := fresh(t)
	d, k, s := open(t)
	const rows, width = 131, 16
	for head, name := range []string{"wdl", "value", "movesleft"} {
		outputs := []int{3, 1, 1}[head]
		for _, typ := range []Type{F32, BF16, FP16} {
			t.Run(name+"/"+typ.String(), func(t *testing.T) {
				targets, logits, weight := newTargets(r, rows), make([]float32, rows*width), make([]float32, rows)
				spread := []float64{2, 1, 80}[head]
				for i := range logits {
					logits[i] = float32(spread * r.NormFloat64())
				}
				for i := range weight {
					weight[i] = 0.5 + r.Float32()
				}
				logits[7*width], logits[8*width], targets[7] = float32(math.NaN()), 0, targets[5]
				a := ScalarLossArgs{Rows: rows, Width: width, Terms: int32(len(scalarTerms)), Head: int32(head)}
				copy(a.Term[:], scalarTerms)
				a.Logits, a.Targets, a.Weight = uploadOf(t, d, s, logits), uploadOf(t, d, s, targets), uploadOf(t, d, s, weight)
				a.Dlogits = alloc(t, d, rows*width*typ.Size())
				losses := alloc(t, d, len(scalarTerms)*rows*2*4)
				for i := range scalarTerms {
					a.Term[i].Loss = losses.Offset(i * rows * 2 * 4)
				}
				run(t, k, s, ScalarLoss(typ, a))
				loss := downloadOf[float32](t, s, losses, len(scalarTerms)*rows*2)
				grad := download(t, s, typ, a.Dlogits, rows*width)
				for row := range rows {
					want := make([]float64, width)
					for i, term := range scalarTerms {
						o := scalarOutcome(head, float64s(logits[row*width:][:outputs]), term, targets[row][:])
						checkRow(t, row, loss[2*(i*rows+row):], o)
						for j, g := range o.grad {
							want[j] += float64(term.Scale) * float64(weight[row]) * g
						}
					}
					checkGradient(t, typ, row, grad[row*width:][:width], want, 56)
				}
				if x := float64(loss[2*7]); !math.IsInf(x, 1) {
					t.Errorf("loss of a NaN output is %v, want +Inf", x)
				}
			})
		}
	}
}

// TestScalarLossAsOnCPU holds the reference of TestScalarLoss against nn/kernel's
// losses, put together as the trainer does.
func TestScalarLossAsOnCPU(t *testing.T) {
	r := fresh(t)
	for i, targets := range newTargets(r, 200) {
		z := []float32{float32(r.NormFloat64()), float32(r.NormFloat64()), float32(r.NormFloat64())}
		term := ScalarTerm{}
		w, draw, l := targets[0].WDL()
		wdl, sum := []float32{max(w, 0), max(draw, 0), max(l, 0)}, float32(0)
		for _, x := range wdl {
			sum += x
		}
		for j := range wdl {
			wdl[j] /= sum
		}
		s, grad := kernel.WDLCrossEntropy([3]float32(z), [3]float32(wdl), 1)
		compareCPU(t, i, "wdl", s, grad[:], scalarOutcome(LossWDL, float64s(z), term, targets[:]))
		v := make([]float32, 1)
		kernel.Tanh(v, z[:1])
		s, grad[0] = kernel.ScalarMSE(v[0], targets[0].Q, 1)
		kernel.TanhBackward(grad[:1], grad[:1], v)
		compareCPU(t, i, "value", s, grad[:1], scalarOutcome(LossValue, float64s(z[:1]), term, targets[:]))
		z[0] *= 80
		kernel.ReLUForward(v, z[:1])
		s, grad[0] = kernel.HuberMovesLeft(v[0], targets[0].M, 20, 0.5, 1)
		kernel.ReLUBackward(grad[:1], grad[:1], v)
		compareCPU(t, i, "moves left", s, grad[:1], scalarOutcome(LossMovesLeft, float64s(z[:1]), term, targets[:]))
	}
}

func compareCPU(t *testing.T, row int, what string, s kernel.RowLoss, grad []float32, o lossOutcome) {
	t.Helper()
	if s.Known == (o.loss != o.loss) || s.Known && !within(s.Loss, o.loss, 1e-5) {
		t.Errorf("%s row %d: %+v, want loss %v", what, row, s, o.loss)
	}
	for j, g := range o.grad {
		if !within(float64(grad[j]), g, 1e-5) {
			t.Errorf("%s row %d: gradient %v, want %v", what, row, grad, o.grad)
		}
	}
}
