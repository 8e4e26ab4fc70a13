package bench

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// Both modes measure the games that they make, and leave nothing behind.
func TestLoader(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for mode, want := range map[string][2]string{LoaderRL: {"store of own games", "store of leela v6"}, LoaderSL: {"store of own games", "files of leela v6"}} {
		results, err := Loader(t.Context(), LoaderOptions{Mode: mode, Games: 3, StoreMiB: 16, Frames: 500, Duration: 1})
		if err != nil || len(results) != 2 {
			t.Fatalf("%s: %d results, %v", mode, len(results), err)
		}
		for i, r := range results {
			if got := r.Source + " of " + r.Files; got != want[i] || r.Mode != mode || r.Clock != Clock {
				t.Errorf("%s: %s, want %s", mode, got, want[i])
			}
			if r.Chunks != 3 || r.PliesPerChunk < minLoaderPlies || r.PliesPerChunk > maxLoaderPlies || r.Quarantined != 0 {
				t.Errorf("%s: %+v", mode, r)
			}
			if r.SlowestWindow <= 0 || r.SlowestWindow > r.RowsPerCPUSecond || r.RowsPerCPUSecond > r.FastestWindow || r.PlanesPerSecond <= 0 || r.StartSeconds <= 0 {
				t.Errorf("%s: rates %+v", mode, r)
			}
			store, reservoir := r.Source == "store", mode == LoaderSL
			if (r.StoreBytes > 0) != store || r.StoreBytes > 300 || (r.StartRate > 0) != store || (r.ReservoirBytes > 0) != reservoir || r.ReservoirBytes > 300 {
				t.Errorf("%s: memory %+v", mode, r)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(temp, "chessbrain-bench-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A directory of the user's is read and kept; what it holds must be of use.
func TestLoaderDir(t *testing.T) {
	dir := t.TempDir()
	if err := makeLoaderGames(dir, 2); err != nil {
		t.Fatal(err)
	}
	n := len(loaderGame(0).Plies) + len(loaderGame(1).Plies)
	results, err := Loader(t.Context(), LoaderOptions{Mode: LoaderSL, Dir: dir, StoreMiB: 16, Frames: 500, Duration: 1})
	if err != nil || len(results) != 2 || results[0].Chunks != 4 || results[0].Files != dir {
		t.Fatalf("%+v, %v", results, err)
	}
	if got := results[0].PliesPerChunk * 4; got != float64(2*n) {
		t.Errorf("%v positions, want %d", got, 2*n)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(left) != 2 {
		t.Errorf("files %v, %v", left, err)
	}
	bad := t.TempDir()
	filetest.Write(t, filepath.Join(bad, "a.tar"), "no tar")
	if _, err := Loader(t.Context(), LoaderOptions{Mode: LoaderRL, Dir: bad, StoreMiB: 16, Frames: 500, Duration: 1}); err == nil || !strings.Contains(err.Error(), "a.tar") {
		t.Errorf("a directory of damage: %v", err)
	}
}

func TestLoaderOptions(t *testing.T) {
	good := LoaderOptions{Mode: LoaderRL, Games: 1, StoreMiB: 1, Frames: 9, Duration: 1}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "f")
	filetest.Write(t, file, "")
	for name, change := range map[string]func(*LoaderOptions){
		"mode": func(o *LoaderOptions) { o.Mode = "x" }, "games": func(o *LoaderOptions) { o.Games = 0 }, "store": func(o *LoaderOptions) { o.StoreMiB = 0 },
		"reservoir": func(o *LoaderOptions) { o.Frames = 0 }, "duration": func(o *LoaderOptions) { o.Duration = 0 }, "none": func(o *LoaderOptions) { o.Dir = file + "none" }, "not a directory": func(o *LoaderOptions) { o.Dir = file },
	} {
		o := good
		change(&o)
		if err := o.Validate(); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoaderGame(t *testing.T) {
	for i := range uint64(4) {
		g := loaderGame(i)
		if err := g.Validate(); err != nil {
			t.Error(err)
		}
		if n := len(g.Plies); n < minLoaderPlies || n > maxLoaderPlies || g.ID == loaderGame(i+1).ID || g.ID != loaderGame(i).ID {
			t.Errorf("game %d has %d plies", i, n)
		}
	}
}
