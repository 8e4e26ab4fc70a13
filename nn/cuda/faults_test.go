package cuda

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/trainer"
)

var errGone = errors.New("the device is gone")

// frailDevice counts what is on it. It runs out of memory, and of all else that can
// be made on it, once `room` things were made, and is gone for good after `launches`
// graphs.
type frailDevice struct {
	driver.Device
	room, launches atomic.Int64
	live, modules  atomic.Int64
}

// frail returns a device on the emulator, and what was opened on it.
func frail(t *testing.T, room, launches int64) (*frailDevice, *Device) {
	t.Helper()
	f := &frailDevice{Device: emulated.Open(t)}
	f.room.Store(room)
	f.launches.Store(launches)
	d, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	return f, d
}

const plenty = 1 << 40

func (d *frailDevice) Unwrap() driver.Device { return d.Device }

// take says whether there is room for one thing more.
func (d *frailDevice) take() error {
	if d.room.Add(-1) < 0 {
		return driver.ErrOutOfMemory
	}
	return nil
}

// made counts a thing, unless it could not be made.
func made[T any](d *frailDevice, make func() (T, error)) (T, error) {
	var none T
	if err := d.take(); err != nil {
		return none, err
	}
	v, err := make()
	if err == nil {
		d.live.Add(1)
	}
	return v, err
}

func (d *frailDevice) Alloc(n int) (driver.Ptr, error) {
	return made(d, func() (driver.Ptr, error) { return d.Device.Alloc(n) })
}

func (d *frailDevice) Free(p driver.Ptr) error {
	d.live.Add(-1)
	return d.Device.Free(p)
}

type frailHost struct {
	driver.Host
	d *frailDevice
}

func (d *frailDevice) AllocHost(n int) (driver.Host, error) {
	return made(d, func() (driver.Host, error) { h, err := d.Device.AllocHost(n); return frailHost{h, d}, err })
}

func (h frailHost) Free() error {
	h.d.live.Add(-1)
	return h.Host.Free()
}

type frailEvent struct {
	driver.Event
	d *frailDevice
}

func (d *frailDevice) NewEvent() (driver.Event, error) {
	return made(d, func() (driver.Event, error) { e, err := d.Device.NewEvent(); return frailEvent{e, d}, err })
}

func (e frailEvent) Destroy() error {
	e.d.live.Add(-1)
	return e.Event.Destroy()
}

type frailStream struct {
	driver.Stream
	d *frailDevice
}

func (d *frailDevice) NewStream() (driver.Stream, error) {
	return made(d, func() (driver.Stream, error) { s, err := d.Device.NewStream(); return frailStream{s, d}, err })
}

func (s frailStream) Record(e driver.Event) error { return s.Stream.Record(e.(frailEvent).Event) }
func (s frailStream) Wait(e driver.Event) error   { return s.Stream.Wait(e.(frailEvent).Event) }

func (s frailStream) Destroy() error {
	s.d.live.Add(-1)
	return s.Stream.Destroy()
}

type frailGraph struct {
	driver.Graph
	d *frailDevice
}

func (s frailStream) EndCapture() (driver.Graph, error) {
	g, err := s.Stream.EndCapture()
	if err != nil {
		return nil, err
	}
	if s.d.take() != nil {
		return nil, errors.Join(driver.ErrOutOfMemory, g.Destroy())
	}
	s.d.live.Add(1)
	return frailGraph{g, s.d}, nil
}

func (s frailStream) LaunchGraph(g driver.Graph) error {
	s.d.launches.Add(-1)
	return s.Stream.LaunchGraph(g.(frailGraph).Graph)
}

func (s frailStream) Synchronize() error {
	if err := s.Stream.Synchronize(); err != nil {
		return err
	}
	if s.d.launches.Load() < 0 {
		return errGone
	}
	return nil
}

func (g frailGraph) Destroy() error {
	g.d.live.Add(-1)
	return g.Graph.Destroy()
}

type frailModule struct {
	driver.Module
	d *frailDevice
}

func (d *frailDevice) Load(name string, ptx []byte) (driver.Module, error) {
	m, err := d.Device.Load(name, ptx)
	if err != nil {
		return nil, err
	}
	d.modules.Add(1)
	return frailModule{m, d}, nil
}

func (m frailModule) Unload() error {
	m.d.modules.Add(-1)
	return m.Module.Unload()
}

