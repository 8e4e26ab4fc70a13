package selfplay

import (
	"sync/atomic"
	"time"
)

// Times counts where workers spend their time, in nanoseconds of the wall clock,
// summed over the workers and read a few times a batch.
type Times struct {
	TreeNanos    atomic.Int64 // selection, rows of the batch, expansion, backup, records
	NetworkNanos atomic.Int64 // inside Evaluate
	WaitNanos    atomic.Int64 // with two pools: tree work done, the network not yet
	SinkNanos    atomic.Int64 // inside Put
}

// lap adds the time since the last lap to c.
func (w *Worker) lap(c *atomic.Int64) {
	now := time.Now()
	c.Add(int64(now.Sub(w.since)))
	w.since = now
}
