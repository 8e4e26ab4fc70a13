package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/replay/prepare"
)

// TestOptions holds what is refused before anything is looked at.
func TestOptions(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"YYYYMMDD_HHMMSS":       func(o *Options) { o.T = "../../x" },
		"month out of range":    func(o *Options) { o.T = "20261301_000000" },
		"no step":               func(o *Options) { o.Steps = nil },
		"--num-games 0":         func(o *Options) { o.NumGames = 0 },
		"--num-workers 0":       func(o *Options) { o.NumWorkers = 0 },
		"--max-samples 0":       func(o *Options) { o.MaxSamples = 0 },
		"--num-buckets-shuffle": func(o *Options) { o.Buckets = 0 },
		"--skip-files":          func(o *Options) { o.Skip = []int{-1} },
		`--shard-ranges "5"`:    func(o *Options) { o.Ranges = []string{"all", "5"} },
		`--shard-ranges "7-7"`:  func(o *Options) { o.Ranges = []string{"7-7"} },
	} {
		opt := tiny(t.TempDir())
		change(&opt)
		if err := opt.validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestParts holds which files of the sources are taken: ranges win over skips.
func TestParts(t *testing.T) {
	o := Options{Inputs: Inputs{Skip: []int{0, 0, 200}, Ranges: []string{"3-", "all", "10-20"}}}
	for i, want := range [][2]int{{3, 0}, {0, 0}, {10, 20}, {0, 0}} {
		if in, err := o.part(i, "d"); err != nil || [2]int{in.From, in.To} != want {
			t.Errorf("source %d: %+v, %v, want %v", i, in, err, want)
		}
	}
	o.Ranges = nil
	if in, err := o.part(2, "d"); err != nil || in.From != 200 {
		t.Errorf("%+v, %v: want 200 files skipped", in, err)
	}
}

// TestShares holds that the workers' games add up.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		games   int64
		workers int
	}{{20, 3}, {2, 5}, {100_000, 3}, {7, 7}} {
		o := Options{Games: Games{NumGames: c.games, NumWorkers: c.workers}}
		sum := int64(0)
		for n := range c.workers {
			sum += o.gamesOf(n)
		}
		if sum != c.games {
			t.Errorf("%d games by %d workers: %d", c.games, c.workers, sum)
		}
	}
}

// TestNewT holds that two runs of one second have two names.
func TestNewT(t *testing.T) {
	o := tiny(t.TempDir())
	now := o.begun()
	if got := o.NewT(now); got != testT {
		t.Fatalf("%s, want %s", got, testT)
	}
	if err := os.MkdirAll(o.Dir(Train), 0o777); err != nil {
		t.Fatal(err)
	}
	o.T = "20260102_030406"
	if err := os.MkdirAll(o.Base, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := (&State{T: o.T}).write(o.Base); err != nil {
		t.Fatal(err)
	}
	if got := o.NewT(now); got != "20260102_030407" {
		t.Errorf("%s: the two names before it are taken", got)
	}
}

// TestSeeds holds that runs of different times play different games.
func TestSeeds(t *testing.T) {
	a, b := Options{T: "20260102_030405"}, Options{T: "20260102_030406"}
	if a.seed() == b.seed() || a.seed() == 0 {
		t.Errorf("seeds %d and %d", a.seed(), b.seed())
	}
	if a.Seed = 9; a.seed() != 9 {
		t.Error("a given seed is not taken")
	}
}

// TestDamagedState holds that a state that cannot be read is told, not passed
// over.
func TestDamagedState(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "pipeline_"+testT+".json")
	for _, text := range []string{"", "{", `{"version":2}`, `{"version":1,"t":"20260102_030406","steps":[]}`,
		`{"version":1,"t":"20260102_030405","steps":[{"step":"moon"}]}`,
		`{"version":1,"t":"20260102_030405","steps":[{"step":"train"},{"step":"train"}]}`} {
		filetest.Write(t, path, text)
		_, err := Unfinished(base)
		bad, ok := err.(*prepare.ManifestError)
		if !ok || bad.Path != path {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzState holds that what is read as a state names only steps.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"version":1,"t":"20260102_030405","settings":{"a":["b"]},"steps":[{"step":"train","dir":"x"}]}`))
	f.Add([]byte(`{"version":1,"t":"20260102_030405","steps":null}`))
	base := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		filetest.Write(t, statePath(base, testT), data)
		s, err := ReadState(base, testT)
		if err != nil {
			return
		}
		if len(s.Steps) > len(AllSteps()) || s.T != testT {
			t.Fatalf("%+v", s)
		}
	})
}