// everyShortage runs use on devices with room for ever more things, until it succeeds:
// before, each error is ErrOutOfMemory, and nothing is left on the device.
func everyShortage(t *testing.T, atLeast int64, use func(d *Device) error) {
	t.Helper()
	f, d := frail(t, 0, plenty)
	for room := int64(0); ; room++ {
		f.room.Store(room)
		err := use(d)
		if n := f.live.Load(); n != 0 {
			t.Fatalf("with room for %d things %d are left (error %v)", room, n, err)
		}
		if err == nil {
			t.Logf("%d things", room)
			if room < atLeast {
				t.Errorf("it succeeds with %d things on the device, want %d or more", room, atLeast)
			}
			break
		}
		if !errors.Is(err, driver.ErrOutOfMemory) {
			t.Fatalf("with room for %d things: %v, want ErrOutOfMemory", room, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if n := f.modules.Load(); n != 0 {
		t.Errorf("%d modules are left after Close", n)
	}
}

// TestTrainerShortOfMemory makes a trainer and takes a step, and runs out of memory at
// each place where that is possible.
func TestTrainerShortOfMemory(t *testing.T) {
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.Precision = 2, device.FP16
	net := nntest.Net(smallArch(), 3)
	cfg.Losses = trainer.LossesFor(net.Arch, cfg.Losses)
	everyShortage(t, 60, func(d *Device) error {
		cfg.Device = func(c device.Config) (device.Trainer, error) { return d.NewTrainer(c) }
		tr, err := trainer.New(net, cfg)
		if err != nil {
			return err
		}
		_, err = tr.Step(t.Context(), randomBatches(1, 2))
		if closed := tr.Close(); closed != nil {
			t.Fatal(closed)
		}
		return err
	})
}

// TestEvaluatorShortOfMemory does the same with a net and an evaluator, fused and
// layer by layer.
func TestEvaluatorShortOfMemory(t *testing.T) {
	source := inferenceNet(t, tinyNet, 1)
	for _, p := range []device.Precision{device.FP16, device.FP32} {
		everyShortage(t, 18, func(d *Device) error {
			n, err := d.NewNet(source, p)
			if err != nil {
				return err
			}
			e, err := d.NewEvaluator(n, 2)
			if err == nil {
				err = e.Evaluate(context.Background(), randomPositions(1, 1))
				if closed := e.Close(); closed != nil {
					t.Fatal(closed)
				}
			}
			if closed := n.Close(); closed != nil {
				t.Fatal(closed)
			}
			return err
		})
	}
}

// TestDeviceGone: from a fault on, calls fail with it, those that wait too, and Close
// returns.
func TestDeviceGone(t *testing.T) {
	f, d := frail(t, plenty, 3)
	n, err := d.NewNet(inferenceNet(t, tinyNet, 1), device.FP16)
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.NewEvaluator(n, 2)
	if err != nil {
		t.Fatal(err)
	}
	all := randomPositions(1, 1)
	var calls sync.WaitGroup
	for range 6 {
		calls.Go(func() {
			for {
				if err := e.Evaluate(context.Background(), pick(all, 0, 0, 0)); err != nil {
					if !errors.Is(err, errGone) {
						t.Errorf("error %v, want that of the device", err)
					}
					return
				}
			}
		})
	}
	calls.Wait()
	if err := e.Evaluate(context.Background(), all); !errors.Is(err, errGone) {
		t.Errorf("a later call: %v", err)
	}
	if err := errors.Join(e.Close(), n.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	if n := f.live.Load(); n != 0 {
		t.Errorf("%d things are left", n)
	}
}

// TestSwapAfterClose: a closed evaluator takes no net and lets go of its own once.
func TestSwapAfterClose(t *testing.T) {
	f, d := frail(t, plenty, plenty)
	first, err := d.NewNet(inferenceNet(t, tinyNet, 1), device.FP16)
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.NewNet(inferenceNet(t, tinyNet, 2), device.FP16)
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.NewEvaluator(first, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e.Swap(second)
	again, err := d.NewEvaluator(first, 1) // which its owner has not closed
	if err != nil {
		t.Fatal(err)
	}
	evaluate(t, again, randomPositions(1, 1))
	if err := errors.Join(again.Close(), first.Close(), second.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	if n := f.live.Load(); n != 0 {
		t.Errorf("%d things are left", n)
	}
}

// TestGraphsOfPasses: full batches of passes that come again are captured, of a few
// loss scales at most, and give what launches give.
func TestGraphsOfPasses(t *testing.T) {
	d := openEmulated(t, emulated.Options{})
	var dev *Trainer
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.Precision = 3, device.FP16
	net := nntest.Net(smallArch(), 4)
	cfg.Losses = trainer.LossesFor(net.Arch, cfg.Losses)
	cfg.Device = func(c device.Config) (device.Trainer, error) {
		var err error
		dev, err = d.NewTrainer(c)
		return dev, err
	}
	tr, err := trainer.New(net, cfg)
	if err != nil {
		t.Fatal(err)
	}
	batch := randomBatches(9, 3).batches[0]
	pass := func(p device.Pass) (rows device.Rows, graphs int) {
		t.Helper()
		if err := errors.Join(dev.BeginStep(), dev.Stage(batch), dev.Start(p), dev.Finish(&rows)); err != nil {
			t.Fatal(err)
		}
		return rows, len(dev.slots[0].graphs) + len(dev.slots[1].graphs)
	}
	const running = .5
	direct, graphs := pass(device.Pass{Backward: true, First: true, LossScale: 1, BNMomentum: running})
	if graphs != 0 {
		t.Errorf("a pass with its own momentum left %d graphs", graphs)
	}
	for round := range 4 { // two a slot: captured, launched again
		captured, n := pass(device.Pass{Backward: true, First: true, LossScale: 1})
		if n != min(round+1, 2) {
			t.Errorf("round %d: %d graphs", round, n)
		}
		for i := range direct.Terms {
			if !bytes.Equal(bytesOf(captured.Terms[i]), bytesOf(direct.Terms[i])) { // NaN where a target is not known
				t.Errorf("round %d: term %d: %v, by launches %v", round, i, captured.Terms[i], direct.Terms[i])
			}
		}
	}
	for i := range 2*maxGraphs + 3 {
		if _, n := pass(device.Pass{First: true, LossScale: float32(i + 2)}); n > 2*maxGraphs {
			t.Fatalf("%d graphs", n)
		}
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
}
