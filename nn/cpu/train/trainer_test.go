package train

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v within %g", what, got, want, tol)
	}
}

// TestShortBatch: rows of a batch below the capacity are not mixed with what an
// earlier, fuller batch left in the buffers.
func TestShortBatch(t *testing.T) {
	for _, arch := range []nn.Arch{nntest.TinyArch(), nntest.Arch("16x2x2h-smolgen")} {
		b := encoding.NewTrainBatch(5)
		rng := rand.New(rand.NewPCG(2, 2))
		nntest.AppendRows(b, rng, 5)
		fresh := newTestTrainer(t, nntest.Net(arch, 1), testConfig(arch, 5))
		want, _ := gradients(t, fresh, b, batchStats)

		used := newTestTrainer(t, nntest.Net(arch, 1), testConfig(arch, 40))
		full := encoding.NewTrainBatch(40)
		nntest.AppendRows(full, rng, 40)
		gradients(t, used, full, batchStats)
		got, _ := gradients(t, used, b, batchStats)
		for i, g := range want {
			for j := range g {
				if g[j] != got[i][j] {
					t.Fatalf("%s[%d] = %v, in a used trainer %v", fresh.e.params[i].spec.Name, j, g[j], got[i][j])
				}
			}
		}
	}
}

// TestFurtherHeads: each head has the gradients that it has alone, over several groups and
// slices, in whose memory heads work side by side.
func TestFurtherHeads(t *testing.T) {
	names := []string{"16x1", "16x1x2h-pooled", "16x1-mish-classical", "16x1x2h-convolutional"}
	if testing.Short() {
		names = names[:2] // a tower and an attention net
	}
	for _, name := range names {
		arch := nntest.Arch(name).WithHead(nn.Policy, "optimistic").WithHead(nn.Policy, "soft").WithHead(nn.Policy, nn.Opponent).WithHead(nn.Value, "q").WithForecasts("q", 1, 6)
		net, cfg, b := nntest.Net(arch, 3), testConfig(arch, 70), encoding.NewTrainBatch(70)
		nntest.AppendRows(b, rand.New(rand.NewPCG(1, 2)), 70)
		tr := newTestTrainer(t, net, cfg)
		together, _ := gradients(t, tr, b, batchStats)
		for _, h := range arch.Heads {
			cfg.Terms = slices.DeleteFunc(slices.Clone(tr.cfg.Terms), func(t device.Term) bool { return t.Prefix() != h.Prefix() })
			alone, _ := gradients(t, newTestTrainer(t, net, cfg), b, batchStats)
			for _, s := range nn.Specs(nn.Arch{Blocks: arch.Blocks, Heads: []nn.Head{h}}) {
				i := tr.e.param(s.Name)
				if strings.HasPrefix(s.Name, h.Prefix()) && !reflect.DeepEqual(together[i], alone[i]) {
					t.Errorf("%s: %s has another gradient than alone", name, s.Name)
				}
			}
		}
	}
}

// relativeDistance is |a-b| / |a| over the gradients of two runs.
func relativeDistance(a, b []accumulator) float64 {
	diff, size := 0.0, 0.0
	for i := range a {
		for j, x := range a[i].sum {
			d := float64(x) - float64(b[i].sum[j])
			diff += d * d
			size += float64(x) * float64(x)
		}
	}
	return math.Sqrt(diff / size)
}

