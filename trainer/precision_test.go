package trainer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/nn/nntest"
)

// likeness is the cosine between two gradients and the ratio of their lengths.
func likeness(a, b []float32) (cosine, ratio float64) {
	aa, bb := dot(a, widen(a)), dot(b, widen(b))
	return dot(a, widen(b)) / math.Sqrt(aa*bb), math.Sqrt(aa / bb)
}

// TestGradientsBF16: gradients of a whole net with bf16 products point where the
// fp32 ones do. A convolution's result is off by 1.2 to 1.5 %. With a smooth
// activation that is nearly all (cosine of the whole gradient 0.9997, of each
// parameter's above 0.997). A ReLU turns some of it into flipped signs, whose
// gradients are wrong altogether: one pre-activation in 200 a layer, so that the
// errors of single parameters' gradients grow to a quarter at the input of this
// net of random rows, and beyond for small sums of cancelling terms (over 12 nets
// with squeeze-and-excitation cosines of the whole gradient are 0.9972 at least and
// 0.9985 on average, and the worst parameter's 0.68). Outputs stored in bf16 add
// nothing to that: stored in fp32 the average is 0.9985 and the worst 0.67.
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
	for _, c := range []struct {
		name                  string
		arch                  nn.Arch
		whole, each, eachSize float64 // least cosines, and how far lengths may be apart
	}{
		{"mish", mish, 0.9995, 0.99, 0.06},
		{"se", arch, 0.997, 0.6, 0.4},
		{"classical without se", classical, 0.996, 0.8, 0.4},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := c.arch
			net := nntest.Net(a, 6)
			b := encoding.NewTrainBatch(rows)
			nntest.AppendRows(b, rand.New(rand.NewPCG(7, 7)), rows)
			cfg := testConfig(a, rows)
			want, objective := gradients(t, newTestTrainer(t, net, cfg), b, batchStats)
			cfg.Precision = device.BF16
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
				if !(cosine > c.each) || !(math.Abs(ratio-1) < c.eachSize) {
					t.Errorf("%s: cosine %.6f, ratio of lengths %.5f", spec.Name, cosine, ratio)
				}
				same = same && cosine == 1
			}
			cosine, ratio := likeness(allGot, allWant)
			t.Logf("whole gradient: cosine %.6f, ratio of lengths %.5f", cosine, ratio)
			if !(cosine > c.whole) || !(math.Abs(ratio-1) < 0.005) {
				t.Errorf("whole gradient: cosine %.6f, ratio of lengths %.5f", cosine, ratio)
			}
			if same {
				t.Error("all gradients are those of fp32: nothing was computed in bf16")
			}
		})
	}
}

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
