package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/trainer"
)

// DeviceOptions says what OnDevice measures.
type DeviceOptions struct {
	Arch       nn.Arch
	Precisions []device.Precision // of inference; training takes the last one that needs no loss scale
	Batches    []int              // of inference
	Train      []TrainShape
	Duration   time.Duration // of each measurement, about; self-play takes eight times as long, at least 4 s
	Play       DevicePlay
}

// TrainShape is a training step: so many micro-batches of so many rows.
type TrainShape struct{ Rows, Accumulate int }

// DevicePlay says how self-play is measured.
type DevicePlay struct {
	Workers     int // 0 = no self-play
	Games       int // of each worker, in two halves
	Simulations int
}

// DefaultDeviceOptions measures everything of one net.
func DefaultDeviceOptions(arch nn.Arch, i driver.Info, workers int) DeviceOptions {
	o := DeviceOptions{Arch: arch, Precisions: []device.Precision{device.FP16, device.BF16}, Duration: 500 * time.Millisecond,
		Train: []TrainShape{{1024, 1}, {4096, 1}, {1024, 4}}, Play: DevicePlay{Workers: workers, Games: 256, Simulations: 64}}
	for b := 1; b <= MaxBatch; b *= 2 {
		o.Batches = append(o.Batches, b)
	}
	if !cuda.Supports(i, device.BF16) {
		o.Precisions = []device.Precision{device.FP32}
	}
	return o
}

// OnDevice measures inference, training steps and self-play of one net on d, which it
// takes over, and hands each figure to show as soon as it is there.
func OnDevice(ctx context.Context, d driver.Device, o DeviceOptions, show func(DeviceRow) error) (err error) {
	if err := o.Arch.Validate(); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrOptions, err), d.Close())
	}
	m, err := newBusyMeter(d)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	dev, err := cuda.Open(m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	b := &deviceBench{o: o, dev: dev, meter: m, show: show}
	for _, p := range o.Precisions {
		if err := b.infer(ctx, p); err != nil {
			return fmt.Errorf("inference in %s: %w", p, err)
		}
	}
	for _, s := range o.Train {
		if err := b.train(ctx, s); err != nil {
			return fmt.Errorf("training in micro-batches of %d: %w", s.Rows, err)
		}
	}
	if o.Play.Workers == 0 {
		return nil
	}
	if err := b.play(ctx); err != nil {
		return fmt.Errorf("self-play: %w", err)
	}
	return nil
}

// deviceBench is a measurement under way.
type deviceBench struct {
	o     DeviceOptions
	dev   *cuda.Device
	meter *busyMeter
	show  func(DeviceRow) error
	best  float64 // evaluations per second of the fastest batch
}

// row begins a figure.
func (b *deviceBench) row(kind string, p device.Precision, batch int) DeviceRow {
	return DeviceRow{Kind: kind, Device: b.dev.Info().Name, Net: b.o.Arch.String(), Precision: p.String(), Batch: batch}
}

// rate fills in boards a second, each of so many forward passes.
func (b *deviceBench) rate(r *DeviceRow, boards, passes float64, p device.Precision) {
	r.BoardsPerSecond = boards
	r.TFLOPS = boards * passes * float64(b.o.Arch.FLOPs()) / 1e12
	if peak := devicePeak(b.dev.Info(), p); peak > 0 {
		r.ShareOfPeak = r.TFLOPS / peak
	}
}

const (
	// callers keep the evaluator's slots full.
	callers = 4
	// windows of a measurement, of which the best counts; calls may end in bursts.
	deviceWindows, callsPerWindow = 3, 4 * callers
)

// infer measures all batch sizes in one precision.
func (b *deviceBench) infer(ctx context.Context, p device.Precision) (err error) {
	net, err := b.dev.NewNet(nn.Init(b.o.Arch, netSeed), p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, net.Close()) }()
	for _, batch := range b.o.Batches {
		r := b.row(KindInfer, p, batch)
		if err := b.inferBatch(ctx, net, &r, p); err != nil {
			return fmt.Errorf("batch %d: %w", batch, err)
		}
		b.best = max(b.best, r.BoardsPerSecond)
		if err := b.show(r); err != nil {
			return err
		}
	}
	return nil
}

