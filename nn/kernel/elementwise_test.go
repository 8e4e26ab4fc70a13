package kernel

import (
	"fmt"
	"math"
	"testing"
)

var flatLengths = []int{0, 1, 15, 16, 17, 64, 1000, 70001}

func TestElementwise(t *testing.T) {
	rng := newRand(t)
	for _, n := range flatLengths {
		a, b := rng.floats(n), rng.floats(n)
		const alpha = 0.37
		ops := []struct {
			name string
			run  func(y []float32)
			want func(a, b float64) float64
		}{
			{"Add", func(y []float32) { Add(y, a, b) }, func(a, b float64) float64 { return a + b }},
			{"Axpy", func(y []float32) { copy(y, b); Axpy(y, alpha, a) }, func(a, b float64) float64 { return b + float64(float32(alpha))*a }},
			{"Scale", func(y []float32) { copy(y, a); Scale(y, alpha) }, func(a, _ float64) float64 { return float64(float32(alpha)) * a }},
			{"ReLU", func(y []float32) { ReLUForward(y, a) }, func(a, _ float64) float64 { return max(0, a) }},
			{"ReLUBackward", func(y []float32) { ReLUBackward(y, a, b) }, func(a, b float64) float64 {
				if b > 0 {
					return a
				}
				return 0
			}},
			{"Sigmoid", func(y []float32) { Sigmoid(y, a) }, func(a, _ float64) float64 { return 1 / (1 + math.Exp(-a)) }},
			{"Tanh", func(y []float32) { Tanh(y, a) }, func(a, _ float64) float64 { return math.Tanh(a) }},
			{"Mish", func(y []float32) { MishForward(y, a) }, func(a, _ float64) float64 { return mish(a) }},
		}
		for _, op := range ops {
			t.Run(fmt.Sprintf("%s/%d", op.name, n), func(t *testing.T) {
				want := make([]float64, n)
				for i := range want {
					want[i] = op.want(float64(a[i]), float64(b[i]))
				}
				forTiers(t, func(t *testing.T) {
					y := poison(n)
					op.run(y)
					closeTo(t, op.name, y, want, nil, 3e-7)
				})
			})
		}
	}
}

// Squares of float32 are exact in float64: only the additions round, each by at
// most 2^-53 of the sum. The order depends on the length alone and is the same in
// every vector tier.
func TestSumSquares(t *testing.T) {
	rng := newRand(t)
	for _, n := range append(flatLengths, 31, 32, 33, 63) {
		x := rng.floats(n)
		want := 0.0
		for _, v := range x {
			want += float64(v) * float64(v)
		}
		var vector []float64
		forTiers(t, func(t *testing.T) {
			got := SumSquares(x)
			if d := math.Abs(got - want); !(d <= float64(n)*0x1p-53*want) {
				t.Errorf("SumSquares(%d) = %g, want %g", n, got, want)
			}
			for shift := range 5 {
				if again := SumSquares(append(make([]float32, shift), x...)[shift:]); again != got {
					t.Errorf("shifted by %d floats: %g, before %g", shift, again, got)
				}
			}
			if ActiveTier() != Generic {
				vector = append(vector, got)
			}
			if n == 0 {
				return
			}
			for _, odd := range []float64{math.NaN(), math.Inf(-1)} {
				y := append([]float32(nil), x...)
				y[rng.IntN(n)] = float32(odd)
				if s := SumSquares(y); !sameKind(s, odd*odd) {
					t.Errorf("with %g: %g", odd, s)
				}
			}
		})
		for _, v := range vector {
			if v != vector[0] {
				t.Errorf("SumSquares(%d) of the vector tiers: %v", n, vector)
			}
		}
	}
}

func mish(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) }

// The derivatives are held against central differences in float64 (error about
// 1e-9) with float32 inputs and outputs: tolerance 1e-5.
func TestActivationDerivatives(t *testing.T) {
	rng := newRand(t)
	x, dy := rng.floats(200), rng.floats(200)
	x[0], x[1] = 40, -40
	for i, v := range x {
		if math.Abs(float64(v)) < 1e-4 {
			x[i] = 1 // the kink of SELU lies within the difference's step
		}
	}
	for _, c := range []struct {
		name string
		f    func(float64) float64
		back func(dx, dy, x, y []float32)
	}{
		{"sigmoid", sigmoid, func(dx, dy, _, y []float32) { SigmoidBackward(dx, dy, y) }},
		{"tanh", math.Tanh, func(dx, dy, _, y []float32) { TanhBackward(dx, dy, y) }},
		{"mish", mish, func(dx, dy, x, _ []float32) { MishBackward(dx, dy, x) }},
		{"relu2", func(x float64) float64 { return max(0, x) * max(0, x) },
			func(dx, dy, x, y []float32) { copy(dx, dy); ReLU2.Backward(dx, y, x) }},
		{"swish", func(x float64) float64 { return x * sigmoid(x) },
			func(dx, dy, x, y []float32) { copy(dx, dy); Swish.Backward(dx, y, x) }},
		{"selu", seluRef, func(dx, dy, x, y []float32) { copy(dx, dy); SELU.Backward(dx, y, x) }},
	} {
		y, want := make([]float32, len(x)), make([]float64, len(x))
		for i, v := range x {
			const h = 1e-5
			y[i] = float32(c.f(float64(v)))
			want[i] = float64(dy[i]) * (c.f(float64(v)+h) - c.f(float64(v)-h)) / (2 * h)
		}
		forTiers(t, func(t *testing.T) {
			dx := poison(len(x))
			c.back(dx, dy, x, y)
			closeTo(t, c.name, dx, want, nil, 1e-5)
		})
	}
}

