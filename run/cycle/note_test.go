package cycle

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// TestNote does two cycles as a script would, by the answers alone, with a start of
// the script anew in the middle.
func TestNote(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	ask := func(note string) string {
		t.Helper()
		answer, err := Note(t.Context(), resolve(t, root, "--cycles=2 --seed=9"), "test", note)
		if err != nil {
			t.Fatalf("%s: %v", note, err)
		}
		return answer
	}
	if err := os.MkdirAll(filepath.Join(root, "selfplay", "random", "p7"), 0o755); err != nil { // of somebody else, before
		t.Fatal(err)
	}
	const shuffled = "run --min-rows 60 --max-rows 0 --keep-target-rows 500 --expand-window-per-row 0.4 --taper-window-exponent 0.65 " +
		"--taper-window-scale 60 --add-to-data-rows 0 --approx-rows-per-file 70000 --seed 9 --validation-share 0.1 --st-theta "
	for _, c := range []struct{ note, want string }{
		{"begin:cycle", "ok"},
		{"begin:gatekeeper", "run"},
		{"end:gatekeeper:0", "ok"},
		{"begin:rating", "done"}, // no net is accepted yet
		{"begin:selfplay", "run --process 8 --max-games-total 12"},
		{"begin:cycle", "ok"}, // killed
		{"begin:gatekeeper", "done"},
		{"begin:rating", "done"},
		{"begin:selfplay", "run --process 8 --max-games-total 12"},
		{"end:selfplay:0", "ok"},
		{"begin:shuffle", shuffled},
		{"end:shuffle:6", "again have 0 rows, need 60: playing 12 more games"},
		{"begin:selfplay", "run --process 8 --max-games-total 24"},
		{"end:selfplay:0", "ok"},
		{"begin:shuffle", shuffled},
		{"end:shuffle:0", "ok"},
		{"begin:train", "run --max-epochs-this-instance 2"},
		{"end:train:6", "skip not enough rows yet"},
		{"begin:export", "run"},
		{"end:export:0", "ok"},
		{"begin:gc", "done"}, // nothing is trained yet
		{"end:cycle", "ok"},
		{"begin:gatekeeper", "run"}, // a cycle begins with its first stage, too
		{"end:gatekeeper:0", "ok"},
		{"begin:selfplay", "run --process 9 --max-games-total 12"},
		{"end:selfplay:0", "ok"},
		{"end:cycle", "ok"},
		{"begin:cycle", "ok"},
		{"begin:gatekeeper", "run"},
		{"end:gatekeeper:0", "ok"},
		{"begin:selfplay", "stop 2 cycles done (--cycles 2)"},
		{"begin:selfplay", "stop 2 cycles done (--cycles 2)"},
	} {
		if got := ask(c.note); got != c.want && !(c.want == shuffled && strings.HasPrefix(got, c.want)) {
			t.Fatalf("%s: %q, want %q", c.note, got, c.want)
		}
	}
	state := stateOf(t, root)
	if state.Cycles != 2 || state.Games != 36 || state.Stopped == "" || state.Broken != 1 {
		t.Errorf("%d cycles, %d games, %d kills, stopped %q", state.Cycles, state.Games, state.Broken, state.Stopped)
	}
}

// TestNoteRefuses: what is no note, and a run whose journal another process keeps.
func TestNoteRefuses(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	for _, note := range []string{"", "begin", "begin:dance", "pause:train", "end:train", "end:train:x", "end:train:1", "end:train:0:0", "begin:train:0", "end:cycle:0"} {
		if answer, err := Note(t.Context(), resolve(t, root, ""), "test", note); err == nil {
			t.Errorf("note %q was answered with %q", note, answer)
		}
	}
	if _, err := os.Stat(root); err == nil {
		t.Error("a refused note made the run directory")
	}
	locks, err := lock(root, "the other", loopRole)
	if err != nil {
		t.Fatal(err)
	}
	defer release(locks)
	_, err = Note(t.Context(), resolve(t, root, ""), "test", "begin:cycle")
	if locked, ok := errors.AsType[*fsx.LockedError](err); !ok || locked.Owner.Command != "the other" {
		t.Errorf("a held journal: %v", err)
	}
}
