package kernel

import (
	"fmt"
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
}

func newPolicyCase(rng testRand) *policyCase {
	c := &policyCase{boards: 5, rowLen: 64 * encoding.NumConvPlanes, start: []int32{3}}
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
	return c
}

// loss is the cross entropy of all rows in float64.
func (c *policyCase) loss(y []float64) float64 {
	total := 0.0
	for i := range c.boards {
		sum := 0.0
		for j := c.start[i]; j < c.start[i+1]; j++ {
			sum += math.Exp(y[i*c.rowLen+int(c.off[c.legal[j]])])
		}
		for j := c.start[i]; j < c.start[i+1]; j++ {
			lp := y[i*c.rowLen+int(c.off[c.legal[j]])] - math.Log(sum)
			total -= float64(c.target[j]) * lp
		}
	}
	return total
}

func TestPolicySoftmax(t *testing.T) {
	c := newPolicyCase(newRand(t))
	prior := poison(len(c.legal))
	for j := c.start[0]; j < int32(len(prior)); j++ {
		prior[j] = c.y[j]
	}
	for i := range c.boards {
		Softmax(prior[c.start[i]:c.start[i+1]])
	}
	for i := range c.boards {
		sum, want := 0.0, 0.0
		for j := c.start[i]; j < c.start[i+1]; j++ {
			want += math.Exp(float64(c.y[j]))
		}
		for j := c.start[i]; j < c.start[i+1]; j++ {
			p := math.Exp(float64(c.y[j])) / want
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
				Softmax(p[:n])
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

// SoftmaxRows has the bits of Softmax, also beyond one call of the assembly.
func TestSoftmaxRows(t *testing.T) {
	rng := newRand(t)
	for _, s := range [][2]int{{0, 5}, {3, 0}, {3, 1}, {5, 3}, {7, 16}, {9, 20}, {67, 64}, {2, 40000}, {1100, 64}, {3, 32 << 10}} {
		rows, n := s[0], s[1]
		x := rng.floats(rows * n)
		forTiers(t, func(t *testing.T) {
			p, want := append(clone(x), 7), clone(x)
			for r := range rows {
				Softmax(want[r*n:][:n])
			}
			SoftmaxRows(p[:rows*n], rows, n)
			sameBits(t, fmt.Sprint(s), p[:rows*n], want)
			if p[rows*n] != 7 {
				t.Fatal("wrote past the end")
			}
		})
	}
}

// Rows of SoftmaxRowsBackward against float64 over probabilities, over dp and alone too. The
// sum has an error of at most n/16 * 2^-24 of its magnitudes in lanes of 16.
func TestSoftmaxRowsBackward(t *testing.T) {
	rng := newRand(t)
	for _, s := range [][2]int{{0, 5}, {3, 0}, {3, 1}, {5, 3}, {7, 16}, {9, 20}, {67, 64}, {5, 80}, {1100, 64}, {3, 32 << 10}} {
		rows, n := s[0], s[1]
		p, dp, want, mag := rng.floats(rows*n), rng.floats(rows*n), make([]float64, rows*n), make([]float64, rows*n)
		SoftmaxRows(p, rows, n)
		Scale(dp, float32(n)) // so that results are about 1
		for r := range rows {
			sum, size := 0.0, 0.0
			for i := r * n; i < (r+1)*n; i++ {
				term := float64(p[i]) * float64(dp[i])
				sum += term
				size += math.Abs(term)
			}
			for i := r * n; i < (r+1)*n; i++ {
				want[i] = float64(p[i]) * (float64(dp[i]) - sum)
				mag[i] = float64(p[i]) * (math.Abs(float64(dp[i])) + size)
			}
		}
		forTiers(t, func(t *testing.T) {
			dz := poison(rows*n + 1)
			SoftmaxRowsBackward(dz[:rows*n], dp, p, rows, n)
			closeTo(t, fmt.Sprint(s), dz[:rows*n], want, mag, 1e-6)
			if v := dz[rows*n]; v == v {
				t.Fatal("wrote past the end")
			}
			inPlace, alone := clone(dp), poison(rows*n)
			SoftmaxRowsBackward(inPlace, inPlace, p, rows, n)
			sameBits(t, "over dp", inPlace, dz)
			for r := range rows {
				SoftmaxRowsBackward(alone[r*n:], dp[r*n:], p[r*n:], 1, n)
			}
			sameBits(t, "row by row", alone, dz)
		})
	}
}

// The sum of dp*softmax(z) has the gradient, by central differences in float64, that
// SoftmaxRowsBackward returns: a tolerance of 1e-6 for float32.
func TestSoftmaxRowsBackwardDifferences(t *testing.T) {
	const h = 1e-4
	rng := newRand(t)
	for _, n := range []int{5, 16, 64} {
		z, dp := rng.floats(n), rng.floats(n)
		p, at, want := clone(z), widened(z), make([]float64, n)
		Softmax(p)
		objective := func() float64 {
			sum, weight := 0.0, 0.0
			for i, v := range at {
				sum += float64(dp[i]) * math.Exp(v)
				weight += math.Exp(v)
			}
			return sum / weight
		}
		for i := range at {
			for _, step := range []float64{h, -h} {
				at[i] = float64(z[i]) + step
				want[i] += objective() / (2 * step)
			}
			at[i] = float64(z[i])
		}
		forTiers(t, func(t *testing.T) {
			dz := poison(n)
			SoftmaxRowsBackward(dz, dp, p, 1, n)
			closeTo(t, "dz", dz, want, nil, 1e-6)
		})
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
					Softmax(p)
					for j, v := range p {
						if v == v {
							t.Fatalf("%g at %d of %d: p[%d] = %g, want NaN", odd, i, n, j, v)
						}
					}
				}
				p := rng.floats(n)
				p[i] = float32(math.Inf(-1))
				Softmax(p)
				if sum := sum64(p); p[i] != 0 || math.Abs(sum-1) > 1e-6 {
					t.Fatalf("-Inf at %d of %d: %g, sum %g", i, n, p[i], sum)
				}
			})
		}
	}
}

