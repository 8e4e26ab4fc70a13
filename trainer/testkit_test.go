package trainer

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
)

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
	nntest.AppendRows(b, s.rng, s.size)
	return nil
}

// fixedSource hands out the same rows again and again, size at a time.
type fixedSource struct {
	rows     *encoding.TrainBatch
	size, at int
}

func (s *fixedSource) Next(_ context.Context, b *encoding.TrainBatch) error {
	for range s.size {
		b.AppendRow(s.rows, s.at)
		s.at = (s.at + 1) % s.rows.N
	}
	return nil
}

// testConfig is a configuration of all losses for tests.
func testConfig(a nn.Arch, batch int) Config {
	cfg := DefaultConfig()
	cfg.BatchSize, cfg.Workers, cfg.ClipNorm = batch, 1, 0
	root := Loss{Head: HeadValue, Target: encoding.TargetRoot, Weight: .5, Metric: "root_loss"}
	losses := append(DefaultLosses(), root)
	if a.Head(nn.Auxiliary) != nil {
		losses = append(losses, Loss{Head: HeadPolicy, Kind: SoftCross, Temperature: 4, Weight: 1, Metric: "soft_loss"},
			Loss{Head: HeadPolicy, Kind: OptimisticCross, Target: encoding.TargetRoot, Weight: 1, Metric: "optimistic_loss"},
			Loss{Head: HeadShortTerm, Kind: MSE, Target: encoding.TargetRoot, Weight: 1, Metric: "short_loss"})
	}
	cfg.Losses = LossesFor(a, losses)
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
