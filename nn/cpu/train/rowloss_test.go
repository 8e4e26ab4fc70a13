package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// testPolicyRow is the policy loss of one row whose legal moves are the policy
// indices 0 to len(z)-1.
func testPolicyRow(dz, z, target []float32, scale float32) kernel.RowLoss {
	legal := make([]uint16, len(z))
	for j := range z {
		legal[j] = uint16(j)
	}
	return kernel.PolicyCrossEntropy(dz, make([]float32, len(z)), z, kernel.NewFlatPolicyOffsets(), legal, target, scale)
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
			return 3 * testPolicyRow(dz, z, target, 3).Loss
		})
		qdm := encoding.QDM{Q: .25, D: .5, M: 31}
		checkRowGradient(t, "wdl", z[:3], func(dz, z []float32) float64 {
			return 2 * wdlRowLoss(dz, z, qdm, 2).Loss
		})
		checkRowGradient(t, "mse", z[:1], func(dz, z []float32) float64 {
			return 2 * scalarRowLoss(dz, z, qdm, 2).Loss
		})
		m := []float32{float32(20 + 20*rng.Float64())}
		checkRowGradient(t, "huber", m, func(dz, z []float32) float64 {
			return 40 * movesLeftRowLoss(dz, z, qdm, 40).Loss
		})
	}
}

func TestRowLossValues(t *testing.T) {
	dz := make([]float32, 4)
	r := testPolicyRow(dz, make([]float32, 4), []float32{1, 0, 0, 0}, 1)
	near(t, "uniform policy loss", r.Loss, math.Log(4), 1e-12)
	near(t, "uniform entropy", r.Entropy, math.Log(4), 1e-12)

	v := wdlRowLoss(dz, []float32{0, 0, 0}, encoding.QDM{Q: 1, D: 0}, 1)
	near(t, "uniform WDL loss", v.Loss, math.Log(3), 1e-12)
	if !v.Hit {
		t.Error("the first of equal outcomes is the win")
	}
	// Plies 30 against 10: 20/20 = 1 is beyond delta .5: .5*(1-.25).
	near(t, "Huber far", movesLeftRowLoss(dz, []float32{30}, encoding.QDM{M: 10}, 1).Loss, .375, 1e-9)
	near(t, "Huber close", movesLeftRowLoss(dz, []float32{14}, encoding.QDM{M: 10}, 1).Loss, .02, 1e-9)
}

// TestRowLossMasked: an unknown target, a row without moves and a huge logit
// span are no NaN and leave no gradient.
func TestRowLossMasked(t *testing.T) {
	nan := float32(math.NaN())
	dz := []float32{0, 0, 0}
	z := []float32{1, 2, 3}
	if r := testPolicyRow(dz, z, []float32{nan, nan, nan}, 1); r.Known {
		t.Error("a NaN policy target was learnt")
	}
	if r := testPolicyRow(dz, z, []float32{0, 0, 0}, 1); r.Known {
		t.Error("an empty policy target was learnt")
	}
	if r := testPolicyRow(nil, nil, nil, 1); r.Known {
		t.Error("a row without moves was learnt")
	}
	for name, r := range map[string]kernel.RowLoss{
		"wdl":   wdlRowLoss(dz, z, encoding.UnknownQDM, 1),
		"d nan": wdlRowLoss(dz, z, encoding.QDM{Q: 1, D: nan}, 1),
		"mse":   scalarRowLoss(dz, z, encoding.UnknownQDM, 1),
		"huber": movesLeftRowLoss(dz, z, encoding.UnknownQDM, 1),
	} {
		if r.Known || r.Loss != 0 {
			t.Errorf("%s: an unknown target counts: %+v", name, r)
		}
	}
	for _, g := range dz {
		if g != 0 {
			t.Errorf("unknown targets left a gradient %v", dz)
		}
	}
	r := testPolicyRow(dz, []float32{-1e30, 0, 1e4}, []float32{0, 1, 0}, 1)
	near(t, "wide logits", r.Loss, 1e4, 1e-2)
}
