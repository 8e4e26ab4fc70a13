package kernel

import (
	"fmt"
	"math"
	"testing"
)

// ulp returns the distance of float32 numbers at v, that of the smallest normal
// number below it.
func ulp(v float64) float64 {
	_, e := math.Frexp(max(math.Abs(v), smallestNormal)) // |v| in [2^(e-1), 2^e)
	return math.Ldexp(1, e-24)
}

const smallestNormal = 0x1p-126

// mathCase is an activation with its truth in float64 and the bound on its
// error: ulps of the result (of the largest term where terms cancel) plus flush,
// which covers results and exponentials that the vector tiers flush to 0.
type mathCase struct {
	name  string
	run   func(y, x []float32)
	want  func(x float64) (value, term float64)
	ulps  float64
	flush float64
}

var mathCases = []mathCase{
	{"Sigmoid", Sigmoid, func(x float64) (float64, float64) { s := sigmoid(x); return s, s }, 2.5, smallestNormal},
	{"Tanh", Tanh, func(x float64) (float64, float64) { y := math.Tanh(x); return y, y }, 1.5, smallestNormal},
	// Below -87.3 exp(x) is flushed: |x|*exp(x) < 88*smallestNormal.
	{"Mish", MishForward, func(x float64) (float64, float64) {
		y := x * math.Tanh(softplus(x))
		return y, y
	}, 4, 88 * smallestNormal},
	{"ReLU2", ReLU2.Forward, func(x float64) (float64, float64) {
		y := float64(float32(max(0, x) * max(0, x))) // +Inf beyond float32
		return y, y
	}, 0, smallestNormal},
	{"Swish", Swish.Forward, func(x float64) (float64, float64) { y := x * sigmoid(x); return y, y }, 4, 88 * smallestNormal},
	{"SELU", SELU.Forward, func(x float64) (float64, float64) { y := seluRef(x); return y, y }, 0.51, 0},
	{"MishBackward", func(y, x []float32) {
		for i := range y {
			y[i] = 1
		}
		MishBackward(y, y, x)
	}, func(x float64) (float64, float64) {
		t := math.Tanh(softplus(x))
		u := x * (1 - t*t) * sigmoid(x)
		return t + u, max(t, math.Abs(u))
	}, 5.5, 88 * smallestNormal},
	{"SwishBackward", func(y, x []float32) {
		for i := range y {
			y[i] = 1
		}
		Swish.Backward(y, nil, x)
	}, func(x float64) (float64, float64) {
		s := sigmoid(x)
		u := x * s * sigmoid(-x)
		return s + u, max(s, math.Abs(u))
	}, 5.5, 88 * smallestNormal},
}

// seluRef is SELU, rounded to float32 where that is infinite.
func seluRef(x float64) float64 {
	y := seluScale * x
	if x <= 0 {
		y = seluScale * seluAlpha * math.Expm1(x)
	}
	if f := float64(float32(y)); math.IsInf(f, 0) {
		return f
	}
	return y
}

// forwardCases are mathCases without gradients.
var forwardCases = mathCases[:len(mathCases)-2]

// mathInputs are numbers of all exponents and signs, denormals and infinities
// among them, and a dense set where the functions bend.
func mathInputs(rng testRand) []float32 {
	x := []float32{0, float32(math.Copysign(0, -1)), 1e-45, -1e-45, 1.1754942e-38, smallestNormal, -smallestNormal,
		math.MaxFloat32, -math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), 20, 19.999998, 20.000002,
		0.625, -0.625, 0.62499994, 88.72284, -88.72284, -87.33655, -87.33654, -103.97, -104, -104.01, 89, 89.00001}
	const step = 1<<32/200000 + 1
	for b := rng.Uint64N(step); b < 1<<32; b += step {
		x = append(x, math.Float32frombits(uint32(b)))
	}
	for range 100000 {
		x = append(x, float32(rng.NormFloat64()*4), float32(rng.Float64()*220-110))
	}
	return x
}

// The bounds of mathCases hold everywhere. The generic tier is held to the same.
func TestActivationErrors(t *testing.T) {
	x := mathInputs(newRand(t))
	for _, c := range mathCases {
		t.Run(c.name, func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				y := poison(len(x))
				c.run(y, x)
				worst, at := 0.0, 0
				for i, v := range x {
					want, term := c.want(float64(v))
					if want != want || math.IsInf(want, 0) {
						if !sameKind(float64(y[i]), want) {
							t.Fatalf("%s(%g) = %g, want %g", c.name, v, y[i], want)
						}
						continue
					}
					e := max(0, math.Abs(float64(y[i])-want)-c.flush) / ulp(term)
					if !(e <= worst) {
						worst, at = e, i
					}
				}
				t.Logf("largest error %.2f ulp, at %g: %g", worst, x[at], y[at])
				if !(worst <= c.ulps) {
					want, _ := c.want(float64(x[at]))
					t.Errorf("%s(%g) = %g, want %g: off by %.2f ulp, limit %g", c.name, x[at], y[at], want, worst, c.ulps)
				}
			})
		})
	}
}

// sameKind says whether both are NaN or the same infinity.
func sameKind(a, b float64) bool { return a == b || a != a && b != b }

