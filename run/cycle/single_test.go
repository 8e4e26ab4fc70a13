package cycle

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/run"
)

// stage does one stage as chessbrain run --stage does, and returns what it says, or
// its error, and the exit code.
func (a *acted) stage(name, more string) (says string, code int) {
	a.t.Helper()
	stage, err := ParseStage(name)
	if err != nil {
		a.t.Fatal(err)
	}
	s, err := Run(a.t.Context(), Options{Effective: resolve(a.t, a.root, more), Command: "test", Version: "test", Log: logTo(a.t.Output()),
		Stage: stage, works: a.works()})
	if failed, ok := errors.AsType[*StageError](err); ok {
		return failed.Reason, failed.Code
	}
	if err != nil {
		return err.Error(), 1
	}
	var text strings.Builder
	if err := s.Write(&text); err != nil {
		a.t.Fatal(err)
	}
	return strings.TrimSpace(text.String()), 0
}

// TestStage does two cycles as a script would, a stage a process: what has ended is
// not done again, what is not next is refused and changes nothing, a failed stage and
// one that wants more games are done again.
func TestStage(t *testing.T) {
	failing := Stage("")
	a := &acted{t: t, root: filepath.Join(t.TempDir(), "run"), games: map[uint64]int64{}, short: 1, fail: func(s Stage) bool { return s == failing }}
	if err := os.MkdirAll(filepath.Join(a.root, "selfplay", "random", "p7"), 0o755); err != nil { // of somebody else, before
		t.Fatal(err)
	}
	for i, c := range []struct {
		stage, says string
		code        int
		failing     Stage
	}{
		{"export", "stage export is not next: cycle 1 goes on with gatekeeper", ExitOrder, ""},
		{"gatekeeper", "gatekeeper of cycle 1 is done", 0, ""},
		{"gatekeeper", "gatekeeper is done already in cycle 1", 0, ""},
		{"rating", "rating of cycle 1 had nothing to do: no net is accepted yet", 0, ""},
		{"selfplay", errActed.Error(), 1, SelfPlay},
		{"shuffle", "stage shuffle is not next: cycle 1 goes on with selfplay", ExitOrder, ""},
		{"gatekeeper", "gatekeeper is done already in cycle 1", 0, ""},
		{"selfplay", "selfplay of cycle 1 is done", 0, ""},
		{"shuffle", "have 100 rows, need 200: playing 14 more games", ExitAgain, ""},
		{"train", "cycle 1 goes on with selfplay", ExitOrder, ""},
		{"selfplay", "selfplay of cycle 1 is done", 0, ""},
		{"shuffle", "shuffle of cycle 1 is done", 0, ""},
		{"train", "train of cycle 1 is done", 0, ""},
		{"export", "export of cycle 1 is done", 0, ""},
		{"gc", "gc of cycle 1 is done", 0, ""},
		{"gc", "stage gc is not next: cycle 2 goes on with gatekeeper", ExitOrder, ""},
		{"gatekeeper", "gatekeeper of cycle 2 is done", 0, ""},
		{"selfplay", "selfplay of cycle 2 is done", 0, ""}, // a list may leave out rating: there is nothing to rate
		{"shuffle", "shuffle of cycle 2 is done", 0, ""},
		{"train", "train of cycle 2 is done", 0, ""},
		{"export", "export of cycle 2 is done", 0, ""},
		{"gc", "gc of cycle 2 is done", 0, ""},
		{"gatekeeper", "gatekeeper of cycle 3 is done", 0, ""},
		{"selfplay", "the run is done: 2 cycles done (--cycles 2)", ExitStopped, ""},
		{"selfplay", "the run is done: 2 cycles done (--cycles 2)", ExitStopped, ""},
	} {
		failing = c.failing
		if says, code := a.stage(c.stage, "--cycles=2"); !strings.Contains(says, c.says) || code != c.code {
			t.Fatalf("call %d, %s: %q with code %d, want %q with %d", i+1, c.stage, says, code, c.says, c.code)
		}
	}
	state := stateOf(t, a.root)
	if state.Cycles != 2 || state.Games != 38 || state.Stopped == "" || state.Broken != 1 || a.games[8] != 26 || a.games[9] != 12 {
		t.Errorf("%d cycles, %d games (%v), %d kills, stopped %q", state.Cycles, state.Games, a.games, state.Broken, state.Stopped)
	}
}

// TestStageRefused: a stage out of its order writes nothing; a run that another
// process keeps is that process's; a journal whose last cycle lacks its last line,
// after a kill, goes on with the next one.
func TestStageRefused(t *testing.T) {
	if _, err := ParseStage("dance"); err == nil {
		t.Error("dance is a stage")
	}
	a := &acted{t: t, root: filepath.Join(t.TempDir(), "run"), games: map[uint64]int64{}, fail: func(Stage) bool { return false }}
	for _, stage := range Stages {
		if says, code := a.stage(string(stage), ""); code != 0 {
			t.Fatalf("%s: %s", stage, says)
		}
	}
	before, err := ReadJournal(a.root)
	if err != nil {
		t.Fatal(err)
	}
	if _, code := a.stage("train", ""); code != ExitOrder {
		t.Errorf("training before its games: code %d", code)
	}
	if after, err := ReadJournal(a.root); err != nil || len(after) != len(before) {
		t.Errorf("a refused stage wrote %v: %v", after[len(before):], err)
	}
	path := filepath.Join(a.root, run.CyclesName)
	data := filetest.Read(t, path)
	lines := strings.SplitAfter(string(data), "\n")
	write(t, path, strings.Join(slices.Delete(lines, len(lines)-2, len(lines)), ""))
	if says, code := a.stage("gatekeeper", ""); code != 0 || says != "gatekeeper of cycle 2 is done" {
		t.Errorf("after a kill before the last line: %q, %d", says, code)
	}
	l, err := fsx.Acquire(run.Dir{Root: a.root}.Lock(run.Loop), fsx.LockOptions{Command: "the other"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if says, code := a.stage("selfplay", ""); code != 1 || !strings.Contains(says, "the other") {
		t.Errorf("a held journal: %q, %d", says, code)
	}
}
