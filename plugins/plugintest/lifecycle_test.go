package plugintest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/testing/faulty"
	"github.com/chessbrain/chessbrain/internal/testing/slow"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// footprint is what starts and stops must not let grow.
type footprint struct {
	goroutines int
	files      int // open descriptors; 0 where the system does not tell
	heap       uint64
	temps      int // entries of the directory for temporary files
}

// measure takes the footprint after a collection.
func measure(t *testing.T) footprint {
	t.Helper()
	runtime.GC()
	runtime.GC() // what finalizers let go of
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f := footprint{goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		f.files = len(entries)
	}
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f.temps = len(entries)
	return f
}

// TestManyStarts starts and stops plugins again and again, with a call in
// between; every fourth ends by a crash instead, and is started again by its
// host. Goroutines, descriptors, memory and temporary files stay flat.
func TestManyStarts(t *testing.T) {
	n := 40
	if slow.On {
		n = 250
	}
	dirs := []string{selfIn(t, faulty.Name)}
	temp, err := os.MkdirTemp("", "pt") // a short path: sockets come to lie in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	t.Setenv("TMPDIR", temp)
	games := playedGames(t, 4)
	var spent time.Duration
	once := func(i int) {
		plan := faulty.Plan{Kind: stage.KindRescorer}
		if i%4 == 3 {
			plan.Mode, plan.Once = faulty.Exit, filepath.Join(dirs[0], ".once")
			os.Remove(plan.Once)
		}
		h, err := host.New(host.Options{Dirs: dirs, Env: []string{plan.Env()}, Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := h.Close(); err != nil {
				t.Fatalf("start %d: close: %v", i, err)
			}
		}()
		begin := time.Now()
		s, err := h.Rescorer(t.Context(), stage.Choice{Name: faulty.Name})
		if err != nil {
			t.Fatalf("start %d: %v", i, err)
		}
		spent += time.Since(begin)
		out, err := batch(t, s, games)
		if err != nil || times(t, games[3], out[3]) != 1 {
			t.Fatalf("start %d: %v", i, err)
		}
		if i%2 == 0 {
			if err := h.Release(s); err != nil {
				t.Fatalf("start %d: release: %v", i, err)
			}
		}
	}
	for i := range 8 {
		once(i) // pools and caches fill
	}
	before := measure(t)
	spent = 0
	for i := range n {
		once(i)
	}
	after := settled(t, before)
	t.Logf("%d starts, %v each (hash, copy, handshake, description); before %+v, after %+v", n, (spent / time.Duration(n)).Round(time.Microsecond), before, after)
	if after.goroutines > before.goroutines || after.files > before.files || after.temps > before.temps {
		t.Errorf("before %+v, after %+v: something stays", before, after)
	}
	if growth := int64(after.heap) - int64(before.heap); growth > 1<<20 {
		t.Errorf("the heap grew by %d bytes in %d starts", growth, n)
	}
}

// settled measures until what ends by itself, such as the kernel's timers and
// gRPC's last goroutines, has ended; it gives up after a while.
func settled(t *testing.T, before footprint) footprint {
	t.Helper()
	for try := 0; ; try++ {
		now := measure(t)
		if now.goroutines <= before.goroutines && now.files <= before.files || try == 100 {
			return now
		}
		<-time.After(20 * time.Millisecond)
	}
}
