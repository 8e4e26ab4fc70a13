package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// policyCase is a random head output with legal moves, some rows odd: row 1 has
// no legal move, row 2 no target.
type policyCase struct {
	boards, rowLen int
	off            *PolicyOffsets
	start          []int32
	legal          []uint16
	y, target      []float32
	weight         []float32
}

func newPolicyCase(rng testRand) *policyCase {
	c := &policyCase{boards: 5, rowLen: 64 * ConvPolicyPlanes, start: []int32{3}}
	var conv [encoding.NumPolicy]uint16
	for i, p := range rng.Perm(64 * 73)[:len(conv)] {
		conv[i] = uint16(p)
	}
	c.off = NewConvPolicyOffsets(&conv)
	for i, p := range conv { // plane*64+from -> from*80+plane
		if want := p%64*80 + p/64; c.off[i] != want {
			panic("offset")
		}
	}
	c.legal, c.target = make([]uint16, 3), make([]float32, 3)
	for i, n := range []int{30, 0, 5, 1, 218} {
		sum := float32(0)
		from := len(c.legal)
		for _, p := range rng.Perm(encoding.NumPolicy)[:n] {
			v := float32(rng.ExpFloat64())
			if i == 2 || rng.IntN(3) == 0 && n > 1 {
				v = 0
			}
			c.legal, c.target = append(c.legal, uint16(p)), append(c.target, v)
			sum += v
		}
		for j := from; j < len(c.target) && sum > 0; j++ {
			c.target[j] /= sum
		}
		c.start = append(c.start, int32(len(c.legal)))
	}
	c.y = rng.floats(c.boards * c.rowLen)
	c.weight = []float32{1, 2, 3, 0.5, 1.5}
	return c
}

// loss is the weighted cross entropy in float64.
func (c *policyCase) loss(y []float64) float64 {
	total := 0.0
	for i := range c.boards {
		sum := 0.0
		for j := c.start[i]; j < c.start[i+1]; j++ {
			sum += math.Exp(y[i*c.rowLen+int(c.off[c.legal[j]])])
		}
		for j := c.start[i]; j < c.start[i+1]; j++ {
			lp := y[i*c.rowLen+int(c.off[c.legal[j]])] - math.Log(sum)
			total -= float64(c.weight[i]) * float64(c.target[j]) * lp
		}
	}
	return total
}

func TestPolicySoftmax(t *testing.T) {
	c := newPolicyCase(newRand(t))
	prior := poison(len(c.legal))
	gatherPolicy(prior, c.y, c.rowLen, c.off, c.start, c.legal, c.boards)
	SoftmaxSegments(prior, c.start, c.boards)
	for i := range c.boards {
		sum, want := 0.0, 0.0
		for j := c.start[i]; j < c.start[i+1]; j++ {
			want += math.Exp(float64(c.y[i*c.rowLen+int(c.off[c.legal[j]])]))
		}
		for j := c.start[i]; j < c.start[i+1]; j++ {
			p := math.Exp(float64(c.y[i*c.rowLen+int(c.off[c.legal[j]])])) / want
			if math.Abs(float64(prior[j])-p) > 1e-6 {
				t.Fatalf("prior[%d] = %g, want %g", j, prior[j], p)
			}
			sum += float64(prior[j])
		}
		if c.start[i] < c.start[i+1] && math.Abs(sum-1) > 1e-5 {
			t.Errorf("position %d: priors sum to %g", i, sum)
		}
	}
	if prior[0] == prior[0] {
		t.Error("wrote before the first position's segment")
	}
	flat := NewFlatPolicyOffsets()
	logits := make([]float32, 2)
	gatherPolicy(logits, []float32{10, 11, 12, 13}, 4, flat, []int32{0, 2}, []uint16{3, 1}, 1)
	if !slices.Equal(logits, []float32{13, 11}) {
		t.Errorf("flat head: %v", logits)
	}
}

