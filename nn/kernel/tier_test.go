package kernel

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
)

func TestTierNames(t *testing.T) {
	for _, tier := range []Tier{Generic, NEON, AVX2, AVX512, AMX} {
		if got, err := ParseTier(tier.String()); err != nil || got != tier {
			t.Errorf("ParseTier(%q) = %v, %v", tier, got, err)
		}
	}
	if _, err := ParseTier("mmx"); err == nil || !strings.Contains(err.Error(), "avx512") {
		t.Errorf("ParseTier(mmx): %v, want the list of names", err)
	}
	old := ActiveTier()
	for _, bad := range []Tier{-1, AMX + 1} {
		if SetTier(bad) == nil || ActiveTier() != old {
			t.Errorf("SetTier(%d) was accepted", int(bad))
		}
	}
}

// The environment decides at start: the test runs itself with each value.
func TestTierEnvironment(t *testing.T) {
	if os.Getenv("KERNEL_TIER_CHILD") == "1" {
		os.Stdout.WriteString("tier=" + ActiveTier().String() + "\n")
		os.Stdout.WriteString("best=" + BestTier().String() + "\n")
		if err := TierError(); err != nil {
			os.Stdout.WriteString("error=" + err.Error() + "\n")
		}
		return
	}
	for _, c := range []struct{ value, want, fault string }{
		{"generic", "generic", ""},
		{BestTier().String(), BestTier().String(), ""},
		{"mmx", "", TierEnv},
	} {
		cmd := selfCommand(t, "-test.run=^TestTierEnvironment$")
		cmd.Env = append(os.Environ(), "KERNEL_TIER_CHILD=1", TierEnv+"="+c.value)
		out, err := cmd.CombinedOutput()
		want := c.want
		if want == "" { // the best, which the child names: this process may be emulated
			_, rest, _ := strings.Cut(string(out), "best=")
			want, _, _ = strings.Cut(rest, "\n")
		}
		if err != nil || want == "" || !strings.Contains(string(out), "tier="+want+"\n") {
			t.Errorf("%s: %v: %s", c.value, err, out)
		}
		if got := strings.Contains(string(out), "error="); got != (c.fault != "") {
			t.Errorf("%s: error shown %v: %s", c.value, got, out)
		}
	}
}

func TestPeakGFLOPS(t *testing.T) {
	forTiers(t, func(t *testing.T) {
		for _, p := range []Precision{FP32, BF16} {
			// A tenth of a GFLOP/s is far below any core, 10000 far above.
			if peak := PeakGFLOPS(time.Millisecond, p); peak < 0.1 || peak > 1e4 {
				t.Errorf("%s: peak %g GFLOP/s", p, peak)
			}
		}
	})
}

// No function allocates, in any tier, for fast and for odd channel counts.
func TestNoAllocations(t *testing.T) {
	rng := newRand(t)
	const boards = 2
	off := NewFlatPolicyOffsets()
	for _, c := range []int{17, 64} {
		n := boards * 64 * c
		x, y, z, ch := rng.floats(n), rng.floats(n), rng.floats(n), rng.floats(boards*c)
		w, dw := rng.floats(9*c*c), rng.floats(9*c*c)
		packed, mat := make([]float32, PackedConv3Len(c, c, FP32)), make([]float32, PackedMatLen(c, c))
		scratch := make([]float32, Conv3WeightGradScratchLen(c, c, FP32))
		s1, s2 := make([]float64, c), make([]float64, c)
		masks, scalars := make([][encoding.NumMasks]uint64, 1), make([]encoding.Scalars, 1)
		input, start, legal := make([]float32, 64*112), []int32{0, 2}, []uint16{3, 5}
		target := []float32{0.5, 0.5}
		run := func() {
			PackConv3(packed, w, c, c, FP32)
			PackConv3Transposed(packed, w, c, c, FP32)
			PackMat(mat, w[:c*c], c, c)
			PackMatTransposed(mat, w[:c*c], c, c)
			Conv3(y, x, packed, ch, boards, c, c, ReLU, FP32, scratch)
			Conv3WeightGrad(dw, x, y, boards, c, c, FP32, scratch)
			MatMul(y, x, mat, ch, boards*64-1, c, c, None)
			MatMulWeightGrad(dw[:c*c], ch, x, y, boards*64-1, c, c, nil)
			BatchNormStats(s1, s2, x, boards*64, c)
			BatchNormApply(y, x, ch, ch, boards*64, c, ReLU)
			BatchNormApplyResidual(y, x, ch, ch, z, boards*64, c, ReLU)
			BatchNormBackwardStats(s1, s2, y, x, ch, ch, boards*64, c)
			BatchNormReLUBackwardStats(s1, s2, y, y, z, x, ch, ch, boards*64, c)
			BatchNormBackward(z, y, x, ch, ch, ch, s1, s2, 128, boards*64, c)
			SEApply(y, x, ch, ch, z, boards, c, ReLU)
			SEBackward(z, ch, ch, x, y, y, boards, c, ReLU)
			SEBackwardInput(z, z, ch, ch, boards, c)
			Add(y, y, x)
			Axpy(y, 0.5, x)
			Scale(y, 0.5)
			ReLUForward(y, x)
			ReLUBackward(y, x, z)
			Sigmoid(ch, ch)
			SigmoidBackward(ch, ch, ch)
			Tanh(y, x)
			TanhBackward(y, x, z)
			MishForward(y, x)
			MishBackward(y, x, z)
			Softmax3(z, 5)
			SoftmaxSegments(y, []int32{0, 37}, 1)
			SumSquares(x)
			SGDNesterov(y, x, z, 0.1, 0.9, 0)
			AdamW(y[:99], x[:99], z[:99], w[:99], 0.1, 0.9, 0.99, 1e-8, 0, 1, 1)
			ExpandInput(input, masks, scalars, 1)
			PolicyCrossEntropy(y, target, x, 64, off, start, legal, target, nil, 1, 1)
			WDLCrossEntropy(y, x, x, nil, 1, 1)
			ScalarMSE(y, x, x, nil, 1, 1)
			HuberMovesLeft(y, x, x, nil, 20, 0.5, 1, 1)
		}
		forTiers(t, func(t *testing.T) {
			if a := testing.AllocsPerRun(2, run); a != 0 {
				t.Errorf("%g allocations", a)
			}
		})
	}
}
