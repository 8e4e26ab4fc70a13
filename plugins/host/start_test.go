package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// A process sees a clean environment, no secret of the host's, and private
// directories.
func TestEnvironment(t *testing.T) {
	temp := shortTemp(t)
	t.Setenv("SECRET_OF_THE_HOST", "1")
	t.Setenv("LANG", "C")
	b := newBench(t, []string{"halve"}, nil)
	b.rescorer("halve")
	r := b.report("halve")
	var names []string
	for _, v := range r.Environ {
		name, value, _ := strings.Cut(v, "=")
		names = append(names, name)
		if name == "TMPDIR" && !strings.HasPrefix(value, temp+"/"+roomPrefix) {
			t.Errorf("TMPDIR is %s", value)
		}
	}
	allowed := []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR", pluginEnv, "GORACE", "CHESSBRAIN_PLUGIN",
		"PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR"}
	for _, name := range names {
		if !slices.Contains(allowed, name) && !strings.HasPrefix(name, "CHESSBRAIN_STARTED_") { // by which what it starts is found
			t.Errorf("the plugin sees %s", name)
		}
	}
	for _, name := range []string{"PATH", "LANG", "TMPDIR", pluginEnv} {
		if !slices.Contains(names, name) {
			t.Errorf("the plugin does not see %s", name)
		}
	}
	if r.Mode != "drwx------" {
		t.Errorf("the socket's directory has mode %s", r.Mode)
	}
	if info, err := os.Stat(filepath.Dir(r.Path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the copy's directory: %v, %v", info, err)
	}
}

// What a program does instead of starting is said, with its name.
func TestStartFailures(t *testing.T) {
	script := func(name, text string) func(*testing.T, *bench) {
		return func(t *testing.T, b *bench) {
			if err := os.WriteFile(filepath.Join(b.dir, "bin", name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(*testing.T, *bench)
		says    string
		is      error
	}{
		{"garbage", nil, `plugin garbage: printed "hello, I am a program" instead of a handshake`, nil},
		{"version", nil, "plugin version: speaks version 9 of the plugin protocol, this chessbrain speaks version 3", nil},
		{"elsewhere", nil, `plugin elsewhere: failed while it was being started: its handshake names tcp "127.0.0.1:9", want a Unix socket`, nil},
		{"misnamed", nil, `rescorer misnamed: was not started`, nil},
		{"silent", nil, "plugin silent: hung: it was not ready within 1.5s", nil},
		{"deaf", nil, "plugin deaf: hung: it was not ready within 1.5s", nil},
		{"early", script("early", "#!/bin/sh\necho went wrong >&2\nexit 5\n"), "plugin early: died before its handshake (exit status 5: went wrong)", nil},
		{"noexec", script("noexec", "#!/no/such/interpreter\n"), "plugin noexec: could not be executed", os.ErrNotExist},
		{"nosuch", nil, `unknown rescorer "nosuch"; built in: none; programs:`, ErrUnknown},
		{"picker", nil, "is a plugin, but a sampler", ErrUnknown},
		{"plain", func(t *testing.T, b *bench) {
			filetest.Write(t, filepath.Join(b.dir, "bin", "plain.py"), "#!/bin/sh\n")
		}, "plain.py is not an executable file: chmod +x", ErrUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // beside the wait for deadlines
			b := newBench(t, nil, func(o *Options) {
				if c.name == "silent" || c.name == "deaf" {
					o.StartTimeout = 1500 * time.Millisecond
				}
			})
			if c.prepare != nil {
				c.prepare(t, b)
			} else if c.name != "nosuch" {
				link(t, filepath.Join(b.dir, "bin", c.name))
			}
			_, err := b.Rescorer(t.Context(), stage.Choice{Name: c.name})
			if err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %v, want one with %q", err, c.says)
			}
			if len(b.Stats()) != 0 {
				t.Error("there is a stage all the same")
			}
		})
	}
}

// A start ends with its context, and with the host.
func TestStartCancelled(t *testing.T) {
	b := newBench(t, []string{"silent"}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	start := func() chan error {
		os.Remove(filepath.Join(b.dir, "report-silent"))
		done := make(chan error)
		go func() {
			_, err := b.Describe(ctx, Program{Path: filepath.Join(b.dir, "bin", "silent")})
			done <- err
		}()
		b.report("silent") // it runs
		return done
	}
	done := start()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	ctx = t.Context()
	done = start()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("a start outlived the host")
	}
	if pid := b.report("silent").PID; alive(pid) {
		t.Errorf("process %d is alive", pid)
	}
	var e *Error
	if _, err := b.Rescorer(t.Context(), stage.Choice{Name: "silent"}); !errors.Is(err, ErrClosed) || !errors.As(err, &e) {
		t.Errorf("a closed host: %v", err)
	}
}

// Settings are refused by the description, or by the stage.
func TestSettings(t *testing.T) {
	b := newBench(t, []string{"halve"}, nil)
	for setting, says := range map[string]string{"even": `unknown setting "even"`, "odd": "4 is even"} {
		_, err := b.Rescorer(t.Context(), stage.Choice{Name: "halve", Settings: map[string]string{setting: "4"}})
		if !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), "rescorer halve: refused its settings") || !strings.Contains(err.Error(), says) {
			t.Errorf("setting %s: %v", setting, err)
		}
	}
	if _, err := b.Rescorer(t.Context(), stage.Choice{Name: "halve", Settings: map[string]string{"odd": "3"}}); err != nil {
		t.Error(err)
	}
}