// The difference d of a logit and the maximum is rounded once, which makes an
// error of |d|*2^-24 in exp(d); exp, division and product make less than 6*2^-24,
// and a lane adds n/8 numbers at most, with half of 2^-23 of the sum each.
func TestSoftmax(t *testing.T) {
	rng := newRand(t)
	for _, n := range []int{1, 2, 3, 4, 5, 15, 16, 17, 35, 64, 218, 1858, 40000} {
		for _, scale := range []float32{0.01, 1, 30, 1e30} {
			x := rng.floats(n)
			top := math.Inf(-1)
			for i := range x {
				x[i] *= scale
				top = max(top, float64(x[i]))
			}
			x[n/2] = float32(top)
			sum := 0.0
			for _, v := range x {
				sum += math.Exp(float64(v) - top)
			}
			forTiers(t, func(t *testing.T) {
				p := poison(n + 1)
				copy(p, x)
				softmax(p[:n])
				if v := p[n]; v == v {
					t.Fatal("wrote past the end")
				}
				for i, v := range x {
					d := float64(v) - top
					want := math.Exp(d) / sum
					limit := (6-d+float64(n)/8)*0x1p-24*want + smallestNormal
					if e := math.Abs(float64(p[i]) - want); !(e <= limit) {
						t.Fatalf("softmax of %d: p[%d] = %g, want %g: off by %g, limit %g", n, i, p[i], want, e, limit)
					}
				}
			})
		}
	}
}

// NaN and +Inf anywhere make all probabilities NaN; -Inf is a probability of 0.
func TestSoftmaxOddLogits(t *testing.T) {
	rng := newRand(t)
	for _, n := range []int{3, 20, 35} {
		for i := range n {
			forTiers(t, func(t *testing.T) {
				for _, odd := range []float64{math.NaN(), math.Inf(1)} {
					p := rng.floats(n)
					p[i] = float32(odd)
					softmax(p)
					for j, v := range p {
						if v == v {
							t.Fatalf("%g at %d of %d: p[%d] = %g, want NaN", odd, i, n, j, v)
						}
					}
				}
				p := rng.floats(n)
				p[i] = float32(math.Inf(-1))
				softmax(p)
				if sum := sum64(p); p[i] != 0 || math.Abs(sum-1) > 1e-6 {
					t.Fatalf("-Inf at %d of %d: %g, sum %g", i, n, p[i], sum)
				}
			})
		}
	}
}

func TestPolicyCrossEntropy(t *testing.T) {
	rng := newRand(t)
	c := newPolicyCase(rng)
	const scale = 0.25
	dy, prob := poison(len(c.y)), poison(len(c.legal))
	s := PolicyCrossEntropy(dy, prob, c.y, c.rowLen, c.off, c.start, c.legal, c.target, c.weight, scale, c.boards)
	y64 := widen(c.y)
	if want := c.loss(y64); math.Abs(s.Loss-want) > 1e-5*want {
		t.Errorf("loss %g, want %g", s.Loss, want)
	}
	if s.Rows != 3 || s.Weight != 3 { // rows 0, 3, 4
		t.Errorf("rows %d weight %g, want 3 and 3", s.Rows, s.Weight)
	}
	if !(s.Entropy > 0) || s.Correct < 0.5 { // row 3 has one move
		t.Errorf("entropy %g, correct %g", s.Entropy, s.Correct)
	}
	check := func(i int) {
		const h = 1e-4
		old := y64[i]
		y64[i] = old + h
		up := c.loss(y64)
		y64[i] = old - h
		want := scale * (up - c.loss(y64)) / (2 * h)
		y64[i] = old
		closeTo(t, "dy", dy[i:i+1], []float64{want}, nil, 1e-5)
	}
	for i := range c.boards {
		for j := c.start[i]; j < c.start[i+1]; j += 9 {
			check(i*c.rowLen + int(c.off[c.legal[j]]))
		}
		check(i*c.rowLen + rng.IntN(c.rowLen))
	}
	again := PolicyCrossEntropy(nil, prob, c.y, c.rowLen, c.off, c.start, c.legal, c.target, c.weight, scale, c.boards)
	if again != s {
		t.Errorf("without gradient %+v, with %+v", again, s)
	}
}

