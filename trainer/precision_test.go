package trainer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// TestLossCurveBF16: with bf16 products the objective of a run falls as with fp32
// ones; 8e-5 of it were seen between them.
func TestLossCurveBF16(t *testing.T) {
	if !kernel.HasBF16() {
		t.Skip("SKIPPED: this CPU has no bf16 products")
	}
	arch := nntest.TinyArch()
	rows := encoding.NewTrainBatch(64)
	nntest.AppendRows(rows, rand.New(rand.NewPCG(9, 9)), 64)
	curve := func(amp bool) (objectives []float64) {
		cfg := testConfig(arch, 32)
		cfg.Precision = precisionOf(amp)
		tr, src := newTestTrainer(t, nn.Init(arch, 1), cfg), &fixedSource{rows: rows, size: 32}
		for range 60 {
			objectives = append(objectives, mustStep(t, tr, src).Objective)
		}
		return objectives
	}
	want, got := curve(false), curve(true)
	worst := 0.0
	for i := range want {
		worst = max(worst, math.Abs(got[i]/want[i]-1))
	}
	last := len(want) - 1
	t.Logf("objective %.4f -> fp32 %.4f, bf16 %.4f; apart by %.2g of it at most", want[0], want[last], got[last], worst)
	if !(worst < 1e-3) || !(got[last] < 0.85*got[0]) {
		t.Errorf("objective %v -> fp32 %v, bf16 %v; apart by %.3g of it at most", want[0], want[last], got[last], worst)
	}
}
