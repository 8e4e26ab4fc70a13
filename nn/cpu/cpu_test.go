package cpu

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/reference"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// eachTier runs f in every tier of this machine and every precision of the tier.
func eachTier(t *testing.T, f func(t *testing.T, p kernel.Precision)) {
	old := kernel.ActiveTier()
	defer func() {
		if err := kernel.SetTier(old); err != nil {
			t.Error(err)
		}
	}()
	for _, tier := range kernel.Tiers() {
		if err := kernel.SetTier(tier); err != nil {
			t.Fatal(err)
		}
		t.Run(tier.String(), func(t *testing.T) { f(t, kernel.FP32) })
		if kernel.HasBF16() {
			t.Run(tier.String()+"-bf16", func(t *testing.T) { f(t, kernel.BF16) })
		}
	}
}

// float32 sums of some thousand products through a dozen layers are good to
// about 1e-5 of outputs of size 1; the outputs here are of that size.
const tolerance = 1e-4

// toleranceOf is that of a precision. bf16 has 8 bits of mantissa, and Winograd's
// transforms multiply its rounding error by about three.
func toleranceOf(p kernel.Precision) float64 {
	if p == kernel.BF16 {
		return 0.02
	}
	return tolerance
}

func TestAgainstReference(t *testing.T) {
	nets := []string{"16x2", "32x2-se", "16x2-plain", "5x2-se", "19x1-se2", "16x2-mish", "16x1-mish-plain", "16x2-classical", "16x2-scalar", "16x1-noml", "16x1-pooled", "16x1-aux", "6x1-scalar-pooled", "130x1", "sparse64", "sparse64-features0", "sparse192-v16-p128-noml", "sparse64-aux",
		"*tower", "*encoded", "*encoded twice", "*plain", "*mish", "*smolgen", "256x1x8h-smolgen", "*dense", "16x1x2h-convolutional", "16x1x2h-classical-pooled"}
	for _, name := range nets {
		t.Run(name, func(t *testing.T) {
			n := testNet(t, name, 3)
			b := randomBatch(4, 3)
			want := make([]reference.Output, b.N)
			for i := range want {
				want[i] = reference.Forward(n, &b.Masks[i], &b.Scalars[i], b.LegalOf(i)...)
			}
			eachTier(t, func(t *testing.T, p kernel.Precision) {
				if err := newEvaluator(t, n, 8, p).Evaluate(context.Background(), b); err != nil {
					t.Fatal(err)
				}
				spread := 0.0
				for i := range want {
					spread += compare(t, b, i, &want[i], toleranceOf(p))
				}
				if spread < .1 {
					t.Errorf("the policies are flat (%g): the test shows nothing", spread)
				}
			})
		})
	}
}

// compare holds the answer to position i against want and returns by how much
// log policy differs between the moves.
func compare(t *testing.T, b *encoding.Batch, i int, want *reference.Output, tolerance float64) float64 {
	t.Helper()
	var logits []float64
	for _, p := range b.LegalOf(i) {
		logits = append(logits, want.Policy[p])
	}
	for j, p := range reference.Softmax(logits) {
		if got := float64(b.PriorOf(i)[j]); math.Abs(math.Log(got/p)) > 10*tolerance {
			t.Fatalf("position %d, policy index %d: %v, want %v", i, b.LegalOf(i)[j], got, p)
		}
	}
	for j, p := range want.WDL {
		if got := float64(b.WDL[i][j]); math.Abs(got-p) > tolerance {
			t.Errorf("position %d, WDL %v, want %v", i, b.WDL[i], want.WDL)
		}
	}
	if got := float64(b.M[i]); math.Abs(got-want.MovesLeft) > tolerance*math.Max(1, want.MovesLeft) {
		t.Errorf("position %d, moves left %v, want %v", i, got, want.MovesLeft)
	}
	return slices.Max(logits) - slices.Min(logits)
}

