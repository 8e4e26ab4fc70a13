package kernel

import (
	"fmt"
	"math"
	"testing"
)

var rowCases = []int{1, 63, 64, 130}

// forRows runs f over channel and row counts in every tier.
func forRows(t *testing.T, f func(t *testing.T, rng testRand, rows, c int)) {
	rng := newRand(t)
	for i, c := range append(testChannels, 144, 256) {
		rows := rowCases[i%len(rowCases)]
		t.Run(fmt.Sprintf("%dx%d", rows, c), func(t *testing.T) {
			forTiers(t, func(t *testing.T) { f(t, rng, rows, c) })
		})
	}
}

// near compares float64 sums.
func near(t *testing.T, what string, got, want []float64, mag, tol float64) {
	t.Helper()
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d <= tol*(1+mag)) {
			t.Fatalf("%s[%d] = %g, want %g", what, i, got[i], want[i])
		}
	}
}

func TestBatchNormStats(t *testing.T) {
	forRows(t, func(t *testing.T, rng testRand, rows, c int) {
		x := rng.floats(rows * c)
		sum, sq, want, wantSq := make([]float64, c), make([]float64, c), make([]float64, c), make([]float64, c)
		for j := range c {
			sum[j], sq[j], want[j], wantSq[j] = 1, 2, 1, 2
		}
		for i, v := range x {
			want[i%c] += float64(v)
			wantSq[i%c] += float64(v) * float64(v)
		}
		BatchNormStats(sum, sq, x, rows, c)
		near(t, "sum", sum, want, float64(rows), 1e-6)
		near(t, "sumsq", sq, wantSq, float64(rows), 1e-6)
	})
}

func TestBatchNormApply(t *testing.T) {
	forRows(t, func(t *testing.T, rng testRand, rows, c int) {
		x, res, scale, shift := rng.floats(rows*c), rng.floats(rows*c), rng.floats(c), rng.floats(c)
		want, wantRes := make([]float64, rows*c), make([]float64, rows*c)
		for i, v := range x {
			want[i] = float64(v)*float64(scale[i%c]) + float64(shift[i%c])
			wantRes[i] = want[i] + float64(res[i])
		}
		y := poison(rows * c)
		BatchNormApply(y, f32s(x), scale, shift, nil, rows, c, None)
		closeTo(t, "y", y, want, nil, 1e-6)
		BatchNormApply(y, f32s(x), scale, shift, nil, rows, c, ReLU)
		closeTo(t, "relu", y, reluRef(want), nil, 1e-6)
		BatchNormApply(y, f32s(x), scale, shift, res, rows, c, ReLU)
		closeTo(t, "residual", y, reluRef(wantRes), nil, 1e-6)
		copy(y, x)
		BatchNormApply(y, f32s(y), scale, shift, nil, rows, c, None)
		closeTo(t, "in place", y, want, nil, 1e-6)
		last := poison(c)
		BatchNormApply(last, f32s(x[(rows-1)*c:]), scale, shift, nil, 1, c, None)
		sameBits(t, "row alone", last, y[(rows-1)*c:])
	})
}

// bnLoss is the float64 forward: batch statistics, normalise, gamma and beta,
// ReLU where asked, and the inner product with dy.
func bnLoss(x []float64, gamma, beta, dy []float32, rows, c int, act Act) float64 {
	loss := 0.0
	for j := range c {
		mean, sq := 0.0, 0.0
		for r := range rows {
			mean += x[r*c+j] / float64(rows)
		}
		for r := range rows {
			d := x[r*c+j] - mean
			sq += d * d / float64(rows)
		}
		inv := 1 / math.Sqrt(sq+1e-5)
		for r := range rows {
			y := float64(gamma[j])*(x[r*c+j]-mean)*inv + float64(beta[j])
			if act == ReLU {
				y = max(0, y)
			}
			loss += y * float64(dy[r*c+j])
		}
	}
	return loss
}

