package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	oracle "github.com/chessbrain/chessbrain/internal/testing/reference"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

func sparseConfig(a nn.Arch, capacity, workers int) device.Config {
	c := device.Config{Arch: a, Capacity: capacity, Workers: workers, Optimizer: "sgd", Momentum: .9, Terms: []device.Term{
		{Head: device.Policy, Weight: 1},
		{Head: device.Value, Weight: .7, Target: encoding.TargetResult, Other: encoding.TargetRoot, Ratio: .3},
	}}
	if a.Head(nn.MovesLeft) != nil {
		c.Terms = append(c.Terms, device.Term{Head: device.MovesLeft, Weight: .2, Target: encoding.TargetResult})
	}
	if a.Head(nn.Auxiliary) != nil {
		c.Terms = append(append(c.Terms, device.Term{Head: device.Policy, Weight: 2, Temperature: 4}, nntest.OptimisticTerm), nntest.AuxiliaryTerms...)
	}
	return c
}

// openSparse opens a trainer with the weights of net.
func openSparse(t testing.TB, net *nn.Net, cfg device.Config) *trainer {
	t.Helper()
	tr, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &device.State{Moments: tr.opt.moments}
	for _, p := range net.Params {
		s.Params = append(s.Params, p.Data)
	}
	if err := tr.Upload(s); err != nil {
		t.Fatal(err)
	}
	return tr
}