// Logits of +-1e30 underflow to p = 0: the loss stays finite where the target is
// 0 there, and a NaN logit shows.
func TestPolicyCrossEntropyExtremes(t *testing.T) {
	off, start, legal := NewFlatPolicyOffsets(), []int32{0, 3}, []uint16{0, 1, 2}
	dy, prob := poison(3), poison(3)
	run := func(y, target []float32) LossSums {
		return PolicyCrossEntropy(dy, prob, y, 3, off, start, legal, target, nil, 1, 1)
	}
	if s := run([]float32{1e30, -1e30, 0}, []float32{1, 0, 0}); s.Loss != 0 || s.Entropy != 0 {
		t.Errorf("certain and right: %+v", s)
	}
	if !slices.Equal(dy, []float32{0, 0, 0}) {
		t.Errorf("gradient %v, want zeros", dy)
	}
	if s := run([]float32{float32(math.NaN()), 0, 0}, []float32{1, 0, 0}); s.Loss == s.Loss {
		t.Errorf("NaN logit: loss %g, want NaN", s.Loss)
	}
	if s := run([]float32{0, 0, 0}, []float32{float32(math.NaN()), 0, 0}); s.Rows != 0 || dy[0] != 0 {
		t.Errorf("NaN target: %+v, gradient %v", s, dy)
	}
}

func TestWDLCrossEntropy(t *testing.T) {
	nan := float32(math.NaN())
	rng := newRand(t)
	logits := rng.floats(9)
	target := []float32{0.2, 0.5, 0.3, nan, nan, nan, 1, 0, 0}
	weight := []float32{2, 1, 0.5}
	loss := func(x []float64) float64 {
		total := 0.0
		for _, i := range []int{0, 2} {
			z := math.Exp(x[i*3]) + math.Exp(x[i*3+1]) + math.Exp(x[i*3+2])
			for j := range 3 {
				total -= float64(weight[i]) * float64(target[i*3+j]) * (x[i*3+j] - math.Log(z))
			}
		}
		return total
	}
	d := poison(9)
	s := WDLCrossEntropy(d, logits, target, weight, 0.1, 3)
	x := widen(logits)
	if math.Abs(s.Loss-loss(x)) > 1e-6 || s.Rows != 2 || s.Weight != 2.5 {
		t.Errorf("%+v, want loss %g of 2 rows", s, loss(x))
	}
	for i := range d {
		const h = 1e-5
		up, down := slices.Clone(x), slices.Clone(x)
		up[i] += h
		down[i] -= h
		want := 0.0
		if i/3 != 1 {
			want = 0.1 * (loss(up) - loss(down)) / (2 * h)
		}
		closeTo(t, "dlogits", d[i:i+1], []float64{want}, nil, 1e-6)
	}
	p := slices.Clone(logits)
	Softmax3(p, 3)
	for i := range 3 {
		if sum := p[i*3] + p[i*3+1] + p[i*3+2]; math.Abs(float64(sum)-1) > 1e-6 {
			t.Errorf("row %d sums to %g", i, sum)
		}
	}
}

func TestScalarLosses(t *testing.T) {
	nan := float32(math.NaN())
	d := poison(3)
	s := ScalarMSE(d, []float32{0.5, 1, -1}, []float32{0, nan, 1}, []float32{1, 1, 2}, 0.5, 3)
	if s.Loss != 0.25+2*4 || s.Rows != 2 || s.Weight != 3 || !slices.Equal(d, []float32{0.5, 0, -4}) {
		t.Errorf("MSE %+v, gradient %v", s, d)
	}
	// unit 20, delta 0.5: |d| = 5/20 is quadratic, 40/20 linear.
	d = poison(4)
	s = HuberMovesLeft(d, []float32{25, 60, 9, 0}, []float32{20, 20, nan, 40}, nil, 20, 0.5, 1, 4)
	if want := 0.25*0.25/2 + 2*0.5*(2-0.25); math.Abs(s.Loss-want) > 1e-12 || s.Rows != 3 {
		t.Errorf("Huber %+v, want loss %g", s, want)
	}
	closeTo(t, "dm", d, []float64{0.25 / 20, 0.5 / 20, 0, -0.5 / 20}, nil, 1e-7)
}