// NaN passes through ReLU, so that a broken net shows in its loss.
func TestReLUPassesNaN(t *testing.T) {
	forTiers(t, func(t *testing.T) {
		x := make([]float32, 40)
		for i := range x {
			x[i] = float32(math.NaN())
		}
		y := make([]float32, len(x))
		ReLUForward(y, x)
		for i, v := range y {
			if v == v {
				t.Fatalf("y[%d] = %g, want NaN", i, v)
			}
		}
	})
}

// Denormal inputs give results within the smallest normal number of the truth,
// in every tier: flushed or not.
func TestDenormals(t *testing.T) {
	const tiny, smallestNormal = 3e-39, 1.2e-38
	const c = 32
	x, w := make([]float32, 64*c), make([]float32, c*c*9)
	for i := range x {
		x[i] = tiny
	}
	for i := range w {
		w[i] = 0.01
	}
	want, _ := conv3Ref(x, w, nil, 1, c, c)
	forTiers(t, func(t *testing.T) {
		packed, y := packedConv(w, c, c, FP32), poison(64*c)
		Conv3(y, x, packed, nil, 1, c, c, None, FP32, make([]float32, Conv3ScratchLen(c, c, FP32)))
		for i := range y {
			// Each of up to 9*c products may be flushed.
			if d := math.Abs(float64(y[i]) - want[i]); !(d <= 9*c*smallestNormal) {
				t.Fatalf("y[%d] = %g, want %g", i, y[i], want[i])
			}
		}
		Add(y[:c], x[:c], x[:c])
		for i := range c {
			if d := math.Abs(float64(y[i]) - 2*tiny); !(d <= smallestNormal) {
				t.Fatalf("sum %g, want %g", y[i], 2*tiny)
			}
		}
	})
}

func TestSGDNesterov(t *testing.T) {
	rng := newRand(t)
	const lr, momentum, decay = 0.05, 0.9, 1e-2
	for _, n := range flatLengths {
		w, g, m := rng.floats(n), rng.floats(n), rng.floats(n)
		wantW, wantM := make([]float64, n), make([]float64, n)
		for i := range wantW {
			d := float64(g[i]) + decay*float64(w[i])
			wantM[i] = momentum*float64(m[i]) + d
			wantW[i] = float64(w[i]) - lr*(d+momentum*wantM[i])
		}
		forTiers(t, func(t *testing.T) {
			w, m := append([]float32(nil), w...), append([]float32(nil), m...)
			SGDNesterov(w, g, m, lr, momentum, decay)
			closeTo(t, "w", w, wantW, nil, 1e-6)
			closeTo(t, "m", m, wantM, nil, 1e-6)
		})
	}
}

func TestAdamWAndNAdamW(t *testing.T) {
	rng := newRand(t)
	const lr, b1, b2, eps, decay, bc1, bc2, cm, cg = 0.01, 0.9, 0.99, 1e-8, 0.1, 0.271, 0.0297, 2.5, 0.4
	for _, n := range flatLengths {
		w, g, m, v := rng.floats(n), rng.floats(n), rng.floats(n), rng.floats(n)
		wantW, wantN, wantM, wantV := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range wantW {
			v[i] = v[i]*v[i] + 0.01
			gi := float64(g[i])
			wantM[i] = b1*float64(m[i]) + (1-b1)*gi
			wantV[i] = b2*float64(v[i]) + (1-b2)*gi*gi
			by := lr / (math.Sqrt(wantV[i]/bc2) + eps)
			wantW[i] = float64(w[i])*(1-lr*decay) - wantM[i]/bc1*by
			wantN[i] = float64(w[i])*(1-lr*decay) - (cm*wantM[i]+cg*gi)*by
		}
		forTiers(t, func(t *testing.T) {
			for want, step := range map[*[]float64]func(w, m, v []float32){
				&wantW: func(w, m, v []float32) { AdamW(w, g, m, v, lr, b1, b2, eps, decay, bc1, bc2) },
				&wantN: func(w, m, v []float32) { NAdamW(w, g, m, v, lr, b1, b2, eps, decay, cm, cg, bc2) },
			} {
				w, m, v := clone(w), clone(m), clone(v)
				step(w, m, v)
				closeTo(t, "w", w, *want, nil, 2e-6)
				closeTo(t, "m", m, wantM, nil, 1e-6)
				closeTo(t, "v", v, wantV, nil, 1e-6)
			}
		})
	}
}
