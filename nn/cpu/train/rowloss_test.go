package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// testPolicyRow is policyRowLoss of one row whose legal moves are the policy
// indices 0 to len(z)-1.
func testPolicyRow(dz, z, target []float32, scale float32) (rowLoss, float64) {
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
			r, _ := testPolicyRow(dz, z, target, 3)
			return 3 * r.value
		})
		qdm := encoding.QDM{Q: .25, D: .5, M: 31}
		checkRowGradient(t, "wdl", z[:3], func(dz, z []float32) float64 {
			return 2 * wdlRowLoss(dz, z, qdm, 2).value
		})
		checkRowGradient(t, "mse", z[:1], func(dz, z []float32) float64 {
			return 2 * scalarRowLoss(dz, z, qdm, 2).value
		})
		m := []float32{float32(20 + 20*rng.Float64())}
		checkRowGradient(t, "huber", m, func(dz, z []float32) float64 {
			return 40 * movesLeftRowLoss(dz, z, qdm, 40).value
		})
	}
}

func TestRowLossValues(t *testing.T) {
	dz := make([]float32, 4)
	r, entropy := testPolicyRow(dz, make([]float32, 4), []float32{1, 0, 0, 0}, 1)
	near(t, "uniform policy loss", r.value, math.Log(4), 1e-12)
	near(t, "uniform entropy", entropy, math.Log(4), 1e-12)

	v := wdlRowLoss(dz, []float32{0, 0, 0}, encoding.QDM{Q: 1, D: 0}, 1)
	near(t, "uniform WDL loss", v.value, math.Log(3), 1e-12)
	if !v.hit {
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
	if r, _ := testPolicyRow(dz, z, []float32{nan, nan, nan}, 1); r.known {
		t.Error("a NaN policy target was learnt")
	}
	if r, _ := testPolicyRow(dz, z, []float32{0, 0, 0}, 1); r.known {
		t.Error("an empty policy target was learnt")
	}
	if r, _ := testPolicyRow(nil, nil, nil, 1); r.known {
		t.Error("a row without moves was learnt")
	}
	for name, r := range map[string]rowLoss{
		"wdl":   wdlRowLoss(dz, z, encoding.UnknownQDM, 1),
		"d nan": wdlRowLoss(dz, z, encoding.QDM{Q: 1, D: nan}, 1),
		"mse":   scalarRowLoss(dz, z, encoding.UnknownQDM, 1),
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
	r, _ := testPolicyRow(dz, []float32{-1e30, 0, 1e4}, []float32{0, 1, 0}, 1)
	near(t, "wide logits", r.value, 1e4, 1e-2)
}
