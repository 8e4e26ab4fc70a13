package trainer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// likeness is the cosine between two gradients and the ratio of their lengths.
func likeness(a, b []float32) (cosine, ratio float64) {
	aa, bb := dot(a, widen(a)), dot(b, widen(b))
	return dot(a, widen(b)) / math.Sqrt(aa*bb), math.Sqrt(aa / bb)
}

// TestGradientsBF16: gradients of a whole net with bf16 products point where the
// fp32 ones do. A product's factors carry errors of some 0.2 % and Winograd's
// transforms make 1.2 to 1.5 % of a convolution's result of them, of random sign,
// which sums over boards and squares average out; each layer adds its own.
func TestGradientsBF16(t *testing.T) {
	if !kernel.HasBF16() {
		t.Skip("SKIPPED: this CPU has no bf16 products")
	}
	arch := nn.DefaultArch()
	arch.Filters, arch.Blocks = 32, 4
	mish, classical := arch, arch
	mish.Activation = nn.Mish
	classical.PolicyHead, classical.SERatio = nn.PolicyClassical, 0
	const rows = 64
	for name, a := range map[string]nn.Arch{"se": arch, "mish": mish, "classical without se": classical} {
		t.Run(name, func(t *testing.T) {
			net := testNet(a, 6)
			b := encoding.NewTrainBatch(rows)
			randomRows(b, rand.New(rand.NewPCG(7, 7)), rows)
			cfg := testConfig(a, rows)
			want, objective := gradients(t, newTestTrainer(t, net, cfg), b, batchStats)
			cfg.AMP = true
			got, objectiveHalf := gradients(t, newTestTrainer(t, net, cfg), b, batchStats)
			near(t, "objective", objectiveHalf, objective, 2e-3*objective)
			var allGot, allWant []float32
			same := true
			for i, spec := range nn.Specs(a) {
				if want[i] == nil {
					continue
				}
				allGot, allWant = append(allGot, got[i]...), append(allWant, want[i]...)
				cosine, ratio := likeness(got[i], want[i])
				if !(cosine > 0.99) || !(math.Abs(ratio-1) < 0.03) {
					t.Errorf("%s: cosine %.6f, ratio of lengths %.5f", spec.Name, cosine, ratio)
				}
				same = same && cosine == 1
			}
			cosine, ratio := likeness(allGot, allWant)
			t.Logf("whole gradient: cosine %.6f, ratio of lengths %.5f", cosine, ratio)
			if !(cosine > 0.9995) || !(math.Abs(ratio-1) < 0.005) {
				t.Errorf("whole gradient: cosine %.6f, ratio of lengths %.5f", cosine, ratio)
			}
			if same {
				t.Error("all gradients are those of fp32: nothing was computed in bf16")
			}
		})
	}
}

// TestLossCurveBF16: with bf16 products the losses of a run fall as with fp32 ones.
func TestLossCurveBF16(t *testing.T) {
	if !kernel.HasBF16() {
		t.Skip("SKIPPED: this CPU has no bf16 products")
	}
	arch := tinyArch()
	rows := encoding.NewTrainBatch(64)
	randomRows(rows, rand.New(rand.NewPCG(9, 9)), 64)
	curve := func(amp bool) (objectives []float64) {
		cfg := testConfig(arch, 32)
		cfg.AMP = amp
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
	if !(worst < 0.02) || !(got[last] < 0.8*got[0]) {
		t.Errorf("objective %v -> fp32 %v, bf16 %v; apart by %.3g of it at most", want[0], want[last], got[last], worst)
	}
}
