package plugins_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/replay"
)

// module is this repository's module.
const module = "github.com/chessbrain/chessbrain"

// outsider is the whole program of a plugin that somebody else wrote: training
// rows of positions with black to move count half.
const outsider = `package main

import (
	"context"
	"log/slog"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/record"
)

type lighten struct{}

func (lighten) Name() string { return "lighten-black" }

func (lighten) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	out := g.Clone()
	for i := range out.Plies {
		if g.SideAt(i) == chess.Black {
			out.Plies[i].Weight *= 0.5
		}
	}
	slog.Info("lightened a game", "plies", len(out.Plies))
	return out, ctx.Err()
}

func main() { plugins.Serve(lighten{}) }
`

// run executes a program in a directory and returns what it said and its exit
// code.
func run(t *testing.T, dir string, env []string, name string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	data, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(data), exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return string(data), 0
}

// mustRun is run of what has to succeed.
func mustRun(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	if out, code := run(t, dir, env, name, args...); code != 0 {
		t.Fatalf("%s %q: exit code %d:\n%s", name, args, code, out)
	}
}

// writeOutsider makes the plugin's module in a directory: a go.mod that replaces
// chessbrain by this checkout, as its author would have it, and one file.
func writeOutsider(t *testing.T, dir, repository string) {
	t.Helper()
	mod := fmt.Sprintf("module example.com/lighten-black\n\ngo 1.26\n\nrequire %s v0.0.0\n\nreplace %s => %s\n", module, module, repository)
	sum := filetest.Read(t, filepath.Join(repository, "go.sum"))
	for name, data := range map[string][]byte{"go.mod": []byte(mod), "go.sum": sum, "main.go": []byte(outsider)} {
		filetest.Write(t, filepath.Join(dir, name), data)
	}
}

// TestOutsidePlugin builds chessbrain once, then writes a plugin outside of the
// repository, builds it without a network, and drops it into a directory: the run
// that is told of it uses it, and the games on disk show what it did. In a run's own
// directory it is not enough to lie there.
func TestOutsidePlugin(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs; run without -short")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go tool here: nothing can be built")
	}
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	chessbrain := filepath.Join(work, "chessbrain")
	mustRun(t, repository, nil, "go", "build", "-o", chessbrain, "./cmd/chessbrain")
	built := filetest.Read(t, chessbrain)
	args := []string{"train", "--run-dir", "run", "--episodes", "2", "--net", "16x1", "--mcts-simulations", "2", "--max-plies", "12",
		"--validation-share", "0", "--rescorer", "lighten-black"}
	if out, code := run(t, work, nil, chessbrain, args...); code != 2 || !strings.Contains(out, `"lighten-black"`) {
		t.Fatalf("without the plugin: exit code %d, want 2 and its name:\n%s", code, out)
	}

	source, plugins := filepath.Join(work, "source"), filepath.Join(work, "run", "plugins")
	for _, dir := range []string{source, plugins} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeOutsider(t, source, repository)
	mustRun(t, source, []string{"GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off"},
		"go", "build", "-o", filepath.Join(plugins, "lighten-black"), ".")
	if err := os.Chmod(filepath.Join(plugins, "lighten-black"), 0o755); err != nil {
		t.Fatal(err)
	}

	if out, code := run(t, work, nil, chessbrain, args...); code != 2 || !strings.Contains(out, `"lighten-black"`) {
		t.Fatalf("in the run directory, unnamed: exit code %d, want 2 and its name:\n%s", code, out)
	}
	mustRun(t, work, nil, chessbrain, append(args, "--plugin-dir", plugins)...)
	if again, err := os.ReadFile(chessbrain); err != nil || !bytes.Equal(built, again) {
		t.Errorf("chessbrain itself was changed: %v", err)
	}
	lightened(t, filepath.Join(work, "run"))
}

// lightened looks at the games of a run.
func lightened(t *testing.T, runDir string) {
	t.Helper()
	scan, err := replay.ScanDir(t.Context(), fsx.OS, filepath.Join(runDir, "selfplay"))
	if err != nil || len(scan.Quarantine) > 0 || scan.NumGames != 2 {
		t.Fatalf("%+v, %v: want 2 games", scan, err)
	}
	black := 0
	for _, g := range scan.Games {
		for i, p := range g.Plies {
			want := float32(1)
			if i%2 == 1 {
				want = 0.5
				black++
			}
			if p.Weight != want {
				t.Errorf("game %d, ply %d: weight %g, want %g", g.Ordinal, i, p.Weight, want)
			}
		}
	}
	if black == 0 {
		t.Error("no position with black to move")
	}
}
