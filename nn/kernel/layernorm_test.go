package kernel

import (
	"fmt"
	"math"
	"testing"
)

// layerNormCase is an input of LayerNorm with its result in float64. mag is the sum of
// magnitudes that a result comes from, in units of the result.
type layerNormCase struct {
	x, skip, gamma, beta []float32
	alpha, eps           float32
	rows, c              int
	want, mag            []float64
}

// newLayerNormCase makes rows of standard deviation 1 around a mean of their own, up to
// offset. skip is nil unless asked for.
func newLayerNormCase(rng testRand, rows, c int, offset float32, skip bool) *layerNormCase {
	k := &layerNormCase{x: rng.floats(rows * c), gamma: rng.floats(c), beta: rng.floats(c), alpha: 0.7, eps: 1e-3, rows: rows, c: c}
	if skip {
		k.skip = rng.floats(rows * c)
	}
	for r := range rows {
		mean := (2*rng.Float32() - 1) * offset
		for j := range c {
			k.x[r*c+j] += mean
		}
		k.row(r)
	}
	return k
}

// inputs returns z of row r in float64 and the magnitudes that it comes from.
func (k *layerNormCase) inputs(r int) (z, size []float64) {
	z, size = make([]float64, k.c), make([]float64, k.c)
	for j := range z {
		z[j] = float64(k.alpha) * float64(k.x[r*k.c+j])
		size[j] = math.Abs(z[j])
		if k.skip != nil {
			s := float64(k.skip[r*k.c+j])
			z[j] += s
			size[j] += math.Abs(s)
		}
	}
	return z, size
}

// moments returns the mean of z and 1/sqrt(var+eps).
func moments(z []float64, eps float32) (mean, inv float64) {
	n, sq := float64(len(z)), 0.0
	for _, v := range z {
		mean += v / n
	}
	for _, v := range z {
		sq += (v - mean) * (v - mean) / n
	}
	return mean, 1 / math.Sqrt(sq+float64(eps))
}

// row computes row r in float64.
func (k *layerNormCase) row(r int) {
	z, size := k.inputs(r)
	mean, inv := moments(z, k.eps)
	meanSize := 0.0
	for _, v := range size {
		meanSize += v / float64(k.c)
	}
	for j, v := range z {
		g, b := float64(k.gamma[j]), float64(k.beta[j])
		k.want = append(k.want, b+g*(v-mean)*inv)
		k.mag = append(k.mag, math.Abs(g)*(math.Abs(v-mean)+size[j]+meanSize)*inv)
	}
}

func (k *layerNormCase) run(y, x, skip []float32, rows int) {
	LayerNorm(y, x, skip, k.alpha, k.gamma, k.beta, rows, k.c, k.eps)
}

// A sum of c float32 errs by at most c/16 * 2^-24 of the magnitudes in lanes of 16, and by
// much less as a rule. Rows far from 0 would fail with a variance of one pass.
func TestLayerNorm(t *testing.T) {
	rng := newRand(t)
	for i, c := range []int{1, 3, 16, 17, 32, 48, 64, 80, 100, 176, 256, 1024} {
		rows := rowCases[i%len(rowCases)]
		for _, skip := range []bool{false, true} {
			for _, offset := range []float32{0, 1000} {
				k := newLayerNormCase(rng, rows, c, offset, skip)
				t.Run(fmt.Sprintf("%dx%d/%v/%g", rows, c, skip, offset), func(t *testing.T) {
					forTiers(t, k.check)
				})
			}
		}
	}
}

// check holds results against float64, in place of either input and a row alone too.
func (k *layerNormCase) check(t *testing.T) {
	n := k.rows * k.c
	y := poison(n + 1)
	k.run(y, k.x, k.skip, k.rows)
	closeTo(t, "y", y[:n], k.want, k.mag, 1e-6)
	if y[n] == y[n] {
		t.Fatal("wrote past the end of y")
	}
	inPlace := clone(k.x)
	k.run(inPlace, inPlace, k.skip, k.rows)
	sameBits(t, "over x", inPlace, y[:n])
	for r := range k.rows {
		alone := poison(k.c)
		k.run(alone, cut(k.x, r, 1, k.c), cut(k.skip, r, 1, k.c), 1)
		sameBits(t, fmt.Sprint("row ", r), alone, cut(y, r, 1, k.c))
	}
	if k.skip != nil {
		inPlace = clone(k.skip)
		k.run(inPlace, k.x, inPlace, k.rows)
		sameBits(t, "over skip", inPlace, y[:n])
	}
}

// More rows than one call of the assembly takes.
func TestLayerNormLong(t *testing.T) {
	const c = 64
	k := newLayerNormCase(newRand(t), 2*maxCallFloatsTest/c+3, c, 1, true)
	forTiers(t, func(t *testing.T) {
		y := poison(k.rows * c)
		k.run(y, k.x, k.skip, k.rows)
		closeTo(t, "y", y, k.want, k.mag, 1e-6)
	})
}

// Equal channels give beta, up to the rounding of the mean against eps; a NaN spoils its
// row alone.
func TestLayerNormOddRows(t *testing.T) {
	rng := newRand(t)
	for _, c := range []int{5, 48} {
		k := newLayerNormCase(rng, 3, c, 0, false)
		for j := range c {
			k.x[c+j] = 4
		}
		k.x[2*c+c/2] = float32(math.NaN())
		forTiers(t, func(t *testing.T) {
			y := poison(3 * c)
			k.run(y, k.x, nil, 3)
			closeTo(t, "row beside NaN", y[:c], k.want[:c], k.mag, 1e-6)
			for j := range c {
				if d := math.Abs(float64(y[c+j] - k.beta[j])); !(d <= 1e-4) {
					t.Fatalf("channel %d of an equal row is %g, want %g", j, y[c+j], k.beta[j])
				}
				if v := y[2*c+j]; v == v {
					t.Fatalf("channel %d beside NaN is %g", j, v)
				}
			}
		})
	}
}
