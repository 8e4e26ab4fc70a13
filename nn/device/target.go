package device

import "github.com/chessbrain/chessbrain/encoding"

// Learn returns what a row should learn of a term; a field that is not known is NaN. A
// blend is known where both parts are, but a part with share 0 is not asked for.
func (t *Term) Learn(targets *[encoding.NumTargets]encoding.QDM) encoding.QDM {
	base := targets[t.Target]
	if t.Ratio == 0 {
		return base
	}
	other := targets[t.Other]
	if t.Ratio == 1 {
		return other
	}
	r := t.Ratio
	return encoding.QDM{
		Q: r*other.Q + (1-r)*base.Q,
		D: r*other.D + (1-r)*base.D,
		M: r*other.M + (1-r)*base.M,
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
