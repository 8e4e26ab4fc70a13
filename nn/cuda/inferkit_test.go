package cuda

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/checked"
	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/reference"
	_ "github.com/chessbrain/chessbrain/internal/testing/signatures"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// freshSeed returns a seed that is printed.
func freshSeed(t testing.TB) uint64 {
	seed := rand.Uint64()
	t.Logf("inputs of seed %d", seed)
	return seed
}

// closeAtEnd closes c at the end of the test.
func closeAtEnd(t testing.TB, c io.Closer) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// openEmulated returns a device that holds every call against the rules, closed at
// the end of the test.
func openEmulated(t testing.TB, o emulated.Options) *Device {
	t.Helper()
	d, err := Open(checked.Device(emulated.OpenWith(t, o)))
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, d)
	return d
}

// inferenceArch is an architecture by name with small heads; "*" and a name are one of
// nntest.AttentionNets.
func inferenceArch(t testing.TB, name string) nn.Arch {
	t.Helper()
	if name, ok := strings.CutPrefix(name, "*"); ok {
		return nntest.AttentionNets()[name]
	}
	a, err := nn.ParseArch(name)
	if err != nil {
		t.Fatal(err)
	}
	return nntest.Resized(a, 12, 40, 3, 24)
}

// inferenceNet is a net whose batch norm, biases and last layers are not at their
// trivial starting values.
func inferenceNet(t testing.TB, name string, seed uint64) *nn.Net {
	t.Helper()
	return nntest.DecidedNet(inferenceArch(t, name), seed)
}

// randomPositions are positions some of which have no legal move.
func randomPositions(seed uint64, n int) *encoding.Batch { return nntest.Positions(seed, n, 0) }

// pick returns a batch of chosen positions.
func pick(b *encoding.Batch, order ...int) *encoding.Batch {
	p := encoding.NewBatch(len(order))
	for _, i := range order {
		k := p.Grow(len(b.LegalOf(i)))
		p.Masks[k], p.Scalars[k] = b.Masks[i], b.Scalars[i]
		copy(p.LegalOf(k), b.LegalOf(i))
		p.M[k] = -1 // must be written even without the head
	}
	return p
}

func newNet(t testing.TB, d *Device, n *nn.Net, p device.Precision) *Net {
	t.Helper()
	packed, err := d.NewNet(n, p)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, packed)
	return packed
}

func newEvaluator(t testing.TB, d *Device, n *Net, maxBatch int) *Evaluator {
	t.Helper()
	e, err := d.NewEvaluator(n, maxBatch)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, e)
	return e
}

func evaluate(t testing.TB, e *Evaluator, b *encoding.Batch) {
	t.Helper()
	if err := e.Evaluate(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

// sameAnswer says whether position i of a has the bits of position j of b.
func sameAnswer(a *encoding.Batch, i int, b *encoding.Batch, j int) bool {
	return slices.Equal(a.PriorOf(i), b.PriorOf(j)) && a.WDL[i] == b.WDL[j] && a.M[i] == b.M[j]
}

// compare holds the answer to position i against the reference and returns how far
// the logits of the moves differ. tolerance is of the log of priors where logits differ by up
// to 10, a quarter of it of WDL, and relative of moves left. The largest error goes to worst,
// as a share of it.
func compare(t *testing.T, b *encoding.Batch, i int, want *reference.Output, tolerance float64, worst *float64) float64 {
	t.Helper()
	within := func(err, tolerance float64) bool {
		*worst = math.Max(*worst, err/tolerance)
		return err <= tolerance
	}
	var logits []float64
	for _, p := range b.LegalOf(i) {
		logits = append(logits, want.Policy[p])
	}
	spread := 0.0
	if len(logits) > 0 {
		spread = slices.Max(logits) - slices.Min(logits)
	}
	for j, p := range reference.Softmax(logits) {
		if got := float64(b.PriorOf(i)[j]); !within(math.Abs(math.Log(got/p)), tolerance*max(1, spread/10)) {
			t.Fatalf("position %d, policy index %d: %v, want %v", i, b.LegalOf(i)[j], got, p)
		}
	}
	for j, p := range want.WDL {
		if got := float64(b.WDL[i][j]); !within(math.Abs(got-p), tolerance/4) {
			t.Errorf("position %d, WDL %v, want %v", i, b.WDL[i], want.WDL)
		}
	}
	if got := float64(b.M[i]); !within(math.Abs(got-want.MovesLeft), tolerance/4*math.Max(1, want.MovesLeft)) {
		t.Errorf("position %d, moves left %v, want %v", i, got, want.MovesLeft)
	}
	return spread
}
