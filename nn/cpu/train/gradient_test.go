package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// testConfig is a configuration of all losses.
func testConfig(a nn.Arch, capacity int) device.Config {
	return device.Config{
		Arch: a, Capacity: capacity, Workers: 1, Terms: nntest.Terms(a), BNMomentum: .1, L2: 1e-3,
		Optimizer: "sgd", Momentum: .9, Beta1: .9, Beta2: .999, Epsilon: 1e-8, Decay: .01,
	}
}

// newTestTrainer is a trainer of net.
func newTestTrainer(t testing.TB, net *nn.Net, cfg device.Config) *trainer {
	t.Helper()
	tr, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	if err := tr.Upload(stateOf(tr, net)); err != nil {
		t.Fatal(err)
	}
	return tr
}

// stateOf is the state of a net that no step has changed; its memory is its own.
func stateOf(tr *trainer, net *nn.Net) *device.State {
	s := &device.State{}
	for _, p := range net.Clone().Params {
		s.Params = append(s.Params, p.Data)
	}
	for range tr.opt.moments {
		var m [][]float32
		for _, a := range tr.acc {
			m = append(m, make([]float32, len(a.data)))
		}
		s.Moments = append(s.Moments, m)
	}
	return s
}

// gradients runs one forward and backward pass and returns the gradient by
// parameter index, L2 included, and the objective.
func gradients(t testing.TB, tr *trainer, b *encoding.TrainBatch, mode bnMode) (map[int][]float32, float64) {
	t.Helper()
	tr.BeginStep()
	tr.e.begin(b, mode, true)
	objective, err := tr.g.run()
	if err != nil {
		t.Fatal(err)
	}
	tr.accumulate(true)
	tr.prepareGradients(1)
	objective += float64(tr.cfg.L2) * tr.halfSquares()
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

// tierGradients are the fp32 gradients of one tier of kernels.
type tierGradients struct {
	tier      kernel.Tier
	grads     map[int][]float32
	objective float64
}

// eachTierGradients returns the gradients of every tier that this machine has,
// the active one's first.
func eachTierGradients(t *testing.T, net *nn.Net, cfg device.Config, b *encoding.TrainBatch, mode bnMode) []tierGradients {
	t.Helper()
	active := kernel.ActiveTier()
	list := []tierGradients{{tier: active}}
	for _, tier := range kernel.Tiers() {
		if tier != active {
			list = append(list, tierGradients{tier: tier})
		}
	}
	defer useTier(t, active)
	for i := range list {
		useTier(t, list[i].tier)
		list[i].grads, list[i].objective = gradients(t, newTestTrainer(t, net, cfg), b, mode)
	}
	return list
}

func useTier(t *testing.T, tier kernel.Tier) {
	t.Helper()
	if err := kernel.SetTier(tier); err != nil {
		t.Fatal(err)
	}
}

// TestGradients holds the gradient of every parameter, through every operation
// and in every tier, against differences of the float64 reference: along
// the gradient itself, where a wrong or missing part shortens the slope, and along
// a random direction. float32 gradients of these small nets are good to about
// 1e-4.
func TestGradients(t *testing.T) {
	nets := nntest.Variants()
	for name, arch := range nntest.AttentionNets() {
		nets["attention, "+name] = arch
	}
	for name, arch := range nntest.FurtherHeads() {
		nets[name] = arch
	}
	nets["attention, heads of a tower"] = nntest.Arch("16x1x2h-convolutional-pooled")
	for name, arch := range nets {
		for _, mode := range []bnMode{batchStats, runningStats} {
			if arch.Attention() && mode == runningStats {
				continue // its body has no batch norm
			}
			t.Run(fmt.Sprintf("%s, batch norm mode %d", name, mode), func(t *testing.T) {
				if testing.Short() && name != "se" && name != "further heads" {
					t.Skip("short: only the default kind of net")
				}
				net, cfg := nntest.Net(arch, 6), testConfig(arch, 3)
				b := encoding.NewTrainBatch(3)
				nntest.AppendRows(b, rand.New(rand.NewPCG(7, 7)), 3)
				tiers := eachTierGradients(t, net, cfg, b, mode)
				t.Parallel() // the tier of kernels is the active one again
				checkGradients(t, net, cfg, b, mode, tiers)
			})
		}
	}
}

// checkGradients holds the tiers' gradients against slopes along the first one's
// and along random directions.
func checkGradients(t *testing.T, net *nn.Net, cfg device.Config, b *encoding.TrainBatch, mode bnMode, tiers []tierGradients) {
	rng := rand.New(rand.NewPCG(8, 8))
	ref := newReference(net, mode == runningStats)
	objective := ref.objective(b, cfg.Terms, cfg.L2)
	for _, tier := range tiers {
		near(t, tier.tier.String()+": objective", tier.objective, objective, 1e-4)
	}
	for i, spec := range nn.Specs(net.Arch) {
		g := tiers[0].grads[i]
		if g == nil {
			continue
		}
		norm := math.Sqrt(dot(g, widen(g)))
		if vanishes(spec.Name) || norm < 1e-7 {
			if !vanishes(spec.Name) || norm > 1e-7 {
				t.Errorf("%s: the gradient is %g", spec.Name, norm)
			}
			continue
		}
		random := make([]float64, len(g))
		for j := range random {
			random[j] = rng.NormFloat64()
		}
		for what, dir := range map[string][]float64{"the gradient": widen(g), "a random direction": random} {
			normalise(dir)
			want, tol := slope(ref, objective, b, cfg, spec.Name, dir), 5e-4*norm+2e-6
			for _, tier := range tiers {
				near(t, fmt.Sprintf("%s: %s along %s", tier.tier, spec.Name, what), dot(tier.grads[i], dir), want, tol)
			}
		}
	}
}

// vanishes says whether a parameter has no effect: a bias of an encoder's keys adds the same
// to all that a softmax compares.
func vanishes(name string) bool {
	return strings.HasSuffix(name, ".k.bias") && (strings.HasPrefix(name, "tower.") || strings.Contains(name, ".encoder."))
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func dot(x []float32, y []float64) (s float64) {
	for i, v := range x {
		s += float64(v) * y[i]
	}
	return s
}

// normalise makes a direction of length 1.
func normalise(dir []float64) {
	length := 0.0
	for _, v := range dir {
		length += v * v
	}
	for i := range dir {
		dir[i] /= math.Sqrt(length)
	}
}

// slope is the difference of the objective along a direction from what it is now: that of
// the reference's first pass.
func slope(ref *reference, objective float64, b *encoding.TrainBatch, cfg device.Config, name string, dir []float64) float64 {
	const step = 1e-7 // some 2e-8 of a slope are lost by rounding, 5e-8 by a curvature of 1
	w := ref.w[name]
	old := append([]float64(nil), w...)
	for _, h := range ref.arch.Heads {
		if p := h.Prefix(); strings.HasPrefix(name, p+".") && len(p) > len(ref.changed) { // value.q's begin with value, too
			ref.changed = p
		}
	}
	for j := range w {
		w[j] += step * dir[j]
	}
	delete(ref.squares, name)
	there := ref.objective(b, cfg.Terms, cfg.L2)
	copy(w, old)
	delete(ref.squares, name)
	ref.changed = ""
	return (there - objective) / step
}
