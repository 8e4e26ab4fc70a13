package trainer

import (
	"runtime"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/nntest"
)

// liveHeap returns the bytes that are reachable now. Two collections, so that what
// the first one only hands to finalizers or takes out of sync.Pools is gone.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestClosedTrainerIsFreed: a process trains again and again (cycles, sweeps), so a
// closed trainer must leave nothing behind. Twenty that are kept weigh twenty times
// the one that is measured here; freed ones weigh nothing, and two are allowed.
func TestClosedTrainerIsFreed(t *testing.T) {
	const trainers = 20
	net := nntest.Net(nntest.TinyArch(), 1)
	cfg := testConfig(net.Arch, 64)
	train := func() (open int64) {
		tr, err := New(net, cfg)
		if err != nil {
			t.Fatal(err)
		}
		mustStep(t, tr, newRowsSource(1, cfg.BatchSize, 1))
		open = liveHeap()
		for range 2 { // a second Close is allowed
			if err := tr.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return open
	}
	train() // whatever the packages below keep once
	before := liveHeap()
	one := train() - before
	if one < 1<<20 {
		t.Fatalf("an open trainer takes %d bytes, too few to be told from the rest of the process", one)
	}
	for range trainers - 1 {
		train()
	}
	if grown := liveHeap() - before; grown > 2*one {
		t.Errorf("%d closed trainers keep %d bytes, as many as %.1f open ones", trainers, grown, float64(grown)/float64(one))
	}
}
