package trainer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
)

// gradients runs one forward and backward pass and returns the gradient by
// parameter index, L2 included, and the objective.
func gradients(t testing.TB, tr *Trainer, b *encoding.TrainBatch, mode bnMode) (map[int][]float32, float64) {
	t.Helper()
	tr.e.loadRunning()
	tr.e.begin(b, mode, true)
	objective, err := tr.g.run()
	if err != nil {
		t.Fatal(err)
	}
	tr.accumulate(true)
	objective += tr.prepareGradients(1, newSums(len(tr.terms)))
	grads := map[int][]float32{}
	for i := range tr.e.params {
		for _, a := range tr.acc {
			if a.param == &tr.e.params[i] {
				grads[i] = append([]float32(nil), a.sum...)
			}
		}
	}
	return grads, objective
}

// archVariants are the nets that together have every layer in every form.
func archVariants() map[string]nn.Arch {
	se := tinyArch()
	se.Blocks = 1
	plain, mish, classical, odd := se, se, se, se
	plain.SERatio, plain.ValueHead, plain.MovesLeft = 0, nn.ValueScalar, false
	mish.Activation = nn.Mish
	classical.PolicyHead = nn.PolicyClassical
	odd.Filters = 6 // no multiple of a vector: the kernels' generic paths
	return map[string]nn.Arch{"se": se, "plain scalar": plain, "mish": mish, "classical": classical, "odd": odd}
}

// TestGradients holds the gradient of every parameter, through every operation,
// against central differences of the float64 reference: along the gradient
// itself, where a wrong or missing part shortens the slope, and along a random
// direction. float32 gradients of these small nets are good to about 1e-4.
func TestGradients(t *testing.T) {
	for name, arch := range archVariants() {
		for _, mode := range []bnMode{batchStats, runningStats} {
			t.Run(fmt.Sprintf("%s, batch norm mode %d", name, mode), func(t *testing.T) {
				t.Parallel()
				if testing.Short() && name != "se" {
					t.Skip("short: only the default kind of net")
				}
				checkGradients(t, arch, mode)
			})
		}
	}
}

func checkGradients(t *testing.T, arch nn.Arch, mode bnMode) {
	net := testNet(arch, 6)
	tr := newTestTrainer(t, net, testConfig(arch, 3))
	b := encoding.NewTrainBatch(3)
	rng := rand.New(rand.NewPCG(7, 7))
	randomRows(b, rng, 3)
	grads, objective := gradients(t, tr, b, mode)
	ref := newReference(net, mode == runningStats)
	near(t, "objective", objective, ref.objective(b, tr.cfg.Losses), 1e-4)

	for i, spec := range nn.Specs(arch) {
		g := grads[i]
		if g == nil {
			continue
		}
		norm := 0.0
		for _, v := range g {
			norm += float64(v) * float64(v)
		}
		norm = math.Sqrt(norm)
		if norm < 1e-7 {
			t.Errorf("%s: the gradient vanishes: %g", spec.Name, norm)
			continue
		}
		random, length := make([]float64, len(g)), 0.0
		for j := range random {
			random[j] = rng.NormFloat64()
			length += random[j] * random[j]
		}
		along, want := make([]float64, len(g)), 0.0
		for j, v := range g {
			along[j] = float64(v) / norm
			random[j] /= math.Sqrt(length)
			want += random[j] * float64(v)
		}
		tol := 5e-4*norm + 2e-6
		near(t, spec.Name+" along its gradient", slope(ref, b, tr.cfg.Losses, spec.Name, along), norm, tol)
		near(t, spec.Name+" along a random direction", slope(ref, b, tr.cfg.Losses, spec.Name, random), want, tol)
	}
}

// slope is the central difference of the objective along a direction.
func slope(ref *reference, b *encoding.TrainBatch, losses []Loss, name string, dir []float64) float64 {
	const h = 1e-6
	w := ref.w[name]
	ref.keep = !strings.HasPrefix(name, "input") && !strings.HasPrefix(name, "tower")
	defer func() { ref.keep, ref.trunk = false, nil }()
	if ref.keep {
		ref.trunk = nil
	}
	old := append([]float64(nil), w...)
	move := func(by float64) float64 {
		for j := range w {
			w[j] = old[j] + by*dir[j]
		}
		return ref.objective(b, losses)
	}
	up := move(h)
	down := move(-h)
	copy(w, old)
	return (up - down) / (2 * h)
}