// A result depends on its input alone: not on its place, on the length of the
// call or on other elements, be they NaN.
func TestActivationPlaces(t *testing.T) {
	rng := newRand(t)
	type pass struct {
		name string
		run  func(y, a, b []float32)
	}
	passes := []pass{
		{"SigmoidBackward", SigmoidBackward},
		{"TanhBackward", TanhBackward},
		{"MishBackward", MishBackward},
		{"ReLU2 backward", func(y, a, b []float32) { copy(y, a); ReLU2.Backward(y, nil, b) }},
		{"Swish backward", func(y, a, b []float32) { copy(y, a); Swish.Backward(y, nil, b) }},
		{"SELU backward", func(y, a, b []float32) { copy(y, a); SELU.Backward(y, nil, b) }},
		{"ReLUBackward", ReLUBackward},
		{"Add", Add},
		{"Axpy", func(y, a, b []float32) { copy(y, a); Axpy(y, 0.37, b) }},
		{"Scale", func(y, a, _ []float32) { copy(y, a); Scale(y, 0.37) }},
		{"SGDNesterov", func(y, a, b []float32) { copy(y, a); SGDNesterov(y, b, clone(b), 0.1, 0.9, 0.01) }},
		{"AdamW", func(y, a, b []float32) {
			copy(y, a)
			v := poison(len(a))
			for i := range v {
				v[i] = a[i] * a[i]
			}
			AdamW(y, b, clone(b), v, 0.1, 0.9, 0.99, 1e-8, 0.01, 0.5, 0.5)
		}},
		{"NAdamW", func(y, a, b []float32) {
			copy(y, a)
			v := poison(len(a))
			for i := range v {
				v[i] = a[i] * a[i]
			}
			NAdamW(y, b, clone(b), v, 0.1, 0.9, 0.99, 1e-8, 0.01, 2, 0.5, 0.5)
		}},
	}
	for _, c := range forwardCases {
		passes = append(passes, pass{c.name, func(y, a, _ []float32) { c.run(y, a) }})
	}
	const n = 67
	a, b := rng.floats(n), rng.floats(n)
	for _, c := range passes {
		t.Run(c.name, func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				whole := poison(n)
				c.run(whole, a, b)
				for lo := range 18 {
					for _, hi := range []int{lo, lo + 1, lo + 15, lo + 16, lo + 17, n} {
						part := poison(hi - lo + 1)
						c.run(part[:hi-lo], a[lo:hi], b[lo:hi])
						sameBits(t, fmt.Sprintf("[%d:%d]", lo, hi), part[:hi-lo], whole[lo:hi])
						if v := part[hi-lo]; v == v {
							t.Fatalf("[%d:%d]: wrote past the end", lo, hi)
						}
					}
				}
				spoilt := clone(a)
				for i := 0; i < n; i += 2 {
					spoilt[i] = float32(math.NaN())
				}
				y := poison(n)
				c.run(y, spoilt, b)
				for i := 1; i < n; i += 2 {
					sameBits(t, "beside NaN", y[i:i+1], whole[i:i+1])
				}
			})
		})
	}
}

func clone(x []float32) []float32 { return append([]float32(nil), x...) }

// Lengths beyond one call of the assembly, in place.
func TestActivationsLong(t *testing.T) {
	x := newRand(t).floats(2*maxCallFloatsTest + 5)
	for _, c := range forwardCases {
		want := make([]float64, len(x))
		for i, v := range x {
			want[i], _ = c.want(float64(v))
		}
		forTiers(t, func(t *testing.T) {
			y := clone(x)
			c.run(y, y)
			closeTo(t, c.name, y, want, nil, 3e-7)
		})
	}
}

const maxCallFloatsTest = 64 << 10

// A second pass gives the bits of the function without an activation and Act.Forward.
func TestSecondPass(t *testing.T) {
	rng := newRand(t)
	const rows, c = 64, 48
	x, w, a, b := rng.floats(rows*c), rng.floats(9*c*c), rng.floats(c), rng.floats(c)
	mat, half, halfScratch := make([]float32, PackedMatLen(c, c)), make([]float32, PackedMatBF16Len(c, c)), poison(MatMulBF16ScratchLen(c, c))
	PackMat(mat, w[:c*c], c, c)
	for name, f := range map[string]func(y []float32, act Act){
		"MatMul": func(y []float32, act Act) { MatMul(y, x, mat, b, rows, c, c, act) },
		"MatMulBF16": func(y []float32, act Act) {
			if MatMulHasBF16(c, c) {
				PackMatBF16(half, w[:c*c], c, c)
				MatMulBF16(y, x, half, b, rows, c, c, act, halfScratch)
			}
		},
		"Conv3": func(y []float32, act Act) {
			Conv3(y, x, packedConv(w, c, c, FP32), b, 1, c, c, act, FP32, make([]float32, Conv3ScratchLen(c, c, FP32)))
		},
		"BatchNormApply": func(y []float32, act Act) { BatchNormApply(y, f32s(x), a, b, nil, rows, c, act) },
		"SEApply":        func(y []float32, act Act) { SEApply(y, f32s(x), a, b, nil, 1, c, act) },
	} {
		t.Run(name, func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				for act := None; act <= SELU; act++ {
					y, want := make([]float32, rows*c), make([]float32, rows*c)
					f(want, None)
					act.Forward(want, want)
					f(y, act)
					sameBits(t, fmt.Sprint(act), y, want)
				}
			})
		})
	}
}
