package kernel

import "math"

// The model of a Winograd convolution F(4x4,3x3) in float64. Where a kernel
// rounds a transformed factor to bf16, the model takes the transforms' steps in
// float32 as gen/winograd1d.go emits them, so that both round the same number;
// all sums after that are float64.
const (
	modelA, modelB = 0.75, 1.5
	modelSum       = modelA*modelA + modelB*modelB
	modelProduct   = modelA * modelA * modelB * modelB
)

// modelReal is the arithmetic of a transform's steps.
type modelReal interface{ float32 | float64 }

// modelFMA returns x + k*y, rounded once.
func modelFMA[T modelReal](x, k, y T) T {
	return T(math.FMA(float64(k), float64(y), float64(x)))
}

// modelInput is B^T d; half says which end of the board the tile is at: d[0] or
// d[5] lies off it.
func modelInput[T modelReal](d [6]T, half int) (p [6]T) {
	even, odd := modelFMA(d[4], -modelB*modelB, d[2]), modelFMA(d[3], -modelB*modelB, d[1])
	p[1], p[2] = modelFMA(even, modelA, odd), modelFMA(even, -modelA, odd)
	even, odd = modelFMA(d[4], -modelA*modelA, d[2]), modelFMA(d[3], -modelA*modelA, d[1])
	p[3], p[4] = modelFMA(even, modelB, odd), modelFMA(even, -modelB, odd)
	p[0] = modelFMA(d[4], -modelSum, d[2])
	if half == 0 {
		p[5] = modelFMA(modelFMA(d[5], -modelSum, d[3]), modelProduct, d[1])
		return p
	}
	p[0] = modelFMA(p[0], modelProduct, d[0])
	p[5] = modelFMA(T(modelProduct*d[1]), -modelSum, d[3])
	return p
}

// modelOutputGrad is A y.
func modelOutputGrad[T modelReal](y [6]T, _ int) (p [6]T) {
	p[0], p[5] = y[0], y[3]
	even, odd := modelFMA(y[0], modelA*modelA, y[2]), modelFMA(y[1], modelA*modelA, y[3])
	p[1], p[2] = modelFMA(even, modelA, odd), modelFMA(even, -modelA, odd)
	even, odd = modelFMA(y[0], modelB*modelB, y[2]), modelFMA(y[1], modelB*modelB, y[3])
	p[3], p[4] = modelFMA(even, modelB, odd), modelFMA(even, -modelB, odd)
	return p
}

// modelScales are the reciprocals of the products of differences between a
// point and the others; k1 and k2 belong to modelA and modelB.
func modelScales[T modelReal]() (k0, k1, k2 T) {
	const a2, b2 = modelA * modelA, modelB * modelB
	return 1 / modelProduct, 1 / (2 * a2 * (a2 - b2)), 1 / (2 * b2 * (b2 - a2))
}

// modelWeights is G g, for the first 3 of g.
func modelWeights[T modelReal](g [6]T, _ int) (p [6]T) {
	k0, k1, k2 := modelScales[T]()
	p[0], p[5] = k0*g[0], g[2]
	even, odd := T(k1*modelFMA(g[0], modelA*modelA, g[2])), T(k1*T(modelA*g[1]))
	p[1], p[2] = even+odd, even-odd
	even, odd = T(k2*modelFMA(g[0], modelB*modelB, g[2])), T(k2*T(modelB*g[1]))
	p[3], p[4] = even+odd, even-odd
	return p
}

// modelPoints applies f along files and then along ranks: point i*6+j is i along
// ranks. at reads the inputs by rank and file.
func modelPoints[T modelReal](size, rankHalf, fileHalf int, at func(rank, file int) T, f func([6]T, int) [6]T) (p [36]T) {
	var lines [6][6]T // [rank][point along files]
	for r := range size {
		var d [6]T
		for c := range size {
			d[c] = at(r, c)
		}
		lines[r] = f(d, fileHalf)
	}
	for j := range 6 {
		var d [6]T
		for r := range size {
			d[r] = lines[r][j]
		}
		for i, v := range f(d, rankHalf) {
			p[i*6+j] = v
		}
	}
	return p
}

// modelTiles transforms x [boards][64][c] to points [36][boards*4][c]: with
// first -1 and size 6 an input, with 0 and 4 an output's gradient. half rounds
// the points to bf16.
func modelTiles(x []float32, boards, c, first, size int, half bool) []float64 {
	tiles := boards * 4
	v := make([]float64, 36*tiles*c)
	for t := range tiles {
		for ch := range c {
			rankHalf, fileHalf := t%4/2, t%2
			put := func(i int, value float64) { v[(i*tiles+t)*c+ch] = value }
			at := func(r, f int) float32 {
				r, f = r+4*rankHalf+first, f+4*fileHalf+first
				if r < 0 || r > 7 || f < 0 || f > 7 {
					return 0
				}
				return x[(t/4*64+r*8+f)*c+ch]
			}
			if !half {
				wide := func(r, f int) float64 { return float64(at(r, f)) }
				step := modelInput[float64]
				if size == 4 {
					step = modelOutputGrad[float64]
				}
				for i, p := range modelPoints(size, rankHalf, fileHalf, wide, step) {
					put(i, p)
				}
				continue
			}
			step := modelInput[float32]
			if size == 4 {
				step = modelOutputGrad[float32]
			}
			for i, p := range modelPoints(size, rankHalf, fileHalf, at, step) {
				put(i, modelHalf(p))
			}
		}
	}
	return v
}

