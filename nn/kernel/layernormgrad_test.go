package kernel

import (
	"fmt"
	"math"
	"testing"
)

// layerNormGradCase is an input of LayerNormBackward with its results in float64, and the
// sums of magnitudes that they come from, in units of the results. dgamma0 and dbeta0 are
// what dgamma and dbeta begin with.
type layerNormGradCase struct {
	*layerNormCase
	dy, dgamma0, dbeta0      []float32
	dz, dgamma, dbeta        []float64
	dzMag, gammaMag, betaMag []float64
}

func newLayerNormGradCase(rng testRand, rows, c int, offset float32, skip bool) *layerNormGradCase {
	k := &layerNormGradCase{layerNormCase: newLayerNormCase(rng, rows, c, offset, skip),
		dy: rng.floats(rows * c), dgamma0: rng.floats(c), dbeta0: rng.floats(c)}
	k.gammaMag, k.betaMag = make([]float64, c), make([]float64, c)
	k.dgamma, k.dbeta = make([]float64, c), make([]float64, c)
	for j := range c {
		k.dgamma[j], k.dbeta[j] = float64(k.dgamma0[j]), float64(k.dbeta0[j])
	}
	for r := range rows {
		k.rowGradient(r)
	}
	return k
}

// rowGradient adds the gradients of row r. z has an error of its terms' magnitudes, which
// the gradients have times up to 1/sqrt(var).
func (k *layerNormGradCase) rowGradient(r int) {
	z, size := k.inputs(r)
	mean, inv := moments(z, k.eps)
	n, meanSize := float64(k.c), 0.0
	for _, v := range size {
		meanSize += v / n
	}
	meanG, meanGX, sizeG, sizeGX := 0.0, 0.0, 0.0, 0.0
	for j, v := range z {
		u, xhat := float64(k.dy[r*k.c+j]), (v-mean)*inv
		g := u * float64(k.gamma[j])
		meanG += g / n
		meanGX += g * xhat / n
		sizeG += math.Abs(g) / n
		sizeGX += math.Abs(g*xhat) / n
		k.dgamma[j] += u * xhat
		k.dbeta[j] += u
		k.gammaMag[j] += math.Abs(u) * (math.Abs(xhat) + (size[j]+meanSize)*inv)
		k.betaMag[j] += math.Abs(u)
	}
	for j, v := range z {
		g, xhat := float64(k.dy[r*k.c+j])*float64(k.gamma[j]), (v-mean)*inv
		k.dz = append(k.dz, inv*(g-meanG-xhat*meanGX))
		k.dzMag = append(k.dzMag, inv*(math.Abs(g)+sizeG+math.Abs(xhat)*sizeGX)*(1+(size[j]+meanSize)*inv))
	}
}

func (k *layerNormGradCase) back(dz, dgamma, dbeta, dy, x, skip []float32, rows int) {
	LayerNormBackward(dz, dgamma, dbeta, dy, x, skip, k.alpha, k.gamma, rows, k.c, k.eps)
}

// The sizes and offsets are those of TestLayerNorm.
func TestLayerNormBackward(t *testing.T) {
	rng := newRand(t)
	for i, c := range []int{1, 3, 16, 17, 32, 48, 64, 80, 100, 176, 256, 1024} {
		rows := rowCases[i%len(rowCases)]
		for _, skip := range []bool{false, true} {
			for _, offset := range []float32{0, 1000} {
				k := newLayerNormGradCase(rng, rows, c, offset, skip)
				t.Run(fmt.Sprintf("%dx%d/%v/%g", rows, c, skip, offset), func(t *testing.T) {
					forTiers(t, k.check)
				})
			}
		}
	}
}

// check holds results against float64, also over dy and in calls of a row each.
func (k *layerNormGradCase) check(t *testing.T) {
	n := k.rows * k.c
	dz, dgamma, dbeta := poison(n+1), clone(k.dgamma0), clone(k.dbeta0)
	k.back(dz, dgamma, dbeta, k.dy, k.x, k.skip, k.rows)
	closeTo(t, "dz", dz[:n], k.dz, k.dzMag, 1e-6)
	closeTo(t, "dgamma", dgamma, k.dgamma, k.gammaMag, 1e-6)
	closeTo(t, "dbeta", dbeta, k.dbeta, k.betaMag, 1e-6)
	if dz[n] == dz[n] {
		t.Fatal("wrote past the end of dz")
	}
	for name, step := range map[string]int{"over dy": k.rows, "row by row": 1} {
		d, ga, be := clone(k.dy), clone(k.dgamma0), clone(k.dbeta0)
		for r := 0; r < k.rows; r += step {
			part := cut(d, r, step, k.c)
			k.back(part, ga, be, part, cut(k.x, r, step, k.c), cut(k.skip, r, step, k.c), step)
		}
		sameBits(t, "dz "+name, d, dz[:n])
		sameBits(t, "dgamma "+name, ga, dgamma)
		sameBits(t, "dbeta "+name, be, dbeta)
	}
}

