package trainer

import (
	"math"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

func TestTally(t *testing.T) {
	var a, b tally
	for i, x := range []float64{1, 2, 3, 4} {
		if i < 2 {
			a.add(x, 1)
		} else {
			b.add(x, 1)
		}
	}
	a.merge(&b)
	near(t, "mean", a.mean(), 2.5, 1e-12)
	near(t, "standard error", a.stdErr(), math.Sqrt(5.0/3/4), 1e-12)
	var w tally
	w.add(1, 3)
	w.add(5, 1)
	near(t, "weighted mean", w.mean(), 2, 1e-12)
	var empty tally
	if !math.IsNaN(empty.mean()) || !math.IsNaN(empty.stdErr()) {
		t.Error("an empty tally is not NaN")
	}
}

// TestStdErrOf: rows of one game have one result between them, but moves of their own.
func TestStdErrOf(t *testing.T) {
	value, policy := Measure{StdErr: 0.01, N: 200}, Measure{StdErr: 0.01, N: 200, moves: true}
	near(t, "of a value", value.StdErrOf(8), 0.05, 1e-12)
	near(t, "of games with a row each, and fewer", value.StdErrOf(400), 0.01, 1e-12)
	near(t, "of games that are not known", value.StdErrOf(0), 0.01, 1e-12)
	near(t, "of a policy", policy.StdErrOf(8), 0.01, 1e-12)
}

func TestLossTarget(t *testing.T) {
	nan := float32(math.NaN())
	var targets [encoding.NumTargets]encoding.QDM
	for i := range targets {
		targets[i] = encoding.UnknownQDM
	}
	targets[encoding.TargetResult] = encoding.QDM{Q: 1, D: 0, M: 40}
	targets[encoding.TargetRoot] = encoding.QDM{Q: .2, D: .5, M: nan}
	mix := func(r float64, other encoding.Target) *Loss {
		return &Loss{Head: HeadValue, Kind: WDLCrossEntropy, Target: encoding.TargetResult, Mix: &Mix{QRatio: r, Other: other}}
	}
	got := mix(.25, encoding.TargetRoot).target(&targets)
	near(t, "mixed Q", float64(got.Q), .8, 1e-6)
	near(t, "mixed D", float64(got.D), .125, 1e-6)
	if got := mix(0, encoding.TargetBest).target(&targets); got.Q != 1 {
		t.Errorf("q_ratio 0 asked for an unknown target: %v", got)
	}
	if got := mix(1, encoding.TargetRoot).target(&targets); got.Q != .2 {
		t.Errorf("q_ratio 1 is not the other target: %v", got)
	}
}

// TestMixOfKnownParts: a mix of which one part is not known is the other part
// alone; what counts as known is what the head's formula reads.
func TestMixOfKnownParts(t *testing.T) {
	nan := float32(math.NaN())
	whole, other := encoding.QDM{Q: 1, D: 0, M: 40}, encoding.QDM{Q: .2, D: .5, M: 10}
	noDraws, noPlies := encoding.QDM{Q: .2, D: nan, M: 10}, encoding.QDM{Q: .2, D: .5, M: nan}
	wdl := Loss{Head: HeadValue, Kind: WDLCrossEntropy}
	scalar := Loss{Head: HeadValue, Kind: MSE}
	plies := Loss{Head: HeadMovesLeft, Kind: Huber}
	for _, c := range []struct {
		what          string
		loss          Loss
		result, root  encoding.QDM
		q, draw, left float64
	}{
		{"both known", wdl, whole, other, .6, .25, 25},
		{"no search", wdl, whole, encoding.UnknownQDM, 1, 0, 40},
		{"no result", wdl, encoding.UnknownQDM, other, .2, .5, 10},
		{"nothing", wdl, encoding.UnknownQDM, encoding.UnknownQDM, math.NaN(), math.NaN(), math.NaN()},
		{"a search without draws", wdl, whole, noDraws, 1, 0, 40},
		{"draws do not matter", scalar, whole, noDraws, .6, math.NaN(), 25},
		{"plies are not known", plies, whole, noPlies, 1, 0, 40},
		{"plies do not matter", wdl, whole, noPlies, .6, .25, math.NaN()},
	} {
		var targets [encoding.NumTargets]encoding.QDM
		targets[encoding.TargetResult], targets[encoding.TargetRoot] = c.result, c.root
		c.loss.Target, c.loss.Mix = encoding.TargetResult, &Mix{QRatio: .5, Other: encoding.TargetRoot}
		got := c.loss.target(&targets)
		for field, pair := range map[string][2]float64{"Q": {float64(got.Q), c.q}, "D": {float64(got.D), c.draw}, "M": {float64(got.M), c.left}} {
			if math.IsNaN(pair[0]) != math.IsNaN(pair[1]) || math.Abs(pair[0]-pair[1]) > 1e-6 {
				t.Errorf("%s: %s is %v, want %v", c.what, field, pair[0], pair[1])
			}
		}
	}
}
