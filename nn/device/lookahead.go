package device

import "math"

// Lookahead is the momentum of NAdam. In step t = 1, 2, ... with the gradient g, the
// direction of the step is, in the place of Adam's m/(1-beta1^t),
//
//	mu(t+1)*m/(1-mu(1)*...*mu(t+1)) + (1-mu(t))*g/(1-mu(1)*...*mu(t))
//
// With Decay 0 mu is Beta1: this is optax.nadamw, which lczero-training takes. Else
// mu(t) = Beta1*(1-0.5*0.96^(Decay*t)), as Dozat 2016 and PyTorch's NAdam have it with 0.004.
type Lookahead struct {
	Beta1, Decay float64
	product      float64 // of mu(1) to mu(counted)
	counted      int64
}

// negligible is a product next to which 1 is all that is left of 1-product.
const negligible = 0x1p-60

// Shares returns the factors of m and of g in step t. They follow from t alone, bit for
// bit: products are multiplied in the order of steps, anew where t is an earlier step.
func (l *Lookahead) Shares(t int64) (cm, cg float32) {
	if l.counted == 0 || l.counted > t {
		l.product, l.counted = 1, 0
	}
	for l.counted < t && (l.counted == 0 || l.product > negligible) {
		l.counted++
		l.product *= l.mu(l.counted)
	}
	next := l.mu(t + 1)
	return float32(next / (1 - l.product*next)), float32((1 - l.mu(t)) / (1 - l.product))
}

func (l *Lookahead) mu(t int64) float64 {
	if l.Decay == 0 {
		return l.Beta1
	}
	return l.Beta1 * (1 - 0.5*math.Pow(0.96, l.Decay*float64(t)))
}
