package train

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// likeness sums up the products of two gradients, piece by piece.
type likeness struct{ aa, ab, bb float64 }

func (l *likeness) add(a, b []float32) {
	for i, v := range a {
		x, y := float64(v), float64(b[i])
		l.aa, l.ab, l.bb = l.aa+x*x, l.ab+x*y, l.bb+y*y
	}
}

// of returns the cosine between the gradients and the ratio of their lengths.
func (l likeness) of() (cosine, ratio float64) {
	return l.ab / math.Sqrt(l.aa*l.bb), math.Sqrt(l.aa / l.bb)
}

// TestGradientsBF16: gradients of whole nets with bf16 products point where the fp32
// ones do. A convolution's result is off by 1.2 to 1.5 %. With a smooth activation that
// is nearly all. A ReLU turns some of it into flipped signs, whose gradients are wrong
// altogether: one pre-activation in 200 a layer, and more for a parameter whose gradient
// in one net is a small sum of cancelling terms (cosines down to 0.58 were seen, and
// which nets have them differs from CPU to CPU). Hence a parameter is judged over eight
// nets together. With AVX-512 and with AMX cosines were at least 0.9997 (whole) and 0.997
// (each parameter) in eight such groups with mish, 0.9986 and 0.926 in eight with ReLU
// and squeeze-and-excitation, 0.9982 and 0.926 in three without.
func TestGradientsBF16(t *testing.T) {
	if !kernel.HasBF16() {
		t.Skip("SKIPPED: this CPU has no bf16 products")
	}
	rows, nets := 64, uint64(8)
	if testing.Short() { // an emulated CPU takes minutes for all: one net as a whole
		rows, nets = 16, 1
	}
	for _, c := range []struct {
		name                  string
		arch                  string
		whole, each, eachSize float64 // least cosines, and how far lengths may be apart
	}{
		{"mish", "32x4-mish", 0.9995, 0.994, 0.05},
		{"se", "32x4", 0.9975, 0.88, 0.2},
		{"classical without se", "32x4-plain-classical", 0.997, 0.88, 0.12},
		{"attention", "32x2x2h-smolgen-mish", 0.9995, 0.99, 0.05},
	} {
		if testing.Short() {
			if c.name != "mish" {
				continue
			}
			c.whole = 0.999 // of few rows; 0.9995 was seen
		}
		t.Run(c.name, func(t *testing.T) {
			arch := nntest.Named(c.arch)
			specs := nn.Specs(arch)
			of, all := make([]likeness, len(specs)), likeness{} // of all nets, by parameter
			cfg := testConfig(arch, rows)
			first := nntest.Net(arch, 0)
			full := newTestTrainer(t, first, cfg)
			cfg.Precision = device.BF16
			half := newTestTrainer(t, first, cfg)
			for seed := range nets {
				state := stateOf(full, nntest.Net(arch, seed))
				if err := errors.Join(full.Upload(state), half.Upload(state)); err != nil {
					t.Fatal(err)
				}
				b := encoding.NewTrainBatch(rows)
				nntest.AppendRows(b, rand.New(rand.NewPCG(seed, 7)), rows)
				want, objective := gradients(t, full, b, batchStats)
				got, objectiveHalf := gradients(t, half, b, batchStats)
				near(t, "objective", objectiveHalf, objective, 2e-3*objective)
				for i := range specs {
					of[i].add(got[i], want[i])
					all.add(got[i], want[i])
				}
			}
			same := true
			for i, spec := range specs {
				if !spec.Kind.Trained() || vanishes(spec.Name) {
					continue
				}
				cosine, ratio := of[i].of()
				if each := cosine > c.each && math.Abs(ratio-1) < c.eachSize; !each && !testing.Short() {
					t.Errorf("%s: cosine %.6f, ratio of lengths %.5f", spec.Name, cosine, ratio)
				}
				same = same && cosine == 1
			}
			cosine, ratio := all.of()
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