func (b *deviceBench) inferBatch(ctx context.Context, net *cuda.Net, r *DeviceRow, p device.Precision) (err error) {
	e, err := b.dev.NewEvaluator(net, r.Batch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	var batches [callers]*encoding.Batch
	for i := range batches {
		batches[i] = inferenceBatch(r.Batch, i)
	}
	evaluate := func() error { return e.Evaluate(ctx, batches[0]) }
	if err := again(0, 2, evaluate); err != nil { // graphs are captured
		return err
	}
	alone, err := bestTime(b.o.Duration/5+1, []work{evaluate})
	if err != nil {
		return err
	}
	r.Latency = float64(alone) / float64(time.Millisecond)
	if err := b.meter.start(); err != nil {
		return err
	}
	windows := callWindows{least: b.o.Duration / deviceWindows, boards: r.Batch}
	err = callAgain(ctx, callers, func(ctx context.Context, caller int) (time.Time, error) {
		err := e.Evaluate(ctx, batches[caller])
		return time.Now(), err
	}, windows.count)
	if err != nil {
		return err
	}
	b.rate(r, windows.best, 1, p)
	r.Busy, err = b.meter.stop()
	return err
}

// callWindows finds the best window of calls. A window goes from the end of one call to
// that of another, least later at least and with callsPerWindow between them.
type callWindows struct {
	least  time.Duration
	boards int     // of a call
	best   float64 // boards per second

	first          time.Time // end of the call that the window under way begins with
	calls, windows int       // since first; that are over
}

// count takes the end of a call.
func (w *callWindows) count(at time.Time) (enough bool) {
	if w.first.IsZero() {
		w.first = at
		return false
	}
	w.calls++
	if took := at.Sub(w.first); w.calls >= callsPerWindow && took >= w.least {
		w.best = max(w.best, float64(w.calls*w.boards)/perSecond(took))
		w.first, w.calls, w.windows = time.Time{}, 0, w.windows+1
	}
	return w.windows == deviceWindows
}

// train measures whole steps, with the reading of rows and all that the host does.
func (b *deviceBench) train(ctx context.Context, s TrainShape) (err error) {
	p := device.FP16
	for _, q := range b.o.Precisions {
		if q != device.FP16 { // the last one that needs no loss scale
			p = q
		}
	}
	r := b.row(KindTrain, p, s.Rows)
	if s.Accumulate > 1 {
		r.Kind, r.Accumulate = KindAccumulate, s.Accumulate
	}
	before, _, err := b.meter.MemInfo()
	if err != nil {
		return err
	}
	cfg := trainConfig(b.o.Arch, s.Rows, p)
	cfg.GradAccumSteps = s.Accumulate
	cfg.Device = func(c device.Config) (device.Trainer, error) { return b.dev.NewTrainer(c) }
	t, err := trainer.New(nn.Init(b.o.Arch, netSeed), cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	best, err := b.steps(ctx, t, newSameRows(s.Rows), &r)
	if err != nil {
		return err
	}
	after, _, err := b.meter.MemInfo()
	if err != nil {
		return err
	}
	r.MemoryMiB = float64(int64(before)-int64(after)) / (1 << 20)
	b.rate(&r, best, forwardsPerStep, p)
	return b.show(r)
}

// steps returns the rows per second of the best window of training steps.
func (b *deviceBench) steps(ctx context.Context, t *trainer.Trainer, src sameRows, r *DeviceRow) (best float64, err error) {
	rows := 0
	step := func() error {
		s, err := t.Step(ctx, src)
		if err == nil && s.Skipped {
			err = fmt.Errorf("step %d was skipped: loss %v, gradient norm %v", s.Step, s.Objective, s.GradNorm)
		}
		rows += s.Rows
		return err
	}
	if err := errors.Join(again(0, 3, step), b.meter.start()); err != nil { // graphs are captured
		return 0, err
	}
	for range deviceWindows {
		began := time.Now()
		rows = 0
		if err := again(b.o.Duration/deviceWindows, 1, step); err != nil {
			return 0, err
		}
		best = max(best, float64(rows)/time.Since(began).Seconds())
	}
	r.Busy, err = b.meter.stop()
	return best, err
}
