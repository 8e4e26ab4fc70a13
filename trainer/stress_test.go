package trainer

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/nn"
)

// disturb makes the runtime interrupt everything until the returned function is
// called: collections that move stacks, changes of GOMAXPROCS, which stop the
// world, and more busy goroutines than processors, which preempt each other.
func disturb() (stop func()) {
	procs := runtime.GOMAXPROCS(0)
	done := make(chan struct{})
	var noise sync.WaitGroup
	repeat := func(f func(i int)) {
		noise.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
					f(i)
				}
			}
		})
	}
	repeat(func(i int) {
		runtime.GC()
		runtime.GOMAXPROCS(1 + i%4)
	})
	for range 4 {
		var kept [8][]byte
		repeat(func(i int) { kept[i%len(kept)] = make([]byte, 1<<(i%14)) })
	}
	return func() {
		close(done)
		noise.Wait()
		runtime.GOMAXPROCS(procs)
	}
}

// TestStress: trainers beside each other, with several workers, take the same
// steps bit for bit as one alone with one worker in a quiet process, while the
// runtime interrupts them all.
func TestStress(t *testing.T) {
	trainers, steps, rows := 3, 6, 150
	if testing.Short() {
		trainers, steps, rows = 2, 2, 50
	}
	eachPrecision(t, func(t *testing.T, amp bool) {
		arch := tinyArch()
		run := func(workers int) (*nn.Net, StepStats, error) {
			cfg := testConfig(arch, rows)
			cfg.Workers, cfg.AMP = workers, amp
			tr, err := New(nn.Init(arch, 3), cfg)
			if err != nil {
				return nil, StepStats{}, err
			}
			defer tr.Close()
			src := newRowsSource(11, rows, -1)
			var stats StepStats
			for range steps {
				if stats, err = tr.Step(context.Background(), src); err != nil {
					return nil, stats, err
				}
			}
			return tr.Net(), stats, nil
		}
		want, wantStats, err := run(1)
		if err != nil {
			t.Fatal(err)
		}
		nets, stats := make([]*nn.Net, trainers), make([]StepStats, trainers)
		stop := disturb()
		var group errgroup.Group
		for i := range trainers {
			group.Go(func() (err error) {
				nets[i], stats[i], err = run(i + 1)
				return err
			})
		}
		err = group.Wait()
		stop()
		if err != nil {
			t.Fatal(err)
		}
		for i, net := range nets {
			sameBits(t, "interrupted", want, net)
			if stats[i].Objective != wantStats.Objective || stats[i].GradNorm != wantStats.GradNorm {
				t.Errorf("trainer %d: %+v, want %+v", i, stats[i], wantStats)
			}
		}
	})
}