// The copy that was hashed is what runs, whatever happens to the file meanwhile.
func TestSwappedFile(t *testing.T) {
	at, path := "", ""
	b := newBench(t, []string{"halve"}, func(o *Options) {
		o.hook = func(now string) {
			if now == at {
				replace(t, path, "#!/bin/sh\necho swapped\n")
			}
		}
	})
	path = filepath.Join(b.dir, "bin", "halve")
	sum, err := hashProgram(path)
	if err != nil {
		t.Fatal(err)
	}
	at = "hashed"
	if _, err := b.Describe(t.Context(), Program{Path: path}); !errors.Is(err, ErrLock) || !strings.Contains(err.Error(), "was changed while it was being started") {
		t.Errorf("swapped before the copy: %v", err)
	}
	os.Remove(path)
	link(t, path)
	at = "copied"
	d, err := b.Describe(t.Context(), Program{Path: path, SHA256: sum})
	if err != nil || d.Name != "halve" {
		t.Errorf("swapped after the copy: %v", err)
	}
	at = ""
	if _, err := b.Describe(t.Context(), Program{Path: path, SHA256: sum}); !errors.Is(err, ErrLock) || !strings.Contains(err.Error(), sum) {
		t.Errorf("another content than what was found: %v", err)
	}
}

// replace puts another file in the place of one.
func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Error(err)
	}
}

// Lock files hold at each start, the next one after a death included.
func TestLockedPrograms(t *testing.T) {
	var locks []string
	b := newBench(t, []string{"halve"}, func(o *Options) {
		dir := t.TempDir()
		locks = []string{filepath.Join(dir, "a.lock"), filepath.Join(dir, "b.lock"), filepath.Join(dir, "none.lock")}
		o.LockFiles, o.Restarts = locks, 1
	})
	programs, err := b.Programs()
	if err != nil || len(programs) != 1 {
		t.Fatal(programs, err)
	}
	for _, lock := range locks[:2] {
		if err := WriteLock(fsx.OS, lock, programs); err != nil {
			t.Fatal(err)
		}
	}
	r := b.rescorer("halve")
	if err := WriteLock(fsx.OS, locks[1], nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Rescorer(t.Context(), stage.Choice{Name: "halve"}); !errors.Is(err, ErrLock) || !strings.Contains(err.Error(), locks[1]) {
		t.Errorf("not in the second lock file: %v", err)
	}
	var own *Error
	if _, _, err := b.Definition(t.Context(), stage.KindRescorer, "halve"); !errors.Is(err, ErrLock) || !errors.As(err, &own) {
		t.Errorf("the definition, which is known: %v", err)
	}
	games := randomGames(t, 1)
	games[0].Seed = seedDieOnce
	if _, err := r.RescoreBatch(inTime(t), games); !errors.Is(err, ErrLock) || !errors.Is(err, ErrGivenUp) {
		t.Errorf("the next start after a death: %v", err)
	}
}

// A start after a death is a new one in all: new copy, new client, new process.
func TestRestartsAreNew(t *testing.T) {
	b := newBench(t, []string{"halve"}, nil)
	r := b.rescorer("halve")
	games := randomGames(t, 3)
	var seen []string
	for _, g := range games {
		g.Seed = seedDieOnce
		seen = append(seen, b.report("halve").Path)
		if _, err := r.Rescore(inTime(t), g); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(seen)
	if len(slices.Compact(seen)) != 3 {
		t.Errorf("copies %v", seen)
	}
	for _, path := range seen {
		if _, err := os.Stat(path); err == nil && path != b.report("halve").Path {
			t.Errorf("%s is left", path)
		}
	}
}
