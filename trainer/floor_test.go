package trainer

import (
	"math"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
)

// Two rows: a policy of 1/4 and 3/4 has entropy 0.5623 nats, a sharp one 0; half
// a draw and a quarter of each result has 1.0397 nats. Weights count as 1 and 3.
func TestFloors(t *testing.T) {
	b := encoding.NewTrainBatch(4)
	b.Grow(2)
	copy(b.PolicyOf(0), []float32{.25, .75})
	b.Targets[0][encoding.TargetResult] = encoding.QDM{Q: 0, D: .5, M: 10}
	b.Grow(2)
	copy(b.PolicyOf(1), []float32{1, 0})
	b.Targets[1][encoding.TargetResult] = encoding.QDM{Q: 1, D: 0, M: 20}
	b.Weight[1] = 3
	b.Grow(1) // nothing known
	losses := []Loss{
		{Head: HeadPolicy, Kind: CrossEntropy, Metric: "p"},
		{Head: HeadValue, Kind: WDLCrossEntropy, Target: encoding.TargetResult, Metric: "v"},
		{Head: HeadMovesLeft, Kind: Huber, Target: encoding.TargetResult, Metric: "m"},
		{Head: HeadWeights, Kind: L2, Metric: "l2"},
		{Head: HeadValue, Kind: WDLCrossEntropy, Target: encoding.TargetBest, Metric: "unknown"},
	}
	f := Floors(losses, b)
	for i, want := range []struct {
		mean float64
		n    int
	}{{0.562335 / 4, 2}, {1.039721 / 4, 2}, {0, 2}, {0, 0}, {math.NaN(), 0}} {
		if got := f[i]; got.Metric != losses[i].Metric || got.N != want.n || !(math.Abs(got.Mean-want.mean) < 1e-6) && !(math.IsNaN(want.mean) && math.IsNaN(got.Mean)) {
			t.Errorf("%s: %+v, want mean %v of %d rows", losses[i].Metric, got, want.mean, want.n)
		}
	}
}

// A net that answers with the targets has the floor as its loss: no measured loss
// lies below it.
func TestFloorsBoundLosses(t *testing.T) {
	a := nntest.TinyArch()
	cfg := testConfig(a, 32)
	tr := newTestTrainer(t, nntest.Net(a, 4), cfg)
	rows := encoding.NewTrainBatch(32)
	nntest.AppendRows(rows, newRowsSource(5, 32, 1).rng, 32)
	s := mustStep(t, tr, &fixedSource{rows: rows, size: 32})
	for i, f := range Floors(cfg.Losses, rows) {
		l := s.Losses[i]
		if l.Metric != f.Metric || l.N != f.N || l.Mean < f.Mean-1e-6 {
			t.Errorf("loss %+v, floor %+v", l, f)
		}
		if l.Metric == "policy_loss" && math.Abs(f.Mean-s.PolicyTargetEntropy) > 1e-6 {
			t.Errorf("policy floor %v, target entropy %v", f.Mean, s.PolicyTargetEntropy)
		}
	}
}
