package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// TestGrownNetLearns: a grown net has the losses of the smaller one, with the statistics
// of a batch and with the running ones. After three steps all that is new has gradients.
func TestGrownNetLearns(t *testing.T) {
	larger := func(name string) nn.Arch { return nntest.Resized(nntest.Arch(name), 6, 24, 3, 12) }
	for name, c := range map[string]struct {
		from, to nn.Arch
		dead     float64 // share of a parameter's new numbers that may have no gradient: of features and moves that no row has, and of units that are off
		config   func(nn.Arch) device.Config
	}{
		"tower":  {nntest.Arch("32x1-aux"), larger("48x3-aux"), .5, func(a nn.Arch) device.Config { return testConfig(a, 64) }},
		"plain":  {nntest.Arch("16x1-plain"), larger("24x3-plain"), .5, func(a nn.Arch) device.Config { return testConfig(a, 64) }},
		"sparse": {nntest.Named("sparse64-features0-v16"), nntest.Named("sparse128-features0-p128"), .8, func(a nn.Arch) device.Config { return sparseConfig(a, 64, 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			small := nntest.Net(c.from, 3)
			grown := grow(t, small, c.to)
			b := encoding.NewTrainBatch(64)
			nntest.AppendRows(b, rand.New(rand.NewPCG(1, 1)), 64)
			before, after := newTestTrainer(t, small, c.config(c.from)), newTestTrainer(t, grown, c.config(c.to))
			for _, running := range []bool{false, true} {
				p := device.Pass{Running: running, LossScale: 1}
				sameLosses(t, pass(t, after, b, p), pass(t, before, b, p))
			}
			backward := device.Pass{Backward: true, First: true, LossScale: 1}
			for step := range 3 {
				if err := after.BeginStep(); err != nil {
					t.Fatal(err)
				}
				pass(t, after, b, backward)
				if u, err := after.Update(device.Update{Scale: 1, LR: .01, Step: int64(step)}); err != nil || !u.Finite {
					t.Fatal(u, err)
				}
			}
			pass(t, after, b, backward)
			const old = 12345
			for _, p := range small.Params {
				for j := range p.Data {
					p.Data[j] = old
				}
			}
			marked, news := grow(t, small, c.to), 0
			for _, a := range after.acc {
				fresh, dead := 0, 0
				for j, v := range marked.Get(a.spec.Name) {
					if v == old {
						continue
					}
					if fresh++; a.sum[j] == 0 {
						dead++
					}
				}
				if news += fresh; float64(dead) > c.dead*float64(fresh) {
					t.Errorf("%s: %d of %d new numbers have no gradient", a.spec.Name, dead, fresh)
				}
			}
			if want := c.to.NumParams() - c.from.NumParams(); news != want {
				t.Errorf("%d numbers are new, want %d", news, want)
			}
		})
	}
}

func grow(t *testing.T, n *nn.Net, to nn.Arch) *nn.Net {
	t.Helper()
	g, err := nn.Grow(n, to, 4)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// sameLosses holds the losses of each row to 1e-4 of theirs: sums in another order, over a
// batch's statistics too.
func sameLosses(t *testing.T, got, want device.Rows) {
	t.Helper()
	for i, rows := range want.Terms {
		for j, row := range rows {
			loss := got.Terms[i][j].Loss
			unknown := loss != loss && row.Loss != row.Loss
			if !unknown && !(math.Abs(loss-row.Loss) <= 1e-4*math.Max(1, row.Loss)) {
				t.Fatalf("loss %d of row %d is %v, that of the smaller net %v", i, j, loss, row.Loss)
			}
		}
	}
}
