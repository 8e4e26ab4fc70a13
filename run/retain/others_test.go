package retain

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/gate"
)

// shuffleOf is the path of a day's shuffle below the run.
func shuffleOf(n int) string { return "shuffled/" + day(n).Format("20060102-150405") }

// TestShuffles keeps the newest, and whatever a trainer goes on from.
func TestShuffles(t *testing.T) {
	root := newRun(t)
	putGames(t, root, "job", 0)
	for n := range 8 {
		putShuffle(t, root, 1+n, rowsOfFile)
	}
	putCheckpoint(t, root, "main", 1, filepath.Base(shuffleOf(1))) // older than the newest two
	putCheckpoint(t, root, "main", 2, filepath.Base(shuffleOf(2)))
	putCheckpoint(t, root, "main", 3, filepath.Base(shuffleOf(5)))
	putCheckpoint(t, root, "second", 1, filepath.Base(shuffleOf(3)))
	write(t, filepath.Join(root, shuffleOf(4), "notes.txt"), "mine")
	r := collect(t, root, 20, "shuffles=2")
	if want := []string{shuffleOf(1), shuffleOf(6)}; !slices.Equal(removed(r), want) {
		t.Errorf("removed %v, want %v", removed(r), want)
	}
	for _, says := range []string{"no shuffle wrote", "a trainer is at it"} {
		if !strings.Contains(notes(r), says) {
			t.Errorf("no note of %q:\n%s", says, notes(r))
		}
	}
	if err := prepare.Pin(fsx.OS, filepath.Join(root, shuffleOf(7))); err != nil {
		t.Fatal(err)
	}
	if r := collect(t, root, 20, "shuffles=1"); len(r.Removed) != 0 || !strings.Contains(notes(r), "it is pinned") {
		t.Errorf("pinned: removed %v\n%s", removed(r), notes(r))
	}
	if err := prepare.Unpin(fsx.OS, filepath.Join(root, shuffleOf(7))); err != nil {
		t.Fatal(err)
	}
	if r := collect(t, root, 20, "shuffles=1"); !slices.Equal(removed(r), []string{shuffleOf(7)}) {
		t.Errorf("removed %v", removed(r))
	}
}

