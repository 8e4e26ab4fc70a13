package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
)

const tinyNet = "8x1-plain"

// answers returns batches of all positions of b one by one, answered by net.
func answers(t *testing.T, d *Device, net *Net, b *encoding.Batch) *encoding.Batch {
	t.Helper()
	order := make([]int, b.N)
	for i := range order {
		order[i] = i
	}
	want := pick(b, order...)
	evaluate(t, newEvaluator(t, d, net, b.N), want)
	return want
}

// Many goroutines share an evaluator while nets are swapped and calls are cancelled:
// every answer is that of one of the nets, and a cancelled call's batch is left alone.
func TestManyGoroutines(t *testing.T) {
	const goroutines, rounds, positions = 6, 6, 4
	seed := freshSeed(t)
	d := openEmulated(t, emulated.Options{Shuffled: true})
	all := randomPositions(seed, positions)
	sources := []*nn.Net{inferenceNet(t, tinyNet, seed), inferenceNet(t, "8x1-mish-classical", seed+1)}
	var want []*encoding.Batch
	for _, n := range sources {
		want = append(want, answers(t, d, newNet(t, d, n, device.BF16), all))
	}
	e := newEvaluator(t, d, newNet(t, d, sources[0], device.BF16), 7)
	var group errgroup.Group
	for g := range goroutines {
		group.Go(func() error {
			rng := rand.New(rand.NewPCG(seed, uint64(g)))
			for range rounds {
				if err := oneCall(e, all, want, rng); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		for i := range 4 {
			n, err := d.NewNet(sources[(i+1)%2], device.BF16)
			if err != nil {
				return err
			}
			e.Swap(n)
			if e.ID() != n.ID() {
				return fmt.Errorf("id %s after a swap, want %s", e.ID(), n.ID())
			}
			if err := n.Close(); err != nil { // the evaluator keeps what it needs
				return err
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// oneCall evaluates random positions; one call in three is cancelled before its answer
// is waited for.
func oneCall(e *Evaluator, all *encoding.Batch, want []*encoding.Batch, rng *rand.Rand) error {
	order := make([]int, 1+rng.IntN(9))
	for k := range order {
		order[k] = rng.IntN(all.N)
	}
	b := pick(all, order...)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cancelled := rng.IntN(3) == 0
	if cancelled {
		go cancel()
	}
	err := e.Evaluate(ctx, b)
	if cancelled && errors.Is(err, context.Canceled) {
		b.Reset() // the batch is the caller's: the race detector watches
		b.Grow(1)
		return nil
	}
	if err != nil {
		return err
	}
	for k, i := range order {
		if !sameAnswer(b, k, want[0], i) && !sameAnswer(b, k, want[1], i) {
			return fmt.Errorf("batch %v: the answer to position %d is that of no net", order, i)
		}
	}
	return nil
}

// Swaps between architectures and precisions give the new net's answers, and the
// device's memory comes back.
func TestSwap(t *testing.T) {
	seed := freshSeed(t)
	d := openEmulated(t, emulated.Options{})
	all := randomPositions(seed, 3)
	e := newEvaluator(t, d, newNet(t, d, inferenceNet(t, tinyNet, seed), device.FP16), 2)
	for _, c := range []struct {
		name      string
		precision device.Precision
	}{{"24x1-scalar", device.BF16}, {"8x1-classical-noml", device.FP32}, {tinyNet, device.FP16}} {
		n := newNet(t, d, inferenceNet(t, c.name, seed), c.precision)
		want := answers(t, d, n, all)
		e.Swap(n)
		b := pick(all, 0, 1, 2)
		evaluate(t, e, b)
		for i := range b.N {
			if !sameAnswer(b, i, want, i) {
				t.Errorf("%s: position %d has another answer after the swap", c.name, i)
			}
		}
		if n.arch.Head(nn.MovesLeft) == nil && b.M[0] != 0 {
			t.Errorf("%s: moves left %v without the head", c.name, b.M[0])
		}
	}
}

// A call of many more positions, or legal moves, than a batch holds is split.
func TestWideCall(t *testing.T) {
	seed := freshSeed(t)
	d := openEmulated(t, emulated.Options{})
	n := newNet(t, d, inferenceNet(t, tinyNet, seed), device.FP16)
	all := randomPositions(seed, 2)
	want := answers(t, d, n, all)
	e := newEvaluator(t, d, n, 4)
	order := make([]int, 21)
	for i := range order {
		order[i] = min(i%3, 1) // two in three have all 1858 moves
	}
	b := pick(all, order...)
	if least := int(b.LegalStart[b.N]) / legalCapacity(4); least < 8 {
		t.Fatalf("the moves fill only %d batches", least)
	}
	evaluate(t, e, b)
	for k, i := range order {
		if !sameAnswer(b, k, want, i) {
			t.Fatalf("position %d differs", k)
		}
	}
}

// What is wrong with one call does not harm the others that share a batch with it: an
// activation beyond fp16, or a batch that is not valid.
func TestErrorsStayWithTheirCall(t *testing.T) {
	seed := freshSeed(t)
	const plane = 5
	source := inferenceNet(t, tinyNet, seed)
	w := source.Get("input.conv.weight")
	for o := range source.Arch.Width() {
		for tap := range 9 {
			w[(o*encoding.NumPlanes+plane)*9+tap] = 3e4
		}
	}
	d := openEmulated(t, emulated.Options{Shuffled: true})
	n := newNet(t, d, source, device.FP16)
	good, bad := randomPositions(seed, 3), randomPositions(seed+1, 3)
	for i := range 3 {
		good.Masks[i][plane], bad.Masks[i][plane] = 0, 0
	}
	bad.Masks[2][plane] = ^uint64(0)
	want := answers(t, d, n, good)
	e := newEvaluator(t, d, n, 8)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			b := pick(good, 2, 0)
			if err := e.Evaluate(context.Background(), b); err != nil || !sameAnswer(b, 0, want, 2) || !sameAnswer(b, 1, want, 0) {
				t.Errorf("the answer beside a call that fails is wrong, error %v", err)
			}
		})
		group.Go(func() {
			if err := e.Evaluate(context.Background(), pick(bad, 0, 2)); !errors.Is(err, ErrNotFinite) {
				t.Errorf("error %v, want ErrNotFinite", err)
			}
		})
		group.Go(func() {
			b := pick(good, 0, 2)
			if len(b.Legal) == 0 {
				b.Legal, b.Prior, b.LegalStart[2] = []uint16{0}, []float32{0}, 1
			}
			b.Legal[0] = encoding.NumPolicy
			if err := e.Evaluate(context.Background(), b); !errors.Is(err, ErrBatch) {
				t.Errorf("error %v, want ErrBatch", err)
			}
		})
	}
	group.Wait()
}

// A net that overflows is reported, whichever head sees it, in every form.
func TestNotFiniteOutput(t *testing.T) {
	d := openEmulated(t, emulated.Options{})
	for _, precision := range []device.Precision{device.BF16, device.FP32} {
		for _, name := range []string{"policy.conv2.weight", "policy.fc.weight", "value.fc2.weight", "moves_left.fc2.weight", "policy.q.weight", "tower.0.q.weight"} {
			arch := tinyNet
			switch name {
			case "policy.fc.weight":
				arch += "-classical"
			case "policy.q.weight":
				arch = "*tower"
			case "tower.0.q.weight":
				arch = "*dense"
			}
			source := inferenceNet(t, arch, 1)
			w := source.Get(name)
			for i := range w {
				w[i] = 3e38
			}
			b := randomPositions(1, 3)
			err := newEvaluator(t, d, newNet(t, d, source, precision), 4).Evaluate(context.Background(), b)
			if !errors.Is(err, ErrNotFinite) {
				t.Errorf("%s in %s: error %v, want ErrNotFinite", name, precisionNames[precision], err)
			}
		}
	}
}

func TestNewNetRefuses(t *testing.T) {
	d := openEmulated(t, emulated.Options{})
	for name, c := range map[string]struct {
		spoil func(n *nn.Net)
		want  error
	}{
		"architecture":   {func(n *nn.Net) { n.Arch.Blocks[0].InputFormat = 3 }, nn.ErrArch},
		"missing tensor": {func(n *nn.Net) { n.Params = n.Params[1:] }, nn.ErrParams},
		"infinite":       {func(n *nn.Net) { n.Params[0].Data[3] = float32(math.Inf(1)) }, nn.ErrNotFinite},
		"beyond fp16":    {func(n *nn.Net) { n.Get("value.fc1.weight")[3] = 7e4 }, nn.ErrNotFinite},
	} {
		n := inferenceNet(t, tinyNet, 1)
		c.spoil(n)
		if _, err := d.NewNet(n, device.FP16); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	attention := inferenceNet(t, "*smolgen", 1)
	attention.Get("smolgen.weight")[7] = 7e4
	if _, err := d.NewNet(attention, device.FP16); !errors.Is(err, nn.ErrNotFinite) || !strings.Contains(err.Error(), "smolgen.weight") {
		t.Errorf("an attention net beyond fp16: %v", err)
	}
	sparse := nn.Init(nn.SparseArch(nn.SparseBlock), 1)
	_, err := d.NewNet(sparse, device.FP16)
	_, trainErr := d.NewTrainer(device.Config{Arch: sparse.Arch, Capacity: 1, Optimizer: "sgd"})
	for _, err := range []error{err, trainErr} {
		if !errors.Is(err, nn.ErrArch) || !strings.Contains(err.Error(), "a GPU takes a tower") {
			t.Errorf("a sparse net: %v", err)
		}
	}
	unknown := nn.DefaultArch()
	unknown.Blocks[1].Kind = "attention"
	_, err = d.NewTrainer(device.Config{Arch: unknown, Capacity: 1, Optimizer: "sgd"})
	if !errors.Is(err, nn.ErrArch) {
		t.Errorf("an unknown kind: %v", err)
	}
}

// Out of memory is an error of the call that needs it, and leaves nothing behind.
func TestOutOfMemory(t *testing.T) {
	d := openEmulated(t, emulated.Options{Bytes: 3 << 20})
	n := newNet(t, d, inferenceNet(t, tinyNet, 1), device.FP16)
	if _, err := d.NewEvaluator(n, 1<<14); !errors.Is(err, driver.ErrOutOfMemory) {
		t.Errorf("error %v, want ErrOutOfMemory", err)
	}
	evaluate(t, newEvaluator(t, d, n, 2), randomPositions(1, 1))
}

// Close fails what waits, and later calls.
func TestClose(t *testing.T) {
	d := openEmulated(t, emulated.Options{})
	n := newNet(t, d, inferenceNet(t, tinyNet, 1), device.FP16)
	e, err := d.NewEvaluator(n, 1)
	if err != nil {
		t.Fatal(err)
	}
	all := randomPositions(1, 1)
	var group errgroup.Group
	for range 8 {
		group.Go(func() error {
			if err := e.Evaluate(context.Background(), pick(all, 0, 0, 0)); err != nil && !errors.Is(err, ErrClosed) {
				return err
			}
			return nil
		})
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if err := e.Evaluate(context.Background(), all); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v after Close, want ErrClosed", err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}
