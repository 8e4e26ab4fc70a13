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

func TestLossTarget(t *testing.T) {
	nan := float32(math.NaN())
	var targets [encoding.NumTargets]encoding.QDM
	for i := range targets {
		targets[i] = encoding.UnknownQDM
	}
	targets[encoding.TargetResult] = encoding.QDM{Q: 1, D: 0, M: 40}
	targets[encoding.TargetRoot] = encoding.QDM{Q: .2, D: .5, M: nan}
	mix := func(r float64, other encoding.Target) *Loss {
		return &Loss{Target: encoding.TargetResult, Mix: &Mix{QRatio: r, Other: other}}
	}
	got := mix(.25, encoding.TargetRoot).target(&targets)
	near(t, "mixed Q", float64(got.Q), .8, 1e-6)
	near(t, "mixed D", float64(got.D), .125, 1e-6)
	if !math.IsNaN(float64(got.M)) {
		t.Error("a mix with an unknown part is known")
	}
	if got := mix(0, encoding.TargetBest).target(&targets); got.Q != 1 {
		t.Errorf("q_ratio 0 asked for an unknown target: %v", got)
	}
	if got := mix(1, encoding.TargetRoot).target(&targets); got.Q != .2 {
		t.Errorf("q_ratio 1 is not the other target: %v", got)
	}
}
