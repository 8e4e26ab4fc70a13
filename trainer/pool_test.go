package trainer

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