// bnMoments returns mean and 1/sqrt(var+1e-5) of x.
func bnMoments(x []float32, rows, c int) (mean, invstd []float32) {
	mean, invstd = make([]float32, c), make([]float32, c)
	for j := range c {
		m, s := 0.0, 0.0
		for r := range rows {
			m += float64(x[r*c+j]) / float64(rows)
		}
		for r := range rows {
			d := float64(x[r*c+j]) - m
			s += d * d / float64(rows)
		}
		mean[j], invstd[j] = float32(m), float32(1/math.Sqrt(s+1e-5))
	}
	return mean, invstd
}

func TestBatchNormBackward(t *testing.T) {
	rng := newRand(t)
	for _, c := range []int{1, 3, 16, 32, 144} {
		const rows = 70
		x, dy, gamma, beta := rng.floats(rows*c), rng.floats(rows*c), rng.floats(c), rng.floats(c)
		mean, invstd := bnMoments(x, rows, c)
		y, pre := make([]float32, rows*c), make([]float32, rows*c)
		for i, v := range x {
			pre[i] = gamma[i%c]*(v-mean[i%c])*invstd[i%c] + beta[i%c]
			y[i] = relu(pre[i])
		}
		x64 := make([]float64, len(x))
		for i, v := range x {
			x64[i] = float64(v)
		}
		// diff is a central difference of the loss; its error is about 1e-7.
		diff := func(i int, act Act) float64 {
			const h = 1e-6
			old := x64[i]
			defer func() { x64[i] = old }()
			x64[i] = old + h
			up := bnLoss(x64, gamma, beta, dy, rows, c, act)
			x64[i] = old - h
			return (up - bnLoss(x64, gamma, beta, dy, rows, c, act)) / (2 * h)
		}
		for _, act := range []Act{None, ReLU} {
			t.Run(fmt.Sprintf("%d/%d", c, act), func(t *testing.T) {
				forTiers(t, func(t *testing.T) {
					dsum, dxhat := make([]float64, c), make([]float64, c)
					dx := poison(rows * c)
					if act == ReLU {
						gated := poison(rows * c)
						BatchNormReLUBackwardStats(dsum, dxhat, gated, dy, y, f32s(x), mean, invstd, rows, c)
						BatchNormBackward(dx, gated, f32s(x), mean, invstd, gamma, dsum, dxhat, rows, rows, c)
					} else {
						// Two calls must add up.
						BatchNormBackwardStats(dsum, dxhat, dy[:8*c], f32s(x), mean, invstd, 8, c)
						BatchNormBackwardStats(dsum, dxhat, dy[8*c:], f32s(x[8*c:]), mean, invstd, rows-8, c)
						BatchNormBackward(dx, dy, f32s(x), mean, invstd, gamma, dsum, dxhat, rows, rows, c)
					}
					for range 20 {
						i := rng.IntN(len(x))
						if act == ReLU && math.Abs(float64(pre[i])) < 1e-4 {
							continue // the kink lies within the difference's step
						}
						closeTo(t, "dx", dx[i:i+1], []float64{diff(i, act)}, nil, 2e-4)
					}
					checkBNSums(t, dsum, dxhat, dy, y, x, mean, invstd, c, act)
				})
			})
		}
	}
}

// checkBNSums holds dsum and dxhat against float64 sums.
func checkBNSums(t *testing.T, dsum, dxhat []float64, dy, y, x, mean, invstd []float32, c int, act Act) {
	t.Helper()
	wantSum, wantHat := make([]float64, c), make([]float64, c)
	for i, d := range dy {
		if act == ReLU && !(y[i] > 0) {
			continue
		}
		j := i % c
		wantSum[j] += float64(d)
		wantHat[j] += float64(d) * (float64(x[i]) - float64(mean[j])) * float64(invstd[j])
	}
	near(t, "dsum", dsum, wantSum, float64(len(dy)/c), 1e-6)
	near(t, "dxhat", dxhat, wantHat, float64(len(dy)/c), 2e-6)
}