// run returns the losses of all rows and their sum; dy may be nil.
func (c *policyCase) run(dy, prob []float32, scale float32) (rows []RowLoss, loss float64) {
	for i := range c.boards {
		lo, hi := c.start[i], c.start[i+1]
		var d []float32
		if dy != nil {
			d = dy[i*c.rowLen:][:c.rowLen]
		}
		r := PolicyCrossEntropy(d, prob[lo:hi], c.y[i*c.rowLen:][:c.rowLen], c.off, c.legal[lo:hi], c.target[lo:hi], scale)
		rows, loss = append(rows, r), loss+r.Loss
	}
	return rows, loss
}

func TestPolicyCrossEntropy(t *testing.T) {
	rng := newRand(t)
	c := newPolicyCase(rng)
	const scale = 0.25
	dy, prob := poison(len(c.y)), poison(len(c.legal))
	rows, loss := c.run(dy, prob, scale)
	y64 := widen(c.y)
	if want := c.loss(y64); math.Abs(loss-want) > 1e-5*want {
		t.Errorf("loss %g, want %g", loss, want)
	}
	for i, r := range rows {
		if known := i != 1 && i != 2; r.Known != known || !known && r != (RowLoss{}) {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	if !(rows[0].Entropy > 0) || !rows[3].Hit { // row 3 has one move
		t.Errorf("%+v", rows)
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
	if again, _ := c.run(nil, prob, scale); !slices.Equal(again, rows) {
		t.Errorf("without gradient %+v, with %+v", again, rows)
	}
}

// Logits of +-1e30 underflow to p = 0: the loss stays finite where the target is
// 0 there, and a NaN logit shows.
func TestPolicyCrossEntropyExtremes(t *testing.T) {
	off, legal := NewFlatPolicyOffsets(), []uint16{0, 1, 2}
	dy, prob := poison(3), poison(3)
	run := func(y, target []float32) RowLoss {
		return PolicyCrossEntropy(dy, prob, y, off, legal, target, 1)
	}
	if s := run([]float32{1e30, -1e30, 0}, []float32{1, 0, 0}); s.Loss != 0 || s.Entropy != 0 {
		t.Errorf("certain and right: %+v", s)
	}
	if !slices.Equal(dy, []float32{0, 0, 0}) {
		t.Errorf("gradient %v, want zeros", dy)
	}
	two := poison(2)
	PolicyCrossEntropy(nil, two, []float32{0, 1e3, 0, 0}, off, []uint16{3, 1}, []float32{0, 1}, 1)
	if two[0] != 0 || two[1] != 1 {
		t.Errorf("probabilities %v, want those in the order of the legal moves", two)
	}
	if s := run([]float32{float32(math.NaN()), 0, 0}, []float32{1, 0, 0}); s.Loss == s.Loss {
		t.Errorf("NaN logit: loss %g, want NaN", s.Loss)
	}
	if s := run([]float32{0, 0, 0}, []float32{float32(math.NaN()), 0, 0}); s.Known || dy[0] != 0 {
		t.Errorf("NaN target: %+v, gradient %v", s, dy)
	}
}

func TestWDLCrossEntropy(t *testing.T) {
	nan := float32(math.NaN())
	logits := [3]float32(newRand(t).floats(3))
	for _, target := range [][3]float32{{0.2, 0.5, 0.3}, {1, 0, 0}} {
		loss := func(x [3]float64) float64 {
			z, total := math.Exp(x[0])+math.Exp(x[1])+math.Exp(x[2]), 0.0
			for j := range 3 {
				total -= float64(target[j]) * (x[j] - math.Log(z))
			}
			return total
		}
		s, d := WDLCrossEntropy(logits, target, 0.1)
		x := [3]float64(widen(logits[:]))
		if math.Abs(s.Loss-loss(x)) > 1e-6 || !s.Known {
			t.Errorf("%+v, want loss %g", s, loss(x))
		}
		for i := range d {
			const h = 1e-5
			up, down := x, x
			up[i] += h
			down[i] -= h
			closeTo(t, "dlogits", d[i:i+1], []float64{0.1 * (loss(up) - loss(down)) / (2 * h)}, nil, 1e-6)
		}
	}
	if s, d := WDLCrossEntropy(logits, [3]float32{nan, nan, nan}, 1); s != (RowLoss{}) || d != [3]float32{} {
		t.Errorf("NaN target: %+v, gradient %v", s, d)
	}
	p := logits
	Softmax(p[:])
	if sum := p[0] + p[1] + p[2]; math.Abs(float64(sum)-1) > 1e-6 {
		t.Errorf("softmax sums to %g", sum)
	}
}

func TestScalarLosses(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct{ v, target, grad float32 }{{0.5, 0, 0.5}, {-1, 1, -2}} {
		if s, d := ScalarMSE(c.v, c.target, 0.5); s != (RowLoss{Loss: float64((c.v - c.target) * (c.v - c.target)), Known: true}) || d != c.grad {
			t.Errorf("MSE %+v, gradient %v", s, d)
		}
	}
	// unit 20, delta 0.5: |d| = 5/20 is quadratic, 40/20 linear.
	for _, c := range []struct {
		m, target  float32
		loss, grad float64
	}{{25, 20, 0.25 * 0.25 / 2, 0.25 / 20}, {60, 20, 0.5 * (2 - 0.25), 0.5 / 20}, {0, 40, 0.5 * (2 - 0.25), -0.5 / 20}} {
		s, d := HuberMovesLeft(c.m, c.target, 20, 0.5, 1)
		if math.Abs(s.Loss-c.loss) > 1e-12 || !s.Known || math.Abs(float64(d)-c.grad) > 1e-7 {
			t.Errorf("Huber %+v, gradient %v, want %+v", s, d, c)
		}
	}
	s, d := ScalarMSE(1, nan, 1)
	h, e := HuberMovesLeft(9, nan, 20, 0.5, 1)
	if s != (RowLoss{}) || d != 0 || h != (RowLoss{}) || e != 0 {
		t.Errorf("NaN targets: %+v %v, %+v %v", s, d, h, e)
	}
}
