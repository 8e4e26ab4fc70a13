package bench

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/selfplay"
)

// netSource is a function that says which net answers now.
type netSource func() selfplay.Net

func (s netSource) Current() selfplay.Net { return s() }

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
	cfg, err := workers(o.Workers, o.Games, min(2, o.Games), o.Simulations)
	if err != nil {
		return err
	}
	cfg.Stats = &selfplay.Stats{}
	quick, measured := mixer(), selfplay.Net{ID: e.ID(), Evaluator: e, Generation: 1}
	cfg.Nets = netSource(func() selfplay.Net { // the device plays once the games are out of step
		if cfg.Stats.Positions.Load() < uint64(mixMoves*o.Workers*o.Games) {
			return quick
		}
		return measured
	})
	playing, stop := context.WithCancel(ctx)
	defer stop()
	group, playing := errgroup.WithContext(playing)
	for range o.Workers {
		group.Go(func() error { return selfplay.Run(playing, cfg) })
	}
	r := b.row(KindSelfPlay, p, o.Workers*o.Games)
	r.Simulations, r.Workers = o.Simulations, o.Workers
	err = b.watch(playing, cfg.Stats, &r)
	stop()
	if ended := group.Wait(); !errors.Is(ended, selfplay.ErrStopped) && !errors.Is(ended, context.Canceled) {
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

// watch lets the games warm up and measures a window.
func (b *deviceBench) watch(ctx context.Context, stats *selfplay.Stats, r *DeviceRow) (err error) {
	warm := uint64((mixMoves + warmMoves) * r.Batch)
	if err := until(ctx, func() bool { return stats.Positions.Load() >= warm }); err != nil {
		return err
	}
	if err := b.meter.start(); err != nil {
		return err
	}
	was, cpu, began := stats.Snapshot(), busyTime(), time.Now()
	window := 8 * b.o.Duration
	if b.o.Duration >= 10*time.Millisecond { // else a trial
		window = max(window, 4*time.Second) // moves of games in lock step come in bursts
	}
	full := func() bool { return time.Since(began) >= window && stats.Positions.Load() > was.Positions }
	if err := until(ctx, full); err != nil {
		return err
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

// until waits until something holds, or returns the context's error.
func until(ctx context.Context, holds func() bool) error {
	for !holds() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}
