package device

import (
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
)

// Learn returns what a row should learn of a term; a field that is not known is NaN.
// value is the form of the net's value head. A blend takes the parts that the row knows,
// renormalised: games without a search, such as imported ones, have a result and no root
// value, and would teach nothing if the unknown part masked the row. A part with share 0
// is not asked for, also where it alone is known. The CUDA loss kernel has the same rule
// (mixed in loss.cu).
func (t *Term) Learn(targets *[encoding.NumTargets]encoding.QDM, value string) encoding.QDM {
	base, other, r := targets[t.Target], targets[t.Other], t.Ratio
	switch {
	case r == 0 || r == 1:
	case !t.knows(other, value):
		r = 0
	case !t.knows(base, value):
		r = 1
	}
	switch r {
	case 0:
		return base
	case 1:
		return other
	}
	return encoding.QDM{
		Q: r*other.Q + (1-r)*base.Q,
		D: r*other.D + (1-r)*base.D,
		M: r*other.M + (1-r)*base.M,
	}
}

// knows says whether v has all fields that the head's formula reads. Q of one part
// beside D of another would be no distribution, so win, draw, loss needs both.
func (t *Term) knows(v encoding.QDM, value string) bool {
	switch {
	case t.Head == MovesLeft:
		return v.M == v.M
	case value == nn.ValueScalar:
		return v.Q == v.Q
	}
	return v.Q == v.Q && v.D == v.D
}

// Optimism of a row is the weight of its policy where moves count that turned out better
// than the value v said: sigmoid(3 (z - strength)). z is q - v in standard deviations, the
// roots of v's expected square error. Strength and formula are Leela's.
func Optimism(q, v, squareError, strength float64) float64 {
	z := (q - v) / (math.Sqrt(squareError) + 1e-5)
	return 1 / (1 + math.Exp(3*(strength-z)))
}

// Soften takes probabilities, or numbers in their proportions, to the power of 1/temperature
// and normalises them. Where all are 0 they stay so.
func Soften(p []float32, temperature float64) {
	sum := 0.0
	for j, v := range p {
		if v > 0 {
			x := math.Pow(float64(v), 1/temperature)
			p[j], sum = float32(x), sum+x
		}
	}
	for j := range p {
		if sum > 0 {
			p[j] /= float32(sum)
		}
	}
}

// WDL returns the win, draw and loss probabilities of a target, cut to [0,1] and
// normalised; NaN where Q or D is not known.
func WDL(t encoding.QDM) [3]float32 {
	w, d, l := t.WDL()
	wdl := [3]float32{max(w, 0), max(d, 0), max(l, 0)} // max keeps NaN
	sum := wdl[0] + wdl[1] + wdl[2]
	for i := range wdl {
		wdl[i] /= sum
	}
	return wdl
}