// TestTrainerAtWork: a trainer may be at any shuffle from that of its checkpoint
// on; one that has not saved yet, at any.
func TestTrainerAtWork(t *testing.T) {
	for _, saved := range []bool{false, true} {
		root := newRun(t)
		putGames(t, root, "job", 0)
		for n := range 5 {
			putShuffle(t, root, 1+n, rowsOfFile)
		}
		if saved {
			putCheckpoint(t, root, "quick", 1, filepath.Base(shuffleOf(2)))
		}
		l, err := fsx.Acquire(filepath.Join(root, "locks/trainer-quick"), fsx.LockOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{}
		if saved {
			want = []string{shuffleOf(1)}
		}
		if r := collect(t, root, 20, "shuffles=1"); !slices.Equal(removed(r), want) {
			t.Errorf("saved %v: removed %v, want %v", saved, removed(r), want)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
		want = []string{shuffleOf(1), shuffleOf(2), shuffleOf(3), shuffleOf(4)}
		if saved {
			want = []string{shuffleOf(3), shuffleOf(4)}
		}
		if r := collect(t, root, 20, "shuffles=1"); !slices.Equal(removed(r), want) {
			t.Errorf("saved %v, nobody trains: removed %v, want %v", saved, removed(r), want)
		}
	}
}

// TestKilledShuffle: what a kill left of a shuffle goes with the next call, what
// others are writing does not.
func TestKilledShuffle(t *testing.T) {
	root := newRun(t)
	left := fsx.MarkedTemp(filepath.Join(root, "shuffled", "20250101-000000"), fsx.RemovedMark)
	write(t, filepath.Join(left, "train/x.rows"), "x")
	for _, name := range []string{".x.1-1.partial", "20250101-000001.tmp", "20250101-000002"} {
		write(t, filepath.Join(root, "shuffled", name, "y"), "y")
	}
	collect(t, root, 1, "")
	entries, err := os.ReadDir(filepath.Join(root, "shuffled"))
	if err != nil || len(entries) != 3 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("the rest of a shuffle is still there")
	}
}

// TestRejected keeps the newest rejected nets, and all that another job made.
func TestRejected(t *testing.T) {
	root := newRun(t)
	dir := filepath.Join(root, "rejectedmodels")
	for n := range 5 {
		putNet(t, filepath.Join(dir, fmt.Sprintf("n%d.safetensors", n)), "job", n)
	}
	write(t, filepath.Join(dir, "n0.onnx"), "x")
	write(t, filepath.Join(dir, "n0.txt"), "mine")
	putNet(t, filepath.Join(dir, "foreign.safetensors"), "another", 0)
	write(t, filepath.Join(dir, "torn.safetensors"), "x")
	dated(t, filepath.Join(dir, "torn.safetensors"), 0)
	if err := prepare.Pin(fsx.OS, filepath.Join(dir, "n1.safetensors")); err != nil {
		t.Fatal(err)
	}
	r := collect(t, root, 20, "rejected=2")
	if want := []string{"rejectedmodels/n2.safetensors", "rejectedmodels/n0.safetensors"}; !slices.Equal(removed(r), want) {
		t.Errorf("removed %v, want %v", removed(r), want)
	}
	if _, err := os.Stat(filepath.Join(dir, "n0.onnx")); err == nil {
		t.Error("what an exporter wrote beside the net is still there")
	}
	if _, err := os.Stat(filepath.Join(dir, "n0.txt")); err != nil {
		t.Error(err)
	}
	if r := collect(t, root, 20, "rejected=0"); len(r.Removed) != 2 {
		t.Errorf("removed %v", removed(r))
	}
}

// TestModels keeps the newest accepted nets, the first, the best, and those that a
// trainer keeps itself; all of them where the trainer's list is damaged.
func TestModels(t *testing.T) {
	root := newRun(t)
	for n := range 8 {
		putNet(t, filepath.Join(root, fmt.Sprintf("models/n%d.safetensors", n)), "job", n)
	}
	if r := collect(t, root, 20, ""); len(r.Removed) != 0 {
		t.Errorf("without a limit: removed %v", removed(r))
	}
	c := &catalogue.Catalogue{Ratings: []catalogue.Rating{{Name: "n7", Elo: 50}, {Name: "n3", Elo: 120, Games: 10}, {Name: "n4", Elo: 90}, {Name: "gone", Elo: 500}}}
	if _, err := c.Write(fsx.OS, run.Dir{Root: root}.Catalogue()); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "train/main/published.json"), `{"version":1,"nets":[{"path":"models/n2","net_id":"x","exporter":"safetensors","files":[{"path":"models/n2.safetensors","bytes":1}]}]}`)
	for _, name := range []string{"train/quick/published.json", "train/quick/published.json.damaged"} {
		write(t, filepath.Join(root, name), "[")
		if r := collect(t, root, 20, "models=2"); len(r.Removed) != 0 || !strings.Contains(notes(r), name) {
			t.Errorf("%s: removed %v, notes %s", name, removed(r), notes(r))
		}
		if err := os.Remove(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := collect(t, root, 20, "models=2")
	if want := []string{"models/n5.safetensors", "models/n4.safetensors", "models/n1.safetensors"}; !slices.Equal(removed(r), want) {
		t.Errorf("removed %v, want %v", removed(r), want)
	}
	for _, says := range []string{"the first net", "the best net", "export.keep"} {
		if !strings.Contains(notes(r), says) {
			t.Errorf("no note of %q:\n%s", says, notes(r))
		}
	}
}

// TestDamagedCatalogue: without a catalogue that can be read the best net is not known.
func TestDamagedCatalogue(t *testing.T) {
	root := newRun(t)
	for n := range 4 {
		putNet(t, filepath.Join(root, fmt.Sprintf("models/n%d.safetensors", n)), "job", n)
	}
	write(t, run.Dir{Root: root}.Catalogue(), "{")
	if r := collect(t, root, 20, "models=1"); len(r.Removed) != 0 || !strings.Contains(notes(r), "the best net is not known") {
		t.Errorf("with a damaged one: removed %v, notes %s", removed(r), notes(r))
	}
	c := &catalogue.Catalogue{Ratings: []catalogue.Rating{{Name: "n2", Elo: 1}}}
	if _, err := c.Write(fsx.OS, run.Dir{Root: root}.Catalogue()); err != nil {
		t.Fatal(err)
	}
	if got, want := removed(collect(t, root, 20, "models=1")), []string{"models/n1.safetensors"}; !slices.Equal(got, want) {
		t.Errorf("removed %v, want %v", got, want)
	}
}

// failing is a file system that does not remove one file.
type failing struct {
	fsx.FS
	path string
}

func (f failing) Remove(name string) error {
	if name == f.path {
		return errors.New("no")
	}
	return f.FS.Remove(name)
}

// TestKilledNet: where a removal ends early, the next one removes the rest: a net is
// found by its own file, so that goes last.
func TestKilledNet(t *testing.T) {
	root := newRun(t)
	for n := range 3 {
		putNet(t, filepath.Join(root, fmt.Sprintf("rejectedmodels/n%d.safetensors", n)), "job", n)
	}
	beside := filepath.Join(root, "rejectedmodels/n0.onnx")
	write(t, beside, "x")
	real := fsx.OS
	defer func() { fsx.OS = real }()
	fsx.OS = failing{real, beside}
	if _, err := Run(t.Context(), Options{Root: root, Keep: retention(t, "rejected=1")}); err == nil {
		t.Fatal("the removal did not fail")
	}
	fsx.OS = real
	collect(t, root, 20, "rejected=1")
	if _, err := os.Stat(beside); err == nil {
		t.Error("what lay beside the net is there for good")
	}
}

// TestPGNs keeps the games of the newest matches; logs and results stay.
func TestPGNs(t *testing.T) {
	root := newRun(t)
	for n := range 5 {
		dir := filepath.Join(root, "gatekeeper", fmt.Sprintf("n%d", n))
		data, err := json.Marshal(gate.Result{Version: 1, Candidate: fmt.Sprintf("n%d", n), Games: min(n, 1), Ended: day(n)})
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, run.GateResultName), string(data))
		write(t, filepath.Join(dir, gate.LogName), "log")
		write(t, filepath.Join(dir, gate.GamesName), "games")
	}
	write(t, filepath.Join(root, "gatekeeper/mine", gate.GamesName), "not of a match")
	r := collect(t, root, 20, "gate_pgns=2")
	if want := []string{"gatekeeper/n2/games.pgn", "gatekeeper/n1/games.pgn"}; !slices.Equal(removed(r), want) {
		t.Errorf("removed %v, want %v", removed(r), want)
	}
	if r := collect(t, root, 20, "gate_pgns=2"); len(r.Removed) != 0 {
		t.Errorf("twice: removed %v", removed(r))
	}
}

// TestReport: what a person and a program read.
func TestReport(t *testing.T) {
	r := &Report{DryRun: true, Removed: []Item{{ClassGames, "selfplay/x", 3 << 20, "older than the newest 5 rows"}}, Bytes: 3 << 20, Kept: 5 << 20, Over: 1 << 20,
		Notes: []string{"shuffled/y: it is pinned"}}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"games  selfplay/x  (3145728 bytes): older than the newest 5 rows\n", "stays: shuffled/y: it is pinned\n", "would be removed", "3.0 MiB", "5.0 MiB", "1.0 MiB"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