// TestOpenRefuses: a kind that is not trained here is named, with this backend.
func TestOpenRefuses(t *testing.T) {
	for kind, spoil := range map[string]func(*nn.Arch){
		"mamba":    func(a *nn.Arch) { a.Blocks[1].Kind = "mamba" },
		"averaged": func(a *nn.Arch) { a.Head(nn.Value).Kind = "averaged" },
	} {
		cfg := testConfig(nntest.TinyArch(), 4)
		spoil(&cfg.Arch)
		if _, err := Open(cfg); !errors.Is(err, nn.ErrArch) || !strings.Contains(err.Error(), kind) || !strings.Contains(err.Error(), "training on a CPU") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestAccumulation: k micro-batches of b rows give the gradient of one of k*b
// rows to 1e-5 when batch norm takes the running statistics. With batch
// statistics they differ, as the statistics batch is the micro-batch.
func TestAccumulation(t *testing.T) {
	rows := encoding.NewTrainBatch(64)
	nntest.AppendRows(rows, rand.New(rand.NewPCG(4, 4)), 64)
	run := func(arch nn.Arch, size int, running bool) *trainer {
		tr := newTestTrainer(t, nntest.Net(arch, 1), testConfig(arch, size))
		for from := 0; from < 64; from += size {
			b := encoding.NewTrainBatch(size)
			for i := range size {
				b.AppendRow(rows, from+i)
			}
			pass(t, tr, b, device.Pass{Backward: true, First: from == 0, Running: running, LossScale: 1})
		}
		tr.prepareGradients(float32(size) / 64)
		return tr
	}
	for _, arch := range []nn.Arch{nntest.TinyArch(), nn.SparseArch(64)} {
		whole, parts := run(arch, 64, true), run(arch, 16, true)
		if d := relativeDistance(whole.acc, parts.acc); d > 1e-5 {
			t.Errorf("%s: 4 x 16 rows differ from 64 by %g of the gradient", arch, d)
		}
	}
	whole, parts := run(nntest.TinyArch(), 64, false), run(nntest.TinyArch(), 16, false)
	if d := relativeDistance(whole.acc, parts.acc); d < 1e-4 {
		t.Errorf("with batch statistics 4 x 16 rows differ from 64 by %g only: are statistics taken over the micro-batch?", d)
	}
}

// pass takes a micro-batch through the net.
func pass(t *testing.T, tr *trainer, b *encoding.TrainBatch, p device.Pass) (rows device.Rows) {
	t.Helper()
	if err := errors.Join(tr.Stage(b), tr.Start(p), tr.Finish(&rows)); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestRows: the losses of the rows, with running statistics, add up to the reference's
// objective of each term alone; a policy's entropy is known where its target is.
func TestRows(t *testing.T) {
	for name, arch := range nntest.Variants() {
		net, cfg := nntest.Net(arch, 3), testConfig(arch, 40)
		b := encoding.NewTrainBatch(40)
		nntest.AppendRows(b, rand.New(rand.NewPCG(1, 2)), 33)
		tr := newTestTrainer(t, net, cfg)
		rows := pass(t, tr, b, device.Pass{Running: true, LossScale: 1})
		ref := newReference(net, true)
		for k, term := range cfg.Terms {
			sum := 0.0
			for i, r := range rows.Terms[k] {
				if !math.IsNaN(r.Loss) {
					sum += term.Weight * float64(b.Weight[i]) * r.Loss / float64(b.N)
				}
			}
			near(t, fmt.Sprint(name, ": term ", k), sum, ref.objective(b, []device.Term{term}, 0), 1e-4)
		}
		for i, h := range rows.Entropy {
			if math.IsNaN(h) != math.IsNaN(rows.Terms[0][i].Loss) || h < 0 {
				t.Errorf("%s: row %d: entropy %v, loss %v", name, i, h, rows.Terms[0][i].Loss)
			}
		}
	}
}

// TestCalls: two micro-batches wait at most, go through the net in order, and are copies;
// calls out of turn are refused.
func TestCalls(t *testing.T) {
	arch := nntest.TinyArch()
	tr := newTestTrainer(t, nntest.Net(arch, 3), testConfig(arch, 4))
	rng := rand.New(rand.NewPCG(1, 2))
	var batches [3]*encoding.TrainBatch
	var alone [3]device.Rows
	p := device.Pass{Running: true, LossScale: 1}
	for i := range batches {
		batches[i] = encoding.NewTrainBatch(4)
		nntest.AppendRows(batches[i], rng, i+2)
		alone[i] = pass(t, tr, batches[i], p)
	}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s was not refused", what)
		}
	}
	var out device.Rows
	refused("a start of nothing", tr.Start(p))
	refused("the end of nothing", tr.Finish(&out))
	refused("no rows", tr.Stage(encoding.NewTrainBatch(4)))
	refused("kept rows", tr.StageKept(nil, nil))
	if err := errors.Join(tr.Stage(batches[0]), tr.Stage(batches[1])); err != nil {
		t.Fatal(err)
	}
	refused("a third micro-batch", tr.Stage(batches[2]))
	batches[0].Reset() // it was copied
	for i := range 2 {
		if err := errors.Join(tr.Start(p), tr.Finish(&out)); err != nil || fmt.Sprint(out.Terms[2]) != fmt.Sprint(alone[i].Terms[2]) {
			t.Errorf("micro-batch %d: %v, %v, want %v", i, out.Terms[2], err, alone[i].Terms[2])
		}
	}
	if err := errors.Join(tr.Stage(batches[1]), tr.Stage(batches[2]), tr.Start(p), tr.Drop()); err != nil {
		t.Fatal(err)
	}
	refused("the end of what was dropped", tr.Finish(&out))
	if got := pass(t, tr, batches[2], p); fmt.Sprint(got.Terms[2]) != fmt.Sprint(alone[2].Terms[2]) {
		t.Errorf("after a drop: %v, want %v", got.Terms[2], alone[2].Terms[2])
	}
}

// TestState: a state comes back as it was sent, the average begins with the weights, and
// a state of another net or optimizer is refused and changes nothing.
func TestState(t *testing.T) {
	arch := nntest.TinyArch()
	tr := newTestTrainer(t, nntest.Net(arch, 3), testConfig(arch, 4))
	sent, got := stateOf(tr, nntest.Net(arch, 5)), stateOf(tr, nntest.Net(arch, 6))
	sent.Moments[0][2][0] = 7
	if err := errors.Join(tr.Upload(sent), tr.Download(got)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(sent, got) {
		t.Error("another state came back")
	}
	got.SWA = stateOf(tr, nntest.Net(arch, 7)).Params
	if err := tr.Download(got); err == nil {
		t.Error("an average came from nowhere")
	}
	tr.average(0, 1)
	if err := tr.Download(got); err != nil || !reflect.DeepEqual(got.SWA, sent.Params) {
		t.Errorf("the first average is not the weights: %v", err)
	}
	tr.e.params[0].data[0] += 2
	tr.average(.5, .5)
	near(t, "the second average", float64(tr.swa[0][0]), float64(sent.Params[0][0])+1, 1e-6)

	wide := nntest.Arch("24x2")
	for what, s := range map[string]*device.State{
		"no moments":       {Params: sent.Params},
		"no weights":       {Moments: sent.Moments},
		"too many moments": {Params: sent.Params, Moments: append(sent.Moments, sent.Moments...)},
		"another net":      stateOf(newTestTrainer(t, nn.Init(wide, 1), testConfig(wide, 4)), nn.Init(wide, 1)),
	} {
		if err := tr.Upload(s); err == nil {
			t.Errorf("%s: the state was taken", what)
		}
	}
}
