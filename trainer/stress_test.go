package trainer

import (
	"context"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/internal/testing/kerneltest"
	"github.com/chessbrain/chessbrain/nn"
)

// TestStress: trainers beside each other, with several workers, take the same
// steps bit for bit as one alone with one worker in a quiet process, while the
// runtime interrupts them all.
func TestStress(t *testing.T) {
	trainers, steps, rows := 3, 6, 150
	if testing.Short() {
		trainers, steps, rows = 2, 2, 50
	}
	eachNet(t, func(t *testing.T, arch nn.Arch, amp bool) {
		run := func(workers int) (*nn.Net, StepStats, error) {
			cfg := testConfig(arch, rows)
			cfg.Workers, cfg.Precision = workers, precisionOf(amp)
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
		stop := kerneltest.Disturb()
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
