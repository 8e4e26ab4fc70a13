package train

import (
	"runtime"
	"testing"
)

// liveHeap returns the bytes that are reachable now, after the finalizers' turn.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestRunsLeaveNoMemory: cycles, the daemon and sweeps train again and again in one
// process. A run of this size has two trainers (its own, and the untrained net's of
// the summary) of 5 MB each, so three runs that kept theirs would keep 28 MB.
func TestRunsLeaveNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("memory, not order")
	}
	const size = "--batch-size=128 --episodes=2"
	train(t, t.TempDir(), size) // what is kept once: tables, pools
	before := liveHeap()
	for range 3 {
		train(t, t.TempDir(), size)
	}
	if grown := liveHeap() - before; grown > 4<<20 {
		t.Errorf("three finished runs keep %d bytes", grown)
	}
}
