package trainer

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
)

// tinyArch is a net of two blocks that every layer kind is part of. 16 filters
// take the vector kernels where the machine has them.
func tinyArch() nn.Arch {
	a := nn.DefaultArch()
	a.Filters, a.Blocks = 16, 2
	a.ValueChannels, a.ValueHidden, a.MLChannels, a.MLHidden = 4, 16, 2, 8
	return a
}

// testNet is a net whose batch norm, biases and running statistics are not at
// their trivial starting values.
func testNet(a nn.Arch, seed uint64) *nn.Net {
	net := nn.Init(a, seed)
	rng := rand.New(rand.NewPCG(seed, 99))
	for i, s := range nn.Specs(a) {
		for j := range net.Params[i].Data {
			p := &net.Params[i].Data[j]
			switch s.Kind {
			case nn.Gamma, nn.Var:
				*p = float32(.7 + .6*rng.Float64())
			case nn.Bias, nn.Beta, nn.Mean:
				*p += float32(.2 * rng.NormFloat64())
			}
			if s.Name == "moves_left.fc2.bias" {
				*p += 100 // well above 0: its ReLU lets gradients through
			}
		}
	}
	return net
}

// randomRows appends n rows of random planes, legal moves and targets to b.
// Some policy and value targets are not known, and row weights differ.
func randomRows(b *encoding.TrainBatch, rng *rand.Rand, n int) {
	for range n {
		numLegal := 1 + rng.IntN(40)
		i := b.Grow(numLegal)
		for p := range b.Masks[i] {
			b.Masks[i][p] = rng.Uint64() & rng.Uint64() & rng.Uint64()
		}
		b.Scalars[i] = encoding.Scalars{OurOO: uint8(rng.IntN(2)), TheirOOO: uint8(rng.IntN(2)), BlackToMove: uint8(rng.IntN(2)), Rule50: uint8(rng.IntN(100))}
		perm := rng.Perm(encoding.NumPolicy)
		sum := float32(0)
		for j := range numLegal {
			b.LegalOf(i)[j] = uint16(perm[j])
			b.PolicyOf(i)[j] = float32(rng.IntN(10))
			sum += b.PolicyOf(i)[j]
		}
		for j := range numLegal {
			if sum > 0 {
				b.PolicyOf(i)[j] /= sum
			}
		}
		q := float32(rng.IntN(3) - 1)
		d := float32(0)
		if q == 0 {
			d = 1
		}
		b.Targets[i][encoding.TargetResult] = encoding.QDM{Q: q, D: d, M: float32(rng.IntN(150))}
		if rng.IntN(4) > 0 {
			b.Targets[i][encoding.TargetRoot] = encoding.QDM{Q: q / 2, D: .25, M: float32(rng.IntN(150))}
		}
		b.Weight[i] = float32(.5 + rng.Float64())
	}
}

// rowsSource hands out random rows; the same seed gives the same rows.
type rowsSource struct {
	rng  *rand.Rand
	size int // rows of a micro-batch
	left int // micro-batches left; -1 = no end
}

func newRowsSource(seed uint64, size, batches int) *rowsSource {
	return &rowsSource{rng: rand.New(rand.NewPCG(seed, 0)), size: size, left: batches}
}

func (s *rowsSource) Next(_ context.Context, b *encoding.TrainBatch) error {
	if s.left == 0 {
		return io.EOF
	}
	s.left--
	randomRows(b, s.rng, s.size)
	return nil
}

// fixedSource hands out the same rows again and again, size at a time.
type fixedSource struct {
	rows     *encoding.TrainBatch
	size, at int
}

func (s *fixedSource) Next(_ context.Context, b *encoding.TrainBatch) error {
	for range s.size {
		copyRow(b, s.rows, s.at)
		s.at = (s.at + 1) % s.rows.N
	}
	return nil
}

// copyRow appends row i of src to b.
func copyRow(b, src *encoding.TrainBatch, i int) {
	k := b.Grow(len(src.LegalOf(i)))
	b.Masks[k], b.Scalars[k], b.Targets[k], b.Weight[k] = src.Masks[i], src.Scalars[i], src.Targets[i], src.Weight[i]
	copy(b.LegalOf(k), src.LegalOf(i))
	copy(b.PolicyOf(k), src.PolicyOf(i))
}

// testConfig is a configuration of all losses for tests.
func testConfig(a nn.Arch, batch int) Config {
	cfg := DefaultConfig()
	cfg.BatchSize, cfg.Workers, cfg.ClipNorm = batch, 1, 0
	root := Loss{Head: HeadValue, Target: encoding.TargetRoot, Weight: .5, Metric: "root_loss"}
	cfg.Losses = LossesFor(a, append(DefaultLosses(), root))
	return cfg
}

func newTestTrainer(t testing.TB, net *nn.Net, cfg Config) *Trainer {
	t.Helper()
	tr, err := New(net, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

func mustStep(t testing.TB, tr *Trainer, src BatchSource) StepStats {
	t.Helper()
	s, err := tr.Step(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sameBits reports the first parameter in which two nets differ.
func sameBits(t *testing.T, what string, a, b *nn.Net) {
	t.Helper()
	for i := range a.Params {
		for j, x := range a.Params[i].Data {
			if y := b.Params[i].Data[j]; math.Float32bits(x) != math.Float32bits(y) {
				t.Errorf("%s: %s[%d] is %v and %v", what, a.Params[i].Name, j, x, y)
				return
			}
		}
	}
}

// Loss returns the mean of a loss by its metric name, NaN where there is none.
func (m *Measures) Loss(metric string) float64 {
	for i := range m.Losses {
		if m.Losses[i].Metric == metric {
			return m.Losses[i].Mean
		}
	}
	return math.NaN()
}
