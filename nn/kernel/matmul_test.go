package kernel

import (
	"fmt"
	"math"
	"testing"
)

var matCases = [][3]int{ // rows, k, n
	{1, 1, 1}, {1, 2048, 128}, {3, 128, 3}, {5, 17, 80}, {8, 16, 16}, {9, 3, 64}, {64, 64, 32},
	{65, 64, 33}, {131, 1050, 66}, {7, 8, 130}, {2, 512, 128}, {130, 48, 48}, {13, 112, 1}, {320, 64, 8},
}

func matMulRef(x, w, bias []float32, rows, k, n int) (y, mag []float64) {
	y, mag = make([]float64, rows*n), make([]float64, rows*n)
	for r := range rows {
		for o := range n {
			s := float64(bias[o])
			m := 0.0
			for i := range k {
				p := float64(x[r*k+i]) * float64(w[o*k+i])
				s += p
				m += math.Abs(p)
			}
			y[r*n+o], mag[r*n+o] = s, m
		}
	}
	return y, mag
}

func TestMatMul(t *testing.T) {
	rng := newRand(t)
	for _, s := range matCases {
		rows, k, n := s[0], s[1], s[2]
		x, w, bias := rng.floats(rows*k), rng.floats(n*k), rng.floats(n)
		want, mag := matMulRef(x, w, bias, rows, k, n)
		packed := poison(PackedMatLen(k, n))
		PackMat(packed, w, k, n)
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				y := poison(rows*n + 1)
				MatMul(y, x, packed, bias, rows, k, n, None)
				closeTo(t, "y", y[:rows*n], want, mag, tolSum)
				if y[rows*n] == y[rows*n] {
					t.Fatal("wrote past the end of y")
				}
				MatMul(y, x, packed, bias, rows, k, n, ReLU)
				closeTo(t, "relu", y[:rows*n], reluRef(want), mag, tolSum)
				one := poison(n)
				for r := range rows {
					MatMul(one, x[r*k:], packed, bias, 1, k, n, ReLU)
					sameBits(t, "row alone", one, y[r*n:][:n])
				}
				if rows > 2 {
					part := poison((rows - 2) * n)
					MatMul(part, x[2*k:], packed, bias, rows-2, k, n, ReLU)
					sameBits(t, "split", part, y[2*n:rows*n])
				}
			})
		})
	}
}

func TestMatMulTransposed(t *testing.T) {
	rng := newRand(t)
	const rows, k, n = 9, 40, 19
	w, dy := rng.floats(n*k), rng.floats(rows*n)
	turned := make([]float32, n*k)
	for o := range n {
		for i := range k {
			turned[i*n+o] = w[o*k+i]
		}
	}
	want, mag := matMulRef(dy, turned, make([]float32, k), rows, n, k)
	packed := poison(PackedMatLen(n, k))
	PackMatTransposed(packed, w, k, n)
	forTiers(t, func(t *testing.T) {
		dx := poison(rows * k)
		MatMul(dx, dy, packed, nil, rows, n, k, None)
		closeTo(t, "dx", dx, want, mag, tolSum)
	})
}

func TestMatMulWeightGrad(t *testing.T) {
	rng := newRand(t)
	for _, s := range matCases {
		rows, k, n := s[0], s[1], s[2]
		x, dy := rng.floats(rows*k), rng.floats(rows*n)
		start, startB := rng.floats(n*k), rng.floats(n)
		want, mag := make([]float64, n*k), make([]float64, n*k)
		wantB, magB := make([]float64, n), make([]float64, n)
		for o := range n {
			wantB[o] = float64(startB[o])
			for r := range rows {
				d := float64(dy[r*n+o])
				wantB[o] += d
				magB[o] += math.Abs(d)
				for i := range k {
					p := d * float64(x[r*k+i])
					want[o*k+i] += p
					mag[o*k+i] += math.Abs(p)
				}
			}
			for i := range k {
				want[o*k+i] += float64(start[o*k+i])
			}
		}
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				dw, db := append([]float32(nil), start...), append([]float32(nil), startB...)
				scratch := poison(MatMulWeightGradScratchLen(k, n))
				MatMulWeightGrad(dw, db, x, dy, rows, k, n, scratch)
				closeTo(t, "dw", dw, want, mag, tolSum)
				closeTo(t, "db", db, wantB, magB, tolSum)
				copy(dw, start)
				MatMulWeightGrad(dw, nil, x, dy, rows, k, n, scratch)
				closeTo(t, "dw without db", dw, want, mag, tolSum)
			})
		})
	}
}
