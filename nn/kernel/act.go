package kernel

import (
	"math"
	"slices"
)

// Act is an activation function applied to a result before it is stored.
type Act uint8

// The activations.
const (
	None  Act = iota // identity
	ReLU             // max(0, x); NaN stays NaN
	Mish             // x * tanh(softplus(x)); a second pass over the output, as all that follow
	ReLU2            // max(0, x)^2; NaN stays NaN
	Swish            // x * sigmoid(x)
	SELU             // seluScale*x where x > 0, else seluScale*seluAlpha*(exp(x)-1)
)

var actNames = [...]string{"none", "relu", "mish", "relu2", "swish", "selu"}

// ActOf returns the activation of a name of package nn. It panics at one that is none.
func ActOf(name string) Act {
	i := slices.Index(actNames[:], name)
	if i < 0 {
		panic("kernel: no activation " + name)
	}
	return Act(i)
}

// The constants of SELU (Klambauer et al., Self-Normalizing Neural Networks, 2017).
const (
	seluScale = 1.05070098
	seluAlpha = 1.67326324
)

// split divides act into the part that kernels apply and that of a second pass over
// their output, None where there is none.
func (a Act) split() (inKernel, after Act) {
	if a == ReLU {
		return a, None
	}
	return None, a
}

// second is the second pass of split over y.
func (a Act) second(y []float32) {
	if a != None {
		a.Forward(y, y)
	}
}

// Forward sets y = act(x). y may be x.
func (a Act) Forward(y, x []float32) {
	switch a {
	case ReLU:
		ReLUForward(y, x)
	case Mish:
		MishForward(y, x)
	case ReLU2:
		square(y, x, unlimited)
	case Swish:
		swish(y, x)
	case SELU:
		selu(y, x)
	default:
		copy(y, x)
	}
}

// Backward turns d, the gradient of y = act(x), into that of x, in place.
func (a Act) Backward(d, y, x []float32) {
	switch a {
	case ReLU:
		ReLUBackward(d, d, y)
	case Mish:
		MishBackward(d, d, x)
	case ReLU2:
		squareBackward(d, d, x, unlimited)
	case Swish:
		swishBackward(d, x)
	case SELU:
		seluBackward(d, x)
	}
}

// ReLUForward sets y = max(0, x). y may be x.
func ReLUForward(y, x []float32) {
	y = y[:len(x)]
	if vecFlat(flatReLU, y, x, nil, 0) {
		return
	}
	for i := range x {
		y[i] = relu(x[i])
	}
}

// ReLUBackward sets dx = dy where y > 0, else 0; y is the activation's output.
// dx may be dy.
func ReLUBackward(dx, dy, y []float32) {
	dx, y = dx[:len(dy)], y[:len(dy)]
	if vecFlat(flatReLUBackward, dx, dy, y, 0) {
		return
	}
	for i := range dy {
		if y[i] > 0 {
			dx[i] = dy[i]
		} else {
			dx[i] = 0
		}
	}
}

// MishForward sets y = x*tanh(softplus(x)). y may be x. Vector tiers: within 4
// ulp, or 88*2^-126 where exp(x) is flushed (x < -87.3). NaN and -Inf give NaN.
func MishForward(y, x []float32) {
	mapped(mathMish, y, x, x, func(v, _ float32) float32 { return float32(float64(v) * math.Tanh(softplus(float64(v)))) })
}

// MishBackward sets dx = dy * mish'(x); x is the activation's input. dx may be dy.
// Vector tiers: mish' is within 5.5 ulp of the larger of its two terms, or
// 88*2^-126. NaN and infinities of x give NaN.
func MishBackward(dx, dy, x []float32) {
	mapped(mathMishBackward, dx, dy[:len(x)], x, func(dy, v float32) float32 {
		z := float64(v)
		t := math.Tanh(softplus(z))
		return float32(float64(dy) * (t + z*(1-t*t)*sigmoid(z)))
	})
}

// swish sets y = x*sigmoid(x). y may be x. Vector tiers: within 4 ulp, or 88*2^-126 where
// the sigmoid is flushed (x < -87.3). NaN and -Inf give NaN.
func swish(y, x []float32) {
	mapped(mathSwish, y, x, x, func(v, _ float32) float32 { return float32(float64(v) * sigmoid(float64(v))) })
}

// swishBackward sets d *= swish'(x). Vector tiers: swish' is within 5.5 ulp of the larger
// of its two terms, or 88*2^-126. NaN and infinities of x give NaN.
func swishBackward(d, x []float32) {
	mapped(mathSwishBackward, d, d, x, func(dy, v float32) float32 {
		s := sigmoid(float64(v))
		return float32(float64(dy) * s * (1 + float64(v)*(1-s)))
	})
}

// selu sets y = SELU(x). y may be x.
func selu(y, x []float32) {
	each(y, x, x, func(v, _ float32) float32 {
		if v > 0 {
			return float32(seluScale * float64(v))
		}
		return float32(seluScale * seluAlpha * math.Expm1(float64(v)))
	})
}

// seluBackward sets d *= SELU'(x).
func seluBackward(d, x []float32) {
	each(d, d, x, func(dy, v float32) float32 {
		if v > 0 {
			return seluScale * dy
		}
		return float32(seluScale * seluAlpha * float64(dy) * math.Exp(float64(v)))
	})
}

// Sigmoid sets y = 1/(1+exp(-x)). y may be x. Vector tiers: within 2.5 ulp, or
// 2^-126. NaN passes.
func Sigmoid(y, x []float32) {
	mapped(mathSigmoid, y, x, x, func(v, _ float32) float32 { return float32(sigmoid(float64(v))) })
}

// SigmoidBackward sets dx = dy*y*(1-y); y is the sigmoid's output. dx may be dy.
func SigmoidBackward(dx, dy, y []float32) {
	mapped(mathSigmoidBackward, dx, dy[:len(y)], y, func(dy, v float32) float32 { return dy * v * (1 - v) })
}

// Tanh sets y = tanh(x). y may be x. Vector tiers: within 1.5 ulp, or 2^-126. NaN
// passes.
func Tanh(y, x []float32) {
	mapped(mathTanh, y, x, x, func(v, _ float32) float32 { return float32(math.Tanh(float64(v))) })
}

// TanhBackward sets dx = dy*(1-y*y); y is Tanh's output. dx may be dy.
func TanhBackward(dx, dy, y []float32) {
	mapped(mathTanhBackward, dx, dy[:len(y)], y, func(dy, v float32) float32 { return dy * (1 - v*v) })
}

// mapped sets y = f(a, b), by the kernel op where the tier has it.
func mapped(op flatOp, y, a, b []float32, f func(a, b float32) float32) {
	y, b = y[:len(a)], b[:len(a)]
	if !vecFlat(op, y, a, b, 0) {
		each(y, a, b, f)
	}
}

// each sets y = f(a, b).
func each(y, a, b []float32, f func(a, b float32) float32) {
	y, b = y[:len(a)], b[:len(a)]
	for i, v := range a {
		y[i] = f(v, b[i])
	}
}

func relu(v float32) float32 {
	return max(v, 0) // no branch: signs of activations are not predictable
}

func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// softplus returns log(1+exp(x)) without overflow.
func softplus(x float64) float64 {
	if x > 30 {
		return x
	}
	return math.Log1p(math.Exp(x))
}
