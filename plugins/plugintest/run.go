package plugintest

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// SeedEnv names the environment variable that repeats a run of the suite with
// the seed that it logged.
const SeedEnv = "CHESSBRAIN_PLUGINTEST_SEED"

// ready says that Main decides what this process is. Run starts the process's
// own program as a plugin; without Main that would run the tests again, which
// would start it again.
var ready bool

// Started says whether this process was started by a host, as a plugin.
func Started() bool {
	return os.Getenv(api.Handshake.MagicCookieKey) == api.Handshake.MagicCookieValue
}

// Main is the TestMain of a plugin's package: where a host started the test
// binary it is the plugin d, else it runs the tests. It does not return.
func Main(m *testing.M, d *stage.Definition) {
	if Started() {
		plugins.Serve(d) // does not return
	}
	ready = true
	os.Exit(m.Run())
}

// Run holds a stage to the suite in two ways, each a subtest: bare, and as a
// subprocess, which is the test binary itself (Main must be its TestMain). Where the
// stage is deterministic, both give the same output to the bit. settings are those of
// the instances under test.
func Run(t *testing.T, d *stage.Definition, settings map[string]string) {
	t.Helper()
	seed := freshSeed(t)
	var first []output
	way := func(name string, subject func(*testing.T) Subject) {
		t.Run(name, func(t *testing.T) {
			results, outputs := check(t.Context(), subject(t), seed)
			report(t, results)
			if !d.Has(stage.Deterministic) || t.Failed() {
				return
			}
			if first == nil {
				first = outputs
			} else if what := differ(outputs, first); what != "" {
				t.Errorf("another output than before: %s", what)
			}
		})
	}
	way("bare", func(*testing.T) Subject { return Bare(d, settings) })
	way("subprocess", func(t *testing.T) Subject {
		if !ready {
			t.Fatal("TestMain does not call plugintest.Main: the test binary cannot be the plugin")
		}
		return hosted(t, filepath.Join(selfIn(t, d.Name), d.Name), settings)
	})
}

// RunProgram holds a program, an executable file or a directory with one, to the
// suite. It is started as a run would start it.
func RunProgram(t *testing.T, path string, settings map[string]string) {
	t.Helper()
	seed := freshSeed(t)
	report(t, Check(t.Context(), hosted(t, path, settings), seed))
}

// freshSeed returns another seed at each run and logs it.
func freshSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(SeedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", SeedEnv, err)
		}
	}
	t.Logf("seed %d (%s repeats it)", seed, SeedEnv)
	return seed
}

// selfIn makes a directory of plugins in which the test binary stands under a
// name. A host refuses both where the umask lets a group write, so they lose that.
func selfIn(t testing.TB, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	err = errors.Join(os.Chmod(self, 0o755), os.Chmod(dir, 0o700), os.Symlink(self, filepath.Join(dir, name)))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// hosted returns the program at path as a host finds it.
func hosted(t *testing.T, path string, settings map[string]string) Subject {
	t.Helper()
	h := newHost(t, filepath.Dir(path))
	name, err := host.ProgramName(path)
	if err != nil {
		t.Fatal(err)
	}
	found, err := h.FindStages(t.Context(), "", name, filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	return Hosted(h, found[0].Definition, settings)
}

// newHost returns a host over one directory, which is closed at the end of the
// test. A process that had to be replaced fails the test: supervision would hide
// it from the suite. What plugins log is in the test's output.
func newHost(t *testing.T, dir string, env ...string) *host.Host {
	t.Helper()
	var failed Failures
	h, err := host.New(host.Options{Dirs: []string{dir}, Env: env, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Notify: failed.Note})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(h.Close(), failed.Result().Err); err != nil {
			t.Error(err)
		}
	})
	return h
}

// report turns results into errors of the test.
func report(t *testing.T, results []Result) {
	t.Helper()
	if len(results) == 0 {
		t.Error("the suite made no check")
	}
	for _, r := range results {
		if r.Err != nil {
			t.Error(r)
		} else {
			t.Log(r)
		}
	}
}
