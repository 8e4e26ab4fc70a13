package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/retain"
)

// command runs a command line in this process.
func command(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	root, b := newRoot(), new(bytes.Buffer)
	root.SetOut(b)
	root.SetErr(io.Discard)
	root.SetArgs(args)
	err = root.Execute()
	return b.String(), err
}

// TestGatekeeperFlags holds the names that KataGo's users know, and its two other
// ones.
func TestGatekeeperFlags(t *testing.T) {
	flags := find(t, "gatekeeper").Flags()
	for _, name := range []string{
		"test-models-dir", "accepted-models-dir", "rejected-models-dir", "pgn-output-dir", "sgf-output-dir", "selfplay-dir", "quit-if-no-nets-to-test",
		"required-candidate-win-prop", "no-autoreject-old-models", "games", "visits", "workers", "sprt", "sprt-elo0", "sprt-elo1", "sprt-alpha", "sprt-beta",
		"test-older", "lock-wait", "run-dir", "config", "dry-run",
	} {
		if flags.Lookup(name) == nil {
			t.Errorf("no flag --%s", name)
		}
	}
	for _, name := range []string{"keep-shuffles", "keep-rejected", "keep-game-rows", "keep-game-days", "max-gib", "keep-models", "keep-gate-pgns", "dry-run", "json", "config"} {
		if find(t, "gc").Flags().Lookup(name) == nil {
			t.Errorf("gc has no flag --%s", name)
		}
	}
}

// TestGatekeeperCommand: a net is accepted, with directories of its own; a dry run
// before it creates nothing.
func TestGatekeeperCommand(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	arch := nntest.Named("8x1")
	if err := os.MkdirAll("in", 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(w io.Writer) error { return nn.WriteSafetensors(w, nn.Init(arch, 1), nil) }
	if err := fsx.WriteFileFunc(fsx.OS, "in/a.safetensors", write); err != nil {
		t.Fatal(err)
	}
	args := []string{"gatekeeper", "--run-dir", "run", "--test-models-dir", "in", "--quit-if-no-nets-to-test", "--games", "2", "--visits", "2",
		"--opening-plies", "8", "--max-plies", "9", "--workers", "1"}
	out, err := command(t, append(args, "--dry-run")...)
	if err != nil || !strings.Contains(out, "nets to test: 1 in in\n  a\n") {
		t.Errorf("dry run: %v\n%s", err, out)
	}
	if _, err := os.Stat("run"); err == nil {
		t.Error("a dry run made the run directory")
	}
	out, err = command(t, args...)
	if err != nil || !strings.Contains(out, "a accepted against random weights: 1 of 2 points, 1 of 2 needed; +0 =2 -0") || !strings.HasSuffix(out, "1 net accepted, 0 rejected\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join("run", "models", "a.safetensors")); err != nil {
		t.Error(err)
	}
	if out, err := command(t, "status", "run"); err != nil || !strings.Contains(out, " a (2 games)\n") {
		t.Errorf("the page of the run does not rate the net: %v\n%s", err, out)
	}
	if out, err = command(t, args...); err != nil || out != "No net was decided about.\n" {
		t.Errorf("nothing to test: %v\n%s", err, out)
	}
	if _, err = command(t, append(args, "--games", "3")...); exitCode(err) != exitUsage {
		t.Errorf("three games: %v", err)
	}
}

// TestGCCommand: what goes is listed as text and as JSON; the flags win over the
// run's configuration; what is no run is a mistake.
func TestGCCommand(t *testing.T) {
	run := t.TempDir()
	arch := nntest.Named("8x1")
	for name, text := range map[string]string{"run.json": `{"version":1,"job":"job"}`, "config.textproto": "loop { retention { rejected: 1 } }"} {
		filetest.Write(t, filepath.Join(run, name), text)
	}
	for _, name := range []string{"locks", "rejectedmodels"} {
		if err := os.Mkdir(filepath.Join(run, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		write := func(w io.Writer) error {
			return nn.WriteSafetensors(w, nn.Init(arch, 1), map[string]string{"job": "job"})
		}
		if err := fsx.WriteFileFunc(fsx.OS, filepath.Join(run, "rejectedmodels", name+".safetensors"), write); err != nil {
			t.Fatal(err)
		}
	}
	out, err := command(t, "gc", run, "--dry-run")
	if err != nil || strings.Count(out, "rejected net  rejectedmodels/") != 2 || !strings.Contains(out, "this is a dry run") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = command(t, "gc", run, "--keep-rejected", "2", "--json")
	var r retain.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Removed) != 1 || r.Removed[0].Class != retain.ClassRejected || r.DryRun {
		t.Errorf("%v\n%s", err, out)
	}
	if left, globErr := filepath.Glob(filepath.Join(run, "rejectedmodels/*")); err != nil || globErr != nil || len(left) != 2 {
		t.Errorf("left %v, %v", left, err)
	}
	for _, args := range [][]string{{"gc"}, {"gc", t.TempDir()}, {"gc", run, "--keep-shuffles", "0"}} {
		if _, err := command(t, args...); exitCode(err) != exitUsage {
			t.Errorf("%v: %v", args, err)
		}
	}
}