// takePass takes one micro-batch through the net.
func takePass(t testing.TB, tr *trainer, b *encoding.TrainBatch, p device.Pass) (rows device.Rows) {
	t.Helper()
	for _, err := range []error{tr.Stage(b), tr.Start(p), tr.Finish(&rows)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// objective is the loss in float64, from the outputs of the reference net.
func objective(net *nn.Net, cfg *device.Config, b *encoding.TrainBatch, aux *auxReference) float64 {
	sum := 0.0
	for i := range b.N {
		var in encoding.Sparse
		in.Set(&b.Masks[i], &b.Scalars[i], nil)
		out := oracle.Forward(net, &b.Masks[i], &b.Scalars[i], b.LegalOf(i)...)
		row := float64(b.Weight[i]) / float64(b.N)
		for _, term := range cfg.Terms {
			loss := 0.0
			learn := term.Learn(&b.Targets[i], nn.ValueWDL)
			switch term.Head {
			default:
				loss = aux.loss(out.Auxiliary, &term, b, i, in.Mirrored())
			case device.Policy:
				var logits []float64
				for _, m := range b.LegalOf(i) {
					logits = append(logits, out.Policy[m])
				}
				loss = policyReference(logits, b.PolicyOf(i), term.Temperature)
				if term.Optimistic {
					if loss *= aux.weight(out.Auxiliary, &term, b, i); math.IsNaN(loss) {
						loss = 0
					}
				}
			case device.Value:
				for j, p := range device.WDL(learn) {
					if p > 0 {
						loss -= float64(p) * math.Log(out.WDL[j])
					}
				}
			case device.MovesLeft:
				d := math.Abs(out.MovesLeft-float64(learn.M)) / movesLeftUnit
				if loss = d * d / 2; d > huberDelta {
					loss = huberDelta * (d - huberDelta/2)
				}
			}
			sum += row * term.Weight * loss
		}
	}
	return sum
}

// positions are rows of chess positions, with their targets at random.
func positions(seed uint64, n int) *encoding.TrainBatch {
	b := encoding.NewTrainBatch(n)
	nntest.AppendRows(b, rand.New(rand.NewPCG(seed, 2)), n)
	return b
}

// The gradients are those of differences of the float64 reference, parameter by parameter:
// those with the largest gradients of each tensor, and some at random.
func TestSparseGradients(t *testing.T) {
	for _, name := range []string{"sparse64", "sparse128-v16-p128-noml", "sparse64-aux", "sparse64-features0"} {
		t.Run(name, func(t *testing.T) {
			net := nntest.Net(nntest.Named(name), 5)
			for i := range net.Params {
				if net.Params[i].Name == "input.weight" { // the random planes have some hundred men
					for j := range net.Params[i].Data {
						net.Params[i].Data[j] *= .4
					}
				}
			}
			cfg := sparseConfig(net.Arch, 4, 2)
			tr := openSparse(t, net, cfg)
			b := positions(3, 4)
			var aux auxReference
			objective(net, &cfg, b, &aux)
			takePass(t, tr, b, device.Pass{Backward: true, First: true, LossScale: 1})
			rng := rand.New(rand.NewPCG(1, 1))
			for k := range tr.acc {
				a := &tr.acc[k]
				order := rng.Perm(len(a.sum))
				size := func(i int) float64 { return math.Abs(float64(a.sum[i])) }
				half := order[len(order)/2:]
				top := half[:min(4, len(half))] // the largest of half of them
				for k := range top {
					for j := k + 1; j < len(half); j++ {
						if size(half[j]) > size(half[k]) {
							half[j], half[k] = half[k], half[j]
						}
					}
				}
				largest := size(top[0])
				if largest == 0 {
					t.Errorf("%s has no gradient", a.spec.Name)
				}
				data := net.Get(a.spec.Name)
				var dot, got2, want2 float64
				for _, i := range slices.Concat(order[:min(1, len(order))], top) {
					const step = 2e-4
					was := data[i]
					data[i] = was + step
					up, above := objective(net, &cfg, b, &aux), data[i]
					data[i] = was - step
					down, below := objective(net, &cfg, b, &aux), data[i]
					data[i] = was
					got, want := float64(a.sum[i]), (up-down)/float64(above-below)
					dot, got2, want2 = dot+got*want, got2+got*got, want2+want*want
				}
				// A unit that passes a kink of its activation within the step spoils single
				// differences a little.
				if cos, ratio := dot/math.Sqrt(got2*want2), math.Sqrt(got2/want2); cos < .9995 || ratio < .99 || ratio > 1.01 {
					t.Errorf("%s: cosine %v, ratio of lengths %v", a.spec.Name, cos, ratio)
				}
			}
		})
	}
}

// The measures and the gradients have the same bits with any number of workers, and of lists of readers.
func TestSparseWorkers(t *testing.T) {
	net := nntest.Net(nntest.Named("sparse128"), 5)
	b := positions(4, 100)
	var want *trainer
	var wantRows device.Rows
	for _, workers := range []int{1, 2, 5} {
		tr := openSparse(t, net, sparseConfig(net.Arch, 128, workers))
		if workers == 5 {
			tr.sparse.listed, tr.sparse.readers = 30, make([]readers, 5) // the last one has none
		}
		rows := takePass(t, tr, b, device.Pass{Backward: true, First: true, LossScale: 1})
		if want == nil {
			want, wantRows = tr, rows
			continue
		}
		for i := range tr.acc {
			if !slices.Equal(tr.acc[i].sum, want.acc[i].sum) {
				t.Errorf("%d workers: another gradient of %s", workers, tr.acc[i].spec.Name)
			}
		}
		for k := range rows.Terms {
			for i, r := range rows.Terms[k] {
				if w := wantRows.Terms[k][i]; math.Float64bits(r.Loss) != math.Float64bits(w.Loss) {
					t.Fatalf("%d workers: another loss of term %d, row %d", workers, k, i)
				}
			}
		}
	}
}

// BenchmarkSparseStep reports training rows a second, the optimizer's part included.
func BenchmarkSparseStep(b *testing.B) {
	for _, name := range []string{"sparse128", "sparse256"} {
		b.Run(name, func(b *testing.B) {
			const rows = 512
			net := nn.Init(nntest.Named(name), 5)
			cfg := sparseConfig(net.Arch, rows, 0)
			cfg.Optimizer, cfg.Beta1, cfg.Beta2, cfg.Epsilon = "adamw", .9, .999, 1e-8
			tr, batch := openSparse(b, net, cfg), positions(4, rows)
			step := int64(0)
			for b.Loop() {
				takePass(b, tr, batch, device.Pass{Backward: true, First: true, LossScale: 1})
				if _, err := tr.Update(device.Update{Scale: 1, LR: 1e-3, Step: step}); err != nil {
					b.Fatal(err)
				}
				step++
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
