package bench

import (
	"errors"
	"math"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/kerneltest"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// decided returns a net that has opinions: a fresh one is near uniform, where
// rounding decides which move is best.
func decided(t *testing.T, seed uint64) *nn.Net {
	t.Helper()
	net := nn.Init(nntest.Named("32x3"), seed)
	for name, factor := range map[string]float32{"policy.conv2.weight": 30, "value.fc2.weight": 10} {
		w := net.Get(name)
		for i := range w {
			w[i] *= factor
		}
	}
	return net
}

func TestComparePrecisions(t *testing.T) {
	if !kernel.HasBF16() {
		t.Skip("SKIPPED: the CPU kernels in use have no bf16 products")
	}
	const n = 300
	net, b := decided(t, 5), PositionBatch(n, 3)
	r, err := ComparePrecisions(net, b)
	if err != nil {
		t.Fatal(err)
	}
	if r.Positions != n || r.Choices < n*9/10 || r.NetID != net.ID() || r.Net != "32x3-se" {
		t.Errorf("labels of %+v", r)
	}
	// bf16 has 8 bits of mantissa; these weights are random and were never trained
	// to tell moves apart, so the bounds are wider than those of a trained net.
	if r.Top1Agreement < 0.9 || r.MeanValueDifference > 0.01 || r.PolicyKL > 0.001 {
		t.Errorf("bf16 is far from fp32: %+v", r)
	}
	if r.MeanValueDifference == 0 || r.PolicyKL == 0 {
		t.Errorf("bf16 is exactly fp32, so it was not bf16: %+v", r)
	}
	// The bounds tell nets apart: two different ones are much farther from each other.
	other := PositionBatch(n, 3)
	if err := errors.Join(answers(t.Context(), net, kernel.FP32, b), answers(t.Context(), decided(t, 6), kernel.FP32, other)); err != nil {
		t.Fatal(err)
	}
	var far PrecisionReport
	far.compare(b, other)
	if far.Top1Agreement > 0.5 || far.MeanValueDifference < 0.05 || far.PolicyKL < 0.1 || far.Accepted {
		t.Errorf("another net looks the same: %+v", far)
	}
}

func TestComparePrecisionsRefuses(t *testing.T) {
	if _, err := ComparePrecisions(decided(t, 1), encoding.NewBatch(0)); !errors.Is(err, ErrOptions) {
		t.Errorf("no positions: %v", err)
	}
	kerneltest.InTier(t, kernel.Generic)
	if _, err := ComparePrecisions(decided(t, 1), PositionBatch(1, 1)); !errors.Is(err, ErrOptions) {
		t.Errorf("no bf16: %v", err)
	}
}

// TestPrecisionFigures: two positions, worked out by hand.
func TestPrecisionFigures(t *testing.T) {
	batch := func(prior []float32, wdl ...[3]float32) *encoding.Batch {
		return &encoding.Batch{N: 3, LegalStart: []int32{0, 2, 4, 5}, Prior: prior, WDL: wdl}
	}
	exact := batch([]float32{0.75, 0.25, 0.5, 0.5, 1}, [3]float32{0.5, 0.25, 0.25}, [3]float32{0, 1, 0}, [3]float32{0, 0, 1})
	rounded := batch([]float32{0.25, 0.75, 0.5, 0.5, 1}, [3]float32{0.5, 0.5, 0}, [3]float32{0, 1, 0}, [3]float32{0, 0, 1})
	var r PrecisionReport
	r.compare(exact, rounded)
	// KL of the first is 0.75 ln 3 - 0.25 ln 3; the value of the first goes from 0.25 to 0.5.
	if kl := 0.5 * math.Log(3) / 3; r.Choices != 2 || r.Top1Agreement != 0.5 || math.Abs(r.PolicyKL-kl) > 1e-7 ||
		math.Abs(r.MeanValueDifference-0.25/3) > 1e-7 || r.MaxValueDifference != 0.25 || r.Accepted {
		t.Errorf("%+v", r)
	}
	r = PrecisionReport{}
	r.compare(exact, exact)
	if r.Top1Agreement != 1 || r.PolicyKL != 0 || r.MeanValueDifference != 0 || !r.Accepted {
		t.Errorf("with itself: %+v", r)
	}
	if d := divergence([]float32{1, 0}, []float32{0, 1}); math.IsInf(d, 0) || d < 50 {
		t.Errorf("divergence from a probability of 0: %v", d)
	}
}
