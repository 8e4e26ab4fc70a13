package bench

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda"
	"github.com/chessbrain/chessbrain/selfplay"
)

// deviceSeat gives a worker a quick evaluator until the games are out of step, and
// then the device's, which all workers share.
type deviceSeat struct {
	stats      *selfplay.Stats
	mixed      uint64 // moves of all games before the device plays
	mixer, net selfplay.Net
}

func (s *deviceSeat) Current() selfplay.Net {
	if s.stats.Positions.Load() < s.mixed {
		return s.mixer
	}
	return s.net
}

// play measures self-play: moves per second of all workers, with one evaluator.
func (b *deviceBench) play(ctx context.Context) (err error) {
	p := b.o.Precisions[0]
	net, err := b.dev.NewNet(nn.Init(b.o.Arch, netSeed), p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, net.Close()) }()
	o := b.o.Play
	e, err := b.dev.NewEvaluator(net, MaxBatch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	r := b.row(KindSelfPlay, p, o.Workers*o.Games)
	r.Simulations, r.Workers = o.Simulations, o.Workers
	playing, stop := context.WithCancel(ctx)
	defer stop()
	group, playing := errgroup.WithContext(playing)
	stats := &selfplay.Stats{}
	if err := b.startWorkers(playing, group, e, stats); err != nil {
		return err
	}
	err = b.watch(playing, stats, &r)
	stop()
	switch ended := group.Wait(); {
	case errors.Is(ended, selfplay.ErrStopped) || errors.Is(ended, context.Canceled):
	case ended != nil:
		err = errors.Join(ended, err)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	return b.show(r)
}

// startWorkers starts the workers in the group.
func (b *deviceBench) startWorkers(ctx context.Context, group *errgroup.Group, e *cuda.Evaluator, stats *selfplay.Stats) error {
	o := b.o.Play
	cfg, err := workers(o.Workers, o.Games, min(2, o.Games), o.Simulations)
	if err != nil {
		return err
	}
	cfg.Stats, cfg.Nets = stats, &deviceSeat{stats: stats, mixed: uint64(mixMoves * o.Workers * o.Games), mixer: mixer(),
		net: selfplay.Net{ID: e.ID(), Evaluator: e, Generation: 1}}
	for range o.Workers {
		group.Go(func() error { return selfplay.Run(ctx, cfg) })
	}
	return nil
}

// watch lets the games warm up and measures a window.
func (b *deviceBench) watch(ctx context.Context, stats *selfplay.Stats, r *DeviceRow) (err error) {
	warm := uint64((mixMoves + warmMoves) * r.Batch)
	for stats.Positions.Load() < warm {
		if err := pause(ctx); err != nil {
			return err
		}
	}
	if err := b.meter.start(); err != nil {
		return err
	}
	was, cpu, began := stats.Snapshot(), busyTime(), time.Now()
	for window := max(8*b.o.Duration, b.o.leastPlay()); time.Since(began) < window || stats.Positions.Load() == was.Positions; {
		if err := pause(ctx); err != nil {
			return err
		}
	}
	now, seconds := stats.Snapshot(), time.Since(began).Seconds()
	r.PositionsPerSecond = float64(now.Positions-was.Positions) / seconds
	b.rate(r, float64(now.Evaluations-was.Evaluations)/seconds, 1, b.o.Precisions[0])
	r.HostCores = (busyTime() - cpu).Seconds() / seconds
	if b.best > 0 {
		r.OfInference = r.BoardsPerSecond / b.best
	}
	r.Busy, err = b.meter.stop()
	return err
}

// leastPlay is the shortest window: moves of games in lock step come in bursts.
func (o *DeviceOptions) leastPlay() time.Duration {
	if o.Duration < 10*time.Millisecond {
		return 0 // a trial
	}
	return 4 * time.Second
}

// pause waits a moment, or returns the context's error.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Millisecond):
		return nil
	}
}
