// Package kerneltest is what tests of several rooms do to the kernels: run in a
// tier, and make the runtime interrupt everything.
//
//	kerneltest.InTier(t, kernel.Generic) // until the test ends
//	stop := kerneltest.Disturb()
//	defer stop()
package kerneltest

import (
	"runtime"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/nn/kernel"
)

// InTier runs the rest of a test in a tier that this machine has.
func InTier(t testing.TB, tier kernel.Tier) {
	t.Helper()
	old := kernel.ActiveTier()
	t.Cleanup(func() {
		if err := kernel.SetTier(old); err != nil {
			t.Error(err)
		}
	})
	if err := kernel.SetTier(tier); err != nil {
		t.Fatal(err)
	}
}

// Disturb makes the runtime interrupt everything until the returned function is
// called: collections that move stacks, changes of GOMAXPROCS, which stop the
// world, and more busy goroutines than processors, which preempt each other.
func Disturb() (stop func()) {
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
