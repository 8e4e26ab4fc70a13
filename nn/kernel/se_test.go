package kernel

import (
	"fmt"
	"testing"
)

func TestSEForward(t *testing.T) {
	rng := newRand(t)
	for i, c := range append(testChannels, 144) {
		boards := []int{1, 2, 3, 5}[i%4]
		n := boards * 64 * c
		x, res, gate, beta := rng.floats(n), rng.floats(n), rng.floats(boards*c), rng.floats(boards*c)
		want := make([]float64, n)
		for i, v := range x {
			k := i/(64*c)*c + i%c
			want[i] = float64(v)*float64(gate[k]) + float64(beta[k]) + float64(res[i])
		}
		t.Run(fmt.Sprintf("%dx%d", boards, c), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				out := poison(n)
				SEApply(out, f32s(x), gate, beta, res, boards, c, None)
				closeTo(t, "apply", out, want, nil, 1e-6)
				SEApply(out, f32s(x), gate, beta, res, boards, c, ReLU)
				closeTo(t, "relu", out, reluRef(want), nil, 1e-6)
				SEApply(out, f32s(x), gate, beta, make([]float32, n), boards, c, None)
				plain := poison(n)
				SEApply(plain, f32s(x), gate, beta, nil, boards, c, None)
				sameBits(t, "without residual", plain, out)
			})
		})
	}
}

// seLoss is sum dout*act(gate*x + beta + res) + sum pool*dpool in float64.
func seLoss(x, gate, beta []float64, res, dout, dpool []float32, c int, act Act) float64 {
	loss := 0.0
	for i, v := range x {
		k := i/(64*c)*c + i%c
		y := gate[k]*v + beta[k] + float64(res[i])
		if act == ReLU {
			y = max(0, y)
		}
		loss += y*float64(dout[i]) + v/64*float64(dpool[k])
	}
	return loss
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// The loss is piecewise linear in each variable, so a central difference is
// exact up to float64 rounding and kinks; kinks in reach make an error of at
// most h*|dout|*|x| times the few entries at the kink, hence the small h.
func TestSEBackward(t *testing.T) {
	rng := newRand(t)
	for _, c := range []int{1, 17, 16, 48, 144} {
		const boards = 2
		n := boards * 64 * c
		x, res, dout := rng.floats(n), rng.floats(n), rng.floats(n)
		gate, beta, dpool := rng.floats(boards*c), rng.floats(boards*c), rng.floats(boards*c)
		x64, g64, b64 := widen(x), widen(gate), widen(beta)
		for _, act := range []Act{None, ReLU} {
			diff := func(v []float64, i int) float64 {
				const h = 1e-7
				old := v[i]
				defer func() { v[i] = old }()
				v[i] = old + h
				up := seLoss(x64, g64, b64, res, dout, dpool, c, act)
				v[i] = old - h
				return (up - seLoss(x64, g64, b64, res, dout, dpool, c, act)) / (2 * h)
			}
			t.Run(fmt.Sprintf("%d/%d", c, act), func(t *testing.T) {
				forTiers(t, func(t *testing.T) {
					out, dz, dx := poison(n), poison(n), poison(n)
					dgate, dbeta := poison(boards*c), poison(boards*c)
					SEApply(out, f32s(x), gate, beta, res, boards, c, act)
					SEBackward(dz, dgate, dbeta, dout, out, f32s(x), boards, c, act)
					SEBackwardInput(dx, dz, gate, dpool, boards, c)
					for range 8 {
						i, k := rng.IntN(n), rng.IntN(boards*c)
						closeTo(t, "dx", dx[i:i+1], []float64{diff(x64, i)}, nil, 1e-4)
						closeTo(t, "dgate", dgate[k:k+1], []float64{diff(g64, k)}, nil, 1e-4)
						closeTo(t, "dbeta", dbeta[k:k+1], []float64{diff(b64, k)}, nil, 1e-4)
					}
					same, dg2, db2 := append([]float32(nil), dout...), poison(boards*c), poison(boards*c)
					SEBackward(same, dg2, db2, same, out, f32s(x), boards, c, act)
					sameBits(t, "dz in place", same, dz)
					sameBits(t, "dgate in place", dg2, dgate)
					sameBits(t, "dbeta in place", db2, dbeta)
					SEBackwardInput(dz, dz, gate, dpool, boards, c)
					sameBits(t, "dx in place", dz, dx)
				})
			})
		}
	}
}
