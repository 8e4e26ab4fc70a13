package cuda

import (
	"context"
	"errors"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/checked"
	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
)

// gatedDevice is a device on which a batch that begins says so and waits.
type gatedDevice struct {
	driver.Device
	began, release chan struct{}
}

type gatedStream struct {
	driver.Stream
	d *gatedDevice
}

func (d *gatedDevice) Unwrap() driver.Device { return d.Device }

func (d *gatedDevice) NewStream() (driver.Stream, error) {
	s, err := d.Device.NewStream()
	return &gatedStream{s, d}, err
}

func (s *gatedStream) LaunchGraph(g driver.Graph) error {
	s.d.began <- struct{}{}
	<-s.d.release
	return s.Stream.LaunchGraph(g)
}

// call is an Evaluate in a goroutine of its own.
type call struct {
	b      *encoding.Batch
	cancel func()
	err    chan error
}

func startCall(e *Evaluator, b *encoding.Batch) *call {
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{b, cancel, make(chan error, 1)}
	go func() { c.err <- e.Evaluate(ctx, b) }()
	return c
}

// With a batch on every slot: a swap leaves those their net, whose owner closes it; a
// cancelled call returns at once, on the device or in the queue, and its batch is not
// touched any more; the others get their answers.
func TestSwapAndCancelWhileBatchesRun(t *testing.T) {
	seed := freshSeed(t)
	inner := &gatedDevice{checked.Device(emulated.Open(t)), make(chan struct{}), make(chan struct{})}
	d, err := Open(inner)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, d)
	old, err := d.NewNet(inferenceNet(t, tinyNet, seed), device.FP16)
	if err != nil {
		t.Fatal(err)
	}
	next := newNet(t, d, inferenceNet(t, tinyNet, seed+1), device.FP16)
	all := randomPositions(seed, 3)
	e := newEvaluator(t, d, old, 4)
	var running []*call
	for range numSlots {
		running = append(running, startCall(e, pick(all, 1, 2)))
		<-inner.began
	}
	e.Swap(next)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*call{running[0], startCall(e, pick(all, 1, 2))} {
		c.cancel()
		if err := <-c.err; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
		clear(c.b.Prior)
	}
	last := startCall(e, pick(all, 1, 2)) // with the new net
	defer close(inner.began)
	go func() {
		for range inner.began {
		}
	}()
	close(inner.release)
	for _, c := range append(running[1:], last) {
		if err := <-c.err; err != nil {
			t.Error(err)
		}
	}
	wantOld := pick(all, 1, 2)
	again := newNet(t, d, inferenceNet(t, tinyNet, seed), device.FP16)
	evaluate(t, newEvaluator(t, d, again, 2), wantOld)
	wantNew := pick(all, 1, 2)
	evaluate(t, newEvaluator(t, d, next, 2), wantNew)
	for i := range 2 {
		if !sameAnswer(running[1].b, i, wantOld, i) || !sameAnswer(running[2].b, i, wantOld, i) || !sameAnswer(last.b, i, wantNew, i) {
			t.Errorf("position %d was not answered by the net of its batch", i)
		}
	}
	if p := running[0].b.Prior[0]; p != 0 {
		t.Errorf("the batch of a cancelled call was written to: %v", p)
	}
}