// modelHalf rounds to bf16.
func modelHalf(v float32) float64 {
	return float64(math.Float32frombits(uint32(halfBits(v)) << 16))
}

// modelKernel transforms the taps from input i to output o of a convolution, tap
// being the function that reads them, to [36][ci][co].
func modelKernel(ci, co int, half bool, tap func(o, i, t int) float32) []float64 {
	u := make([]float64, 36*ci*co)
	for o := range co {
		for i := range ci {
			at := func(r, f int) float32 { return tap(o, i, r*3+f) }
			if half {
				for p, v := range modelPoints(3, 0, 0, at, modelWeights[float32]) {
					u[(p*ci+i)*co+o] = modelHalf(v)
				}
				continue
			}
			wide := func(r, f int) float64 { return float64(at(r, f)) }
			for p, v := range modelPoints(3, 0, 0, wide, modelWeights[float64]) {
				u[(p*ci+i)*co+o] = v
			}
		}
	}
	return u
}

// modelOutput returns A^T [4][6] and modelTaps G^T [3][6].
func modelOutput() (m [4][6]float64) {
	for i := range m {
		m[i] = [6]float64{0, math.Pow(modelA, float64(i)), math.Pow(-modelA, float64(i)), math.Pow(modelB, float64(i)), math.Pow(-modelB, float64(i)), 0}
	}
	m[0][0], m[3][5] = 1, 1
	return m
}

func modelTaps() (m [3][6]float64) {
	for i := range m {
		var g [6]float64
		g[i] = 1
		m[i] = modelWeights(g, 0)
	}
	return m
}

// modelBack takes 36 sums and their magnitudes to an output of rows ranks and
// files: rows u rows^T.
func modelBack(rows [][6]float64, sums, mags *[36]float64, put func(r, f int, v, mag float64)) {
	for r, a := range rows {
		for f, b := range rows {
			v, mag := 0.0, 0.0
			for i, s := range sums {
				k := a[i/6] * b[i%6]
				v += k * s
				mag += math.Abs(k) * mags[i]
			}
			put(r, f, v, mag)
		}
	}
}

// modelConv returns y [boards][64][co] and the magnitudes that its rounding
// errors go with, from points v [36][boards*4][ci] and weights u [36][ci][co].
func modelConv(v, u []float64, boards, ci, co int) (y, mag []float64) {
	y, mag = make([]float64, boards*64*co), make([]float64, boards*64*co)
	tiles, out := boards*4, modelOutput()
	sums, mags := make([][36]float64, co), make([][36]float64, co)
	for t := range tiles {
		clear(sums)
		clear(mags)
		for p := range 36 {
			for i, x := range v[(p*tiles+t)*ci:][:ci] {
				for o, w := range u[(p*ci+i)*co:][:co] {
					sums[o][p] += x * w
					mags[o][p] += math.Abs(x * w)
				}
			}
		}
		for o := range co {
			modelBack(out[:], &sums[o], &mags[o], func(r, f int, value, m float64) {
				at := (t/4*64+(t%4/2*4+r)*8+t%2*4+f)*co + o
				y[at], mag[at] = value, m
			})
		}
	}
	return y, mag
}

// modelGrad returns the gradient [co][ci][9] and its magnitudes from points v
// [36][tiles][ci] of the input and d [36][tiles][co] of the output's gradient.
func modelGrad(v, d []float64, tiles, ci, co int) (g, mag []float64) {
	g, mag = make([]float64, co*ci*9), make([]float64, co*ci*9)
	taps := modelTaps()
	sums, mags := make([][36]float64, ci), make([][36]float64, ci)
	for o := range co {
		clear(sums)
		clear(mags)
		for p := range 36 {
			for t := range tiles {
				y := d[(p*tiles+t)*co+o]
				for i, x := range v[(p*tiles+t)*ci:][:ci] {
					sums[i][p] += x * y
					mags[i][p] += math.Abs(x * y)
				}
			}
		}
		for i := range ci {
			modelBack(taps[:], &sums[i], &mags[i], func(r, f int, value, m float64) {
				at := (o*ci+i)*9 + r*3 + f
				g[at], mag[at] = value, m
			})
		}
	}
	return g, mag
}
