package bench

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/nn/kernel"
)

const (
	// minRuns is the least number of runs that the best is taken from, however
	// short the duration.
	minRuns = 3
	// runTime is how long a run lasts at least: short enough that some runs go
	// undisturbed, long enough that the clock and goroutine starts do not count.
	runTime = 2 * time.Millisecond
)

// peakTime is the time of each of the two measurements of the peak. Tests have less.
var peakTime = 50 * time.Millisecond

// work does one batch, again and again. It is used by one goroutine at a time.
type work func() error

// bestTime runs all works at once, each in its own goroutine if there are
// several, for about d, and returns the shortest time of one round of batches.
func bestTime(d time.Duration, works []work) (time.Duration, error) {
	repeat := 1
	for { // not counted: caches and lazy memory are cold. A batch may be shorter than a tick of the clock
		t, err := timeRun(works, repeat)
		if err != nil {
			return 0, err
		}
		if 2*t > runTime {
			break
		}
		repeat *= 2
	}
	best := time.Duration(math.MaxInt64)
	err := again(d, minRuns, func() error {
		t, err := timeRun(works, repeat)
		best = min(best, t)
		return err
	})
	return max(best/time.Duration(repeat), 1), err
}

// timeRun returns the time that all works take for repeat batches each.
func timeRun(works []work, repeat int) (time.Duration, error) {
	start := time.Now()
	if len(works) == 1 {
		err := again(0, repeat, works[0])
		return time.Since(start), err
	}
	var group errgroup.Group
	for _, w := range works {
		group.Go(func() error { return again(0, repeat, w) })
	}
	err := group.Wait()
	return time.Since(start), err
}

// again does work for about d, and least times at least.
func again(d time.Duration, least int, w work) error {
	for end := time.Now().Add(d); least > 0 || time.Now().Before(end); least-- {
		if err := w(); err != nil {
			return err
		}
	}
	return nil
}

// callAgain lets callers call again and again, each in its own goroutine, and tells
// ended of each call until that says that it has seen enough; calls under way end first.
func callAgain[C any](ctx context.Context, callers int, call func(ctx context.Context, caller int) (C, error), ended func(C) (enough bool)) error {
	group, ctx := errgroup.WithContext(ctx)
	calls, failed := make(chan C, callers), make(chan error, 1)
	var enough atomic.Bool
	for caller := range callers {
		group.Go(func() error {
			for !enough.Load() {
				c, err := call(ctx, caller)
				if err = errors.Join(err, ctx.Err()); err != nil {
					return err
				}
				calls <- c
			}
			return nil
		})
	}
	go func() { failed <- group.Wait(); close(calls) }()
	for c := range calls {
		if ended(c) {
			enough.Store(true)
		}
	}
	return <-failed
}

// withPeak runs f between two measurements of the core's peak, GFLOP/s in the
// active tier and precision p, and returns the higher one.
func withPeak(p kernel.Precision, f func() error) (float64, error) {
	peak := kernel.PeakGFLOPS(peakTime, p)
	err := f()
	return max(peak, kernel.PeakGFLOPS(peakTime, p)), err
}

// Clock names what busyTime counts, in results.
const Clock = "cpu"
