package trainer

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
)

// TestOptimisticPolicy: rows that came out better than the short-term value count, the
// others hardly; a row without a target for either does not.
func TestOptimisticPolicy(t *testing.T) {
	for _, arch := range []nn.Arch{nntest.TinyArch().WithAuxiliary(), nn.SparseArch(nn.SparseBlock).WithAuxiliary()} {
		rows := encoding.NewTrainBatch(16)
		nntest.AppendRows(rows, rand.New(rand.NewPCG(1, 1)), 16)
		clear(rows.PolicyOf(5))
		measure := func(q float32, strength float64) (policy, optimistic Measure) {
			for i := range rows.N {
				rows.Targets[i][encoding.TargetRoot].Q = q
			}
			rows.Targets[2][encoding.TargetRoot].Q = float32(math.NaN())
			cfg := testConfig(arch, 16)
			for i := range cfg.Losses {
				if cfg.Losses[i].Kind == OptimisticCross {
					cfg.Losses[i].Strength = strength
				}
			}
			stats, err := newTestTrainer(t, nn.Init(arch, 1), cfg).Evaluate(context.Background(), &fixedSource{rows: rows, size: 16}, 16)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range stats.Losses {
				if m.Metric == "optimistic_loss" {
					optimistic = m
				}
			}
			return stats.Losses[0], optimistic
		}
		policy, all := measure(0, -10)
		if unknown := unknownPolicies(rows); policy.N != 16-unknown || all.N != policy.N-1 {
			t.Errorf("%s: %d policies are unknown, %d and %d rows counted", arch, unknown, policy.N, all.N)
		}
		if off := all.Mean/policy.Mean - 1; !(math.Abs(off) < .1) { // one row less
			t.Errorf("%s: %v of the rows of a policy loss of %v, where all count", arch, all.Mean, policy.Mean)
		}
		_, better := measure(1, 0)
		_, as := measure(0, 0)
		_, worse := measure(-1, 0)
		if !(better.Mean > .8*all.Mean && as.Mean < .7*all.Mean && as.Mean > .3*all.Mean && worse.Mean < .2*all.Mean) {
			t.Errorf("%s: %v where games came out better, %v as the value says, %v worse", arch, better.Mean, as.Mean, worse.Mean)
		}
	}
}
