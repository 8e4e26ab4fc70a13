package monitor

import (
	"os"
	"path/filepath"
	"testing"
)

func TestProfiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "profiles")
	stop, err := Profiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Profiles(t.TempDir()); err == nil {
		t.Error("two profiles at once were started")
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cpu.pprof", "trace.out", "heap.pprof"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, empty or missing", name, err)
		}
	}
}
