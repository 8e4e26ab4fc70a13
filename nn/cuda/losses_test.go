package cuda

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/slow"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu/train"
	"github.com/chessbrain/chessbrain/nn/device"
)

// learnt is what a step of plain gradient descent measured and changed.
type learnt struct {
	rows    device.Rows
	changes [][]float32 // by parameter
}

// learn takes such a step, of size 1, on the batches of src as its micro-batches.
func learn(t *testing.T, dev device.Trainer, net *nn.Net, src *batchList) (l learnt) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := &device.State{Moments: make([][][]float32, 1)}
	for i, spec := range nn.Specs(net.Arch) {
		s.Params = append(s.Params, append([]float32(nil), net.Params[i].Data...))
		if spec.Kind.Trained() {
			s.Moments[0] = append(s.Moments[0], make([]float32, spec.Len()))
		}
	}
	must(dev.Upload(s))
	must(dev.BeginStep())
	for i, b := range src.batches {
		must(dev.Stage(b))
		must(dev.Start(device.Pass{Backward: true, First: i == 0, LossScale: 1}))
		must(dev.Finish(&l.rows))
	}
	_, err := dev.Update(device.Update{Scale: 1 / float32(len(src.batches)), LR: 1})
	must(err)
	must(dev.Download(s))
	must(dev.Close())
	for i, p := range net.Params {
		l.changes = append(l.changes, differences(s.Params[i], p.Data))
	}
	return l
}

// TestLosses holds all losses of all heads, further ones and forecasts among them, against the
// CPU: what rows say of each, and the gradients.
func TestLosses(t *testing.T) {
	for name, arch := range nntest.FurtherHeads() {
		net := nntest.Net(arch, 3)
		cfg := device.Config{Arch: arch, Capacity: 6, Workers: 2, Terms: nntest.Terms(arch), BNMomentum: .1, Optimizer: "sgd"}
		cpu, err := train.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		want := learn(t, cpu, net, randomBatches(11, 6, 4))
		for _, p := range precisions {
			if p.precision != device.FP32 && !slow.On && name != "attention, further heads" {
				continue
			}
			t.Run(fmt.Sprintf("%s/precision %d", name, p.precision), func(t *testing.T) {
				cfg.Precision = p.precision
				dev, err := openEmulated(t, emulated.Options{}).NewTrainer(cfg)
				if err != nil {
					t.Fatal(err)
				}
				got := learn(t, dev, net, randomBatches(11, 6, 4))
				near := func(what string, x, y float64) {
					if math.Abs(x-y) > p.loss*(1+math.Abs(y)) || math.IsNaN(x) != math.IsNaN(y) {
						t.Errorf("%s is %v, want %v", what, x, y)
					}
				}
				for i, rows := range want.rows.Terms {
					for row, r := range rows {
						near(fmt.Sprintf("term %d, %+v: loss of row %d", i, cfg.Terms[i], row), got.rows.Terms[i][row].Loss, r.Loss)
						if p.precision == device.FP32 && got.rows.Terms[i][row].Hit != r.Hit {
							t.Errorf("term %d, row %d: hit %v, want %v", i, row, got.rows.Terms[i][row].Hit, r.Hit)
						}
					}
				}
				for row, e := range want.rows.Entropy {
					near(fmt.Sprintf("entropy of row %d", row), got.rows.Entropy[row], e)
				}
				sameChanges(t, arch, got.changes, want.changes, p.tensors)
			})
		}
	}
}

// sameChanges holds what a step changed against what it should, by parameter.
func sameChanges(t *testing.T, arch nn.Arch, got, want [][]float32, bound float64) {
	t.Helper()
	for i, s := range nn.Specs(arch) {
		if strings.HasSuffix(s.Name, ".k.bias") && (strings.HasPrefix(s.Name, "tower.") || strings.Contains(s.Name, ".encoder.")) {
			// Adding one number to all products of a query changes no weight.
			if e, of := length(got[i]), length(got[i-1]); e > 0.01*bound*of {
				t.Errorf("%s changes by %.2g, its weight by %.2g", s.Name, e, of)
			}
			continue
		}
		if e := relative(got[i], want[i]); e > bound {
			t.Errorf("%s: its change is off by %.2g of it", s.Name, e)
		}
	}
}
