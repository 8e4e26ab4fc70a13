package trainer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// testPolicyRow is policyRowLoss of one row whose legal moves are the policy
// indices 0 to len(z)-1.
func testPolicyRow(dz, z, target []float32, scale float32) policyRow {
	b := encoding.NewTrainBatch(1)
	i := b.Grow(len(z))
	for j := range z {
		b.LegalOf(i)[j] = uint16(j)
	}
	copy(b.PolicyOf(i), target)
	return policyRowLoss(dz, make([]float32, len(z)), z, kernel.NewFlatPolicyOffsets(), b, i, scale)
}

// checkRowGradient holds an analytic gradient (float32) against central
// differences of the loss (float64). 2e-3 is what float32 inputs allow at this step.
func checkRowGradient(t *testing.T, what string, z []float32, loss func(dz, z []float32) float64) {
	t.Helper()
	dz, none := make([]float32, len(z)), make([]float32, len(z))
	loss(dz, z)
	for i := range z {
		const h = 1.0 / 256
		old := z[i]
		z[i] = old + h
		up := loss(none, z)
		z[i] = old - h
		down := loss(none, z)
		z[i] = old
		near(t, what, float64(dz[i]), (up-down)/(2*h), 2e-3)
	}
}

func TestRowLossGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		z := make([]float32, 5)
		for i := range z {
			z[i] = float32(rng.NormFloat64()) * 2
		}
		target := []float32{.5, 0, .25, .25, 0}
		checkRowGradient(t, "policy", z, func(dz, z []float32) float64 {
			return 3 * testPolicyRow(dz, z, target, 3).value
		})
		qdm := encoding.QDM{Q: .25, D: .5, M: 31}
		checkRowGradient(t, "wdl", z[:3], func(dz, z []float32) float64 {
			r, _ := wdlRowLoss(dz, z, qdm, 2)
			return 2 * r.value
		})
		checkRowGradient(t, "mse", z[:1], func(dz, z []float32) float64 {
			r, _ := scalarRowLoss(dz, z, qdm, 2)
			return 2 * r.value
		})
		m := []float32{float32(20 + 20*rng.Float64())}
		checkRowGradient(t, "huber", m, func(dz, z []float32) float64 {
			return 40 * movesLeftRowLoss(dz, z, qdm, 40).value
		})
	}
}

func TestRowLossValues(t *testing.T) {
	dz := make([]float32, 4)
	r := testPolicyRow(dz, make([]float32, 4), []float32{1, 0, 0, 0}, 1)
	near(t, "uniform policy loss", r.value, math.Log(4), 1e-12)
	near(t, "uniform entropy", r.entropy, math.Log(4), 1e-12)
	near(t, "legal entropy", r.legalEntropy, math.Log(4), 1e-12)
	near(t, "one-hot target entropy", r.targetEntropy, 0, 1e-12)

	v, hit := wdlRowLoss(dz, []float32{0, 0, 0}, encoding.QDM{Q: 1, D: 0}, 1)
	near(t, "uniform WDL loss", v.value, math.Log(3), 1e-12)
	if !hit {
		t.Error("the first of equal outcomes is the win")
	}
	// Plies 30 against 10: 20/20 = 1 is beyond delta .5: .5*(1-.25).
	near(t, "Huber far", movesLeftRowLoss(dz, []float32{30}, encoding.QDM{M: 10}, 1).value, .375, 1e-9)
	near(t, "Huber close", movesLeftRowLoss(dz, []float32{14}, encoding.QDM{M: 10}, 1).value, .02, 1e-9)
}

// TestRowLossMasked: an unknown target, a row without moves and a huge logit
// span are no NaN and leave no gradient.
func TestRowLossMasked(t *testing.T) {
	nan := float32(math.NaN())
	dz := []float32{0, 0, 0}
	z := []float32{1, 2, 3}
	if r := testPolicyRow(dz, z, []float32{nan, nan, nan}, 1); r.known {
		t.Error("a NaN policy target was learnt")
	}
	if r := testPolicyRow(dz, z, []float32{0, 0, 0}, 1); r.known {
		t.Error("an empty policy target was learnt")
	}
	if r := testPolicyRow(nil, nil, nil, 1); r.known {
		t.Error("a row without moves was learnt")
	}
	for name, r := range map[string]rowLoss{
		"wdl":   first(wdlRowLoss(dz, z, encoding.UnknownQDM, 1)),
		"d nan": first(wdlRowLoss(dz, z, encoding.QDM{Q: 1, D: nan}, 1)),
		"mse":   first(scalarRowLoss(dz, z, encoding.UnknownQDM, 1)),
		"huber": movesLeftRowLoss(dz, z, encoding.UnknownQDM, 1),
	} {
		if r.known || r.value != 0 {
			t.Errorf("%s: an unknown target counts: %+v", name, r)
		}
	}
	for _, g := range dz {
		if g != 0 {
			t.Errorf("unknown targets left a gradient %v", dz)
		}
	}
	r := testPolicyRow(dz, []float32{-1e30, 0, 1e4}, []float32{0, 1, 0}, 1)
	near(t, "wide logits", r.value, 1e4, 1e-2)
}

func first(r rowLoss, _ bool) rowLoss { return r }

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
