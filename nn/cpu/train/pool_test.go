package train

import (
	"sync/atomic"
	"testing"
)

// A helper that comes when the caller is done must not hold anybody up: with
// players on all cores it may come much later.
func TestLateHelperIsTurnedAway(t *testing.T) {
	var calls atomic.Int64
	j := &job{numTasks: 3, task: func(int, int) { calls.Add(1) }, done: make(chan struct{}, 1)}
	j.work(0)
	waits := newPatience()
	j.finish(&waits) // nobody else came: returns at once
	j.next.Store(0)
	j.help(1)
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls, want the caller's 3", n)
	}
}

func TestPoolRunsEachTaskOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 5} {
		p := newPool(workers)
		for range 200 {
			counts := make([]int, 17)
			p.run(len(counts), func(i, worker int) {
				counts[i]++
				if worker < 0 || worker >= workers {
					t.Errorf("worker %d of %d", worker, workers)
				}
			})
			for i, n := range counts {
				if n != 1 {
					t.Fatalf("%d workers: task %d ran %d times", workers, i, n)
				}
			}
		}
		p.run(0, func(int, int) { t.Error("a task of none ran") })
		p.close()
		p.close()
	}
}