// More rows than one call of the assembly takes.
func TestLayerNormBackwardLong(t *testing.T) {
	const c = 64
	k := newLayerNormGradCase(newRand(t), 2*maxCallFloatsTest/c+3, c, 1, true)
	forTiers(t, k.check)
}

// A NaN spoils its row of dz alone; equal channels have xhat of 0, up to the rounding of the
// mean, and finite gradients.
func TestLayerNormBackwardOddRows(t *testing.T) {
	rng := newRand(t)
	for _, c := range []int{5, 48} {
		k := newLayerNormGradCase(rng, 3, c, 0, false)
		for j := range c {
			k.x[c+j] = 4
		}
		k.x[2*c+c/2] = float32(math.NaN())
		forTiers(t, func(t *testing.T) {
			dz, dgamma, dbeta := poison(3*c), make([]float32, c), make([]float32, c)
			k.back(dz, dgamma, dbeta, k.dy, k.x, nil, 2)
			closeTo(t, "row beside equal channels", dz[:c], k.dz[:c], k.dzMag, 1e-6)
			for j := range c {
				if v := float64(dz[c+j] + dgamma[j]); math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("channel %d of an equal row: dz %g, dgamma %g", j, dz[c+j], dgamma[j])
				}
			}
			before := clone(dz[:2*c])
			k.back(dz, dgamma, dbeta, k.dy, k.x, nil, 3)
			sameBits(t, "rows beside NaN", dz[:2*c], before)
			for j := range c {
				if v := dz[2*c+j]; v == v {
					t.Fatalf("channel %d beside NaN is %g", j, v)
				}
			}
		})
	}
}

// Gradients of the sum of dy*LayerNorm against central differences in float64: their error
// is about 1e-8 where the standard deviation is about 1.
func TestLayerNormBackwardDifferences(t *testing.T) {
	const rows, h = 3, 1e-4
	rng := newRand(t)
	for _, c := range []int{7, 16, 80} {
		k := newLayerNormGradCase(rng, rows, c, 1, true)
		dz, dgamma, dbeta := make([]float64, rows*c), make([]float64, c), make([]float64, c)
		for r := range rows {
			z, _ := k.inputs(r)
			gamma, beta := widened(k.gamma), widened(k.beta)
			for j := range c {
				for _, v := range []struct{ at, grad *float64 }{{&z[j], &dz[r*c+j]}, {&gamma[j], &dgamma[j]}, {&beta[j], &dbeta[j]}} {
					old := *v.at
					*v.at = old + h
					*v.grad += k.objective(r, z, gamma, beta) / (2 * h)
					*v.at = old - h
					*v.grad -= k.objective(r, z, gamma, beta) / (2 * h)
					*v.at = old
				}
			}
		}
		forTiers(t, func(t *testing.T) {
			z, ga, be := poison(rows*c), make([]float32, c), make([]float32, c)
			k.back(z, ga, be, k.dy, k.x, k.skip, rows)
			closeTo(t, "dz", z, dz, k.dzMag, 1e-5)
			closeTo(t, "dgamma", ga, dgamma, k.gammaMag, 1e-5)
			closeTo(t, "dbeta", be, dbeta, k.betaMag, 1e-5)
		})
	}
}

// objective returns the sum of dy*y of row r.
func (k *layerNormGradCase) objective(r int, z, gamma, beta []float64) (sum float64) {
	mean, inv := moments(z, k.eps)
	for j, v := range z {
		sum += float64(k.dy[r*k.c+j]) * (beta[j] + gamma[j]*(v-mean)*inv)
	}
	return sum
}

func widened(x []float32) []float64 {
	w := make([]float64, len(x))
	for i, v := range x {
		w[i] = float64(v)
	}
	return w
}