// A position's answer has the same bits alone, in any batch, at any place and
// with any size of evaluator.
func TestBatchIndependence(t *testing.T) {
	const numPositions = 70 // more than a chunk; no multiple of a group
	evaluators, batches := []int{5, 64, 300}, []int{9, numPositions}
	if testing.Short() { // an emulated arm64 takes a minute for all
		evaluators, batches = []int{64}, []int{9, numPositions}
	}
	for _, name := range []string{"16x2", "21x1", "16x1-classical", "sparse64", "*encoded", "*smolgen", "*dense"} {
		n := testNet(t, name, 5)
		all := randomBatch(6, numPositions)
		eachTier(t, func(t *testing.T, p kernel.Precision) {
			single := newEvaluator(t, n, 1, p)
			want := pick(all, seq(numPositions))
			for i := range numPositions {
				one := pick(all, []int{i})
				evaluate(t, single, one)
				copy(want.PriorOf(i), one.Prior)
				want.WDL[i], want.M[i] = one.WDL[0], one.M[0]
			}
			rng := rand.New(rand.NewPCG(7, 7))
			for _, maxBatch := range evaluators {
				e := newEvaluator(t, n, maxBatch, p)
				for _, size := range batches {
					order := rng.Perm(numPositions)[:size]
					b := pick(all, order)
					evaluate(t, e, b)
					for k, i := range order {
						if !slices.Equal(b.PriorOf(k), want.PriorOf(i)) || b.WDL[k] != want.WDL[i] || b.M[k] != want.M[i] {
							t.Fatalf("%s, evaluator of %d, batch of %d: position %d differs", name, maxBatch, size, i)
						}
					}
				}
			}
		})
	}
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// pick returns a batch of chosen positions.
func pick(b *encoding.Batch, order []int) *encoding.Batch {
	p := encoding.NewBatch(len(order))
	for _, i := range order {
		k := p.Grow(len(b.LegalOf(i)))
		p.Masks[k], p.Scalars[k] = b.Masks[i], b.Scalars[i]
		copy(p.LegalOf(k), b.LegalOf(i))
	}
	return p
}

func evaluate(t testing.TB, e *Evaluator, b *encoding.Batch) {
	t.Helper()
	if err := e.Evaluate(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

func TestNoAllocation(t *testing.T) {
	for _, name := range []string{"16x2", "16x1-classical-scalar-noml", "16x1-plain-mish", "16x1-pooled", "sparse64", "sparse64-noml"} {
		for _, p := range []kernel.Precision{kernel.FP32, kernel.BF16} {
			e := newEvaluator(t, testNet(t, name, 1), 32, p)
			b := randomBatch(2, 40)
			if n := testing.AllocsPerRun(3, func() { evaluate(t, e, b) }); n != 0 {
				t.Errorf("%s %v: %v allocations a batch", name, p, n)
			}
		}
	}
}

func TestSwap(t *testing.T) {
	b := randomBatch(8, 5)
	e := newEvaluator(t, testNet(t, "16x2", 1), 4, kernel.FP32)
	for _, name := range []string{"16x2", "24x1-scalar", "sparse64", "16x2-classical-noml", "sparse128-noml", "16x2"} {
		n := testNet(t, name, 9)
		c, err := New(n, kernel.FP32)
		if err != nil {
			t.Fatal(err)
		}
		e.Swap(c)
		for i := range b.M {
			b.M[i] = -1 // must be written even without the head
		}
		evaluate(t, e, b)
		for i := range b.N {
			want := reference.Forward(n, &b.Masks[i], &b.Scalars[i], b.LegalOf(i)...)
			compare(t, b, i, &want, tolerance)
		}
	}
}

func TestPositionWithoutMoves(t *testing.T) {
	b := encoding.NewBatch(2)
	b.Grow(0)
	b.Grow(1)
	b.Masks[1][0], b.LegalOf(1)[0] = 2, 34
	e := newEvaluator(t, testNet(t, "16x1", 1), 4, kernel.FP32)
	evaluate(t, e, b)
	if b.Prior[0] != 1 {
		t.Errorf("the only move has prior %v", b.Prior[0])
	}
	b.Reset()
	evaluate(t, e, b)
}

// countdown is a context that is cancelled after some looks at it.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestContext(t *testing.T) {
	e := newEvaluator(t, testNet(t, "16x1", 1), 64, kernel.FP32)
	b := randomBatch(1, 50)
	if err := e.Evaluate(&countdown{context.Background(), 2}, b); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if err := e.Evaluate(&countdown{context.Background(), 1000}, b); err != nil {
		t.Error(err)
	}
}

// A net that overflows is reported, whichever head sees it.
func TestNotFiniteOutput(t *testing.T) {
	const huge = 1e38
	for _, name := range []string{"policy.conv2.weight", "value.fc2.weight", "moves_left.fc2.weight", "tower.0.conv2.weight"} {
		n := testNet(t, "16x1-plain", 1)
		w := n.Get(name)
		for i := range w {
			w[i] = huge
		}
		eachTier(t, func(t *testing.T, p kernel.Precision) {
			if err := newEvaluator(t, n, 4, p).Evaluate(context.Background(), randomBatch(1, 3)); !errors.Is(err, ErrNotFinite) {
				t.Errorf("%s: error %v, want ErrNotFinite", name, err)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(n *nn.Net)
		want  error
	}{
		"architecture":      {func(n *nn.Net) { n.Arch.Blocks[0].InputFormat = 6 }, nn.ErrArch},
		"missing tensor":    {func(n *nn.Net) { n.Params = n.Params[1:] }, nn.ErrParams},
		"NaN":               {func(n *nn.Net) { n.Params[7].Data[0] = float32(math.NaN()) }, nn.ErrNotFinite},
		"infinite":          {func(n *nn.Net) { n.Params[0].Data[3] = float32(math.Inf(-1)) }, nn.ErrNotFinite},
		"negative variance": {func(n *nn.Net) { n.Get("input.bn.var")[2] = -1 }, nn.ErrParams},
	} {
		n := testNet(t, "16x1", 1)
		c.spoil(n)
		if _, err := New(n, kernel.FP32); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

// A batch in another input format than the net's is refused.
func TestEvaluateRefusesFormat(t *testing.T) {
	e := newEvaluator(t, testNet(t, "16x1-input3", 1), 4, kernel.FP32)
	if e.InputFormat() != encoding.FormatCanonical {
		t.Errorf("input format %d", e.InputFormat())
	}
	for format, want := range map[encoding.InputFormat]bool{0: false, encoding.FormatClassical: false, encoding.FormatCanonical: true, encoding.FormatHectoplies: false} {
		b := randomBatch(2, 3)
		b.Format = format
		if err := e.Evaluate(context.Background(), b); (err == nil) != want || err != nil && !errors.Is(err, nn.ErrArch) {
			t.Errorf("format %d: %v", format, err)
		}
	}
}

// The packed net keeps nothing of the weights it was made from.
func TestNewCopies(t *testing.T) {
	n := testNet(t, "16x1", 1)
	e := newEvaluator(t, n, 4, kernel.FP32)
	b := randomBatch(2, 3)
	evaluate(t, e, b)
	want := slices.Clone(b.Prior)
	for _, p := range n.Params {
		clear(p.Data)
	}
	evaluate(t, e, b)
	if !slices.Equal(b.Prior, want) {
		t.Error("the answer changed with the original weights")
	}
}

// A fresh net is near uniform: no move has twice its share, no outcome is above
// a half, and moves left starts where its gradient is not dead.
func TestFreshNetIsNearUniform(t *testing.T) {
	for _, name := range []string{"32x4", "64x6", "64x6-plain", "16x2-classical", "sparse128"} {
		e := newEvaluator(t, nn.Init(mustArch(t, name), 7), 16, kernel.FP32)
		b := randomBatch(3, 12)
		evaluate(t, e, b)
		for i := range b.N {
			prior := b.PriorOf(i)
			if top := slices.Max(prior) * float32(len(prior)); top > 2 {
				t.Errorf("%s: a move of %d has %.2f times its share", name, len(prior), top)
			}
			if top := slices.Max(b.WDL[i][:]); top > .5 {
				t.Errorf("%s: WDL %v", name, b.WDL[i])
			}
			if b.M[i] < 20 || b.M[i] > 60 {
				t.Errorf("%s: moves left %v", name, b.M[i])
			}
		}
	}
}

// One packed net serves many goroutines; run with -race.
func TestSharedNet(t *testing.T) {
	c, err := New(testNet(t, "16x2", 1), kernel.FP32)
	if err != nil {
		t.Fatal(err)
	}
	want := randomBatch(5, 20)
	evaluate(t, c.NewEvaluator(8), want)
	var g errgroup.Group
	for range 4 {
		g.Go(func() error {
			e, b := c.NewEvaluator(8), randomBatch(5, 20)
			if err := e.Evaluate(context.Background(), b); err != nil {
				return err
			}
			if !slices.Equal(b.Prior, want.Prior) || !slices.Equal(b.WDL, want.WDL) {
				return errors.New("a goroutine got another answer")
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// Where a tier has no bf16 products, a net packed for them is the fp32 one.
func TestBF16WhereThereIsNone(t *testing.T) {
	n := testNet(t, "16x2", 3)
	old := kernel.ActiveTier()
	defer func() {
		if err := kernel.SetTier(old); err != nil {
			t.Error(err)
		}
	}()
	for _, tier := range kernel.Tiers() {
		if err := kernel.SetTier(tier); err != nil {
			t.Fatal(err)
		}
		want, got := randomBatch(4, 9), randomBatch(4, 9)
		evaluate(t, newEvaluator(t, n, 8, kernel.FP32), want)
		evaluate(t, newEvaluator(t, n, 8, kernel.BF16), got)
		if same := slices.Equal(got.Prior, want.Prior) && slices.Equal(got.WDL, want.WDL); same == kernel.HasBF16() {
			t.Errorf("%s: bf16 products %v, answers like those of fp32 %v", tier, kernel.HasBF16(), same)
		}
	}
}
