package cycle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// acted is a run whose stages only act as if, and fail when they are told to.
type acted struct {
	t      *testing.T
	root   string
	fail   func(Stage) bool
	short  int      // shuffles that lack rows
	called []string // what was done to its end
	games  map[uint64]int64
}

var errActed = errors.New("acted failure")

func (a *acted) works() map[Stage]Work {
	works := map[Stage]Work{}
	for _, stage := range Stages {
		works[stage] = func(_ context.Context, t Todo) (string, error) {
			if a.fail(stage) {
				return "", errActed
			}
			a.called = append(a.called, fmt.Sprintf("%d %s", t.Cycle, stage))
			switch stage {
			case SelfPlay:
				a.games[t.Process] = t.Games
				dir := filepath.Join(a.root, "selfplay", "random", fmt.Sprintf("p%d", t.Process))
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return "", err
				}
			case Shuffle:
				if a.short > 0 {
					a.short--
					return "", &shuffle.ShortError{Have: 100, Need: 200}
				}
			}
			return "", nil
		}
	}
	return works
}

// run runs until it ends or fails.
func (a *acted) run(more string) (*Summary, error) {
	return Run(a.t.Context(), Options{Effective: resolve(a.t, a.root, more), Command: "test", Version: "test", Log: logTo(a.t.Output()), works: a.works()})
}

// TestRunStages: from an empty directory the stages come in their order; the run
// ends where it is told to, with the gatekeeper's word on the last net; the same
// call then has nothing to do, and a higher limit goes on.
func TestRunStages(t *testing.T) {
	a := &acted{t: t, root: filepath.Join(t.TempDir(), "run"), fail: func(Stage) bool { return false }, games: map[uint64]int64{}}
	s, err := a.run("--cycles=2")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 gatekeeper", "1 selfplay", "1 shuffle", "1 train", "1 export", "1 gc",
		"2 gatekeeper", "2 selfplay", "2 shuffle", "2 train", "2 export", "2 gc", "3 gatekeeper"}
	if !slices.Equal(a.called, want) {
		t.Errorf("done:\n%q\nwant:\n%q", a.called, want)
	}
	if s.Cycles != 2 || s.Games != 24 || !strings.Contains(s.Reason, "--cycles 2") || s.Net != "random" {
		t.Errorf("summary %+v", s)
	}
	var text strings.Builder
	if err := s.Write(&text); err != nil || !strings.Contains(text.String(), "2 cycles done, 2 of them by this start; 24 games, 24 of them by this start") {
		t.Errorf("%v, summary:\n%s", err, text.String())
	}
	a.called = nil
	if s, err = a.run("--cycles=2"); err != nil || len(a.called) != 0 || s.Reason == "" {
		t.Errorf("the finished run did %q: %v", a.called, err)
	}
	if s, err = a.run("--cycles=3 --games-per-cycle=7"); err != nil || s.Cycles != 3 || a.called[0] != "3 selfplay" || a.games[3] != 7 {
		t.Errorf("went on with %q, games %v: %v", a.called, a.games, err)
	}
	if files, err := filepath.Glob(filepath.Join(a.root, "metrics/*/cycle/*")); err != nil || len(files) != 1 {
		t.Errorf("metrics of three starts: %q, %v; want one file", files, err)
	}
}

// TestRunShort: too few rows send self-play on, with the same process and as many
// games as are missing; --games bounds that, and the run ends.
func TestRunShort(t *testing.T) {
	a := &acted{t: t, root: filepath.Join(t.TempDir(), "run"), short: 2, fail: func(Stage) bool { return false }, games: map[uint64]int64{}}
	s, err := a.run("--cycles=1")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 gatekeeper", "1 selfplay", "1 shuffle", "1 selfplay", "1 shuffle", "1 selfplay", "1 shuffle", "1 train", "1 export", "1 gc", "2 gatekeeper"}
	if !slices.Equal(a.called, want) {
		t.Errorf("done:\n%q\nwant:\n%q", a.called, want)
	}
	// 100 rows of 12 games, 100 missing: 1.1 * 12 -> 14 more; then 1.1 * 26 -> 29 more.
	if a.games[1] != 55 || len(a.games) != 1 || s.Games != 55 {
		t.Errorf("games %v, in all %d, want 55 of process 1", a.games, s.Games)
	}
	b := &acted{t: t, root: filepath.Join(t.TempDir(), "run"), short: 100, fail: func(Stage) bool { return false }, games: map[uint64]int64{}}
	s, err = b.run("--games=20")
	if err != nil || s.Games != 20 || !strings.Contains(s.Reason, "--games 20") {
		t.Fatalf("%v, summary %+v", err, s)
	}
	entries, err := ReadJournal(b.root)
	if err != nil || !slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Stage == Shuffle && e.Event == Skip && strings.Contains(e.Reason, "all --games 20 are played")
	}) {
		t.Errorf("the journal does not say that no more games come: %v", err)
	}
}

// TestRunFails: whatever fails, as often as it likes, the next start goes on with
// that stage, and in the end every cycle has done every stage, with games of a
// process of its own.
func TestRunFails(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	a := &acted{t: t, root: filepath.Join(t.TempDir(), "run"), games: map[uint64]int64{}}
	var failed Stage
	a.fail = func(s Stage) bool {
		if rng.IntN(3) > 0 {
			return false
		}
		failed = s
		return true
	}
	const cycles = 5
	starts := 0
	for s, err := (*Summary)(nil), errActed; err != nil; starts++ {
		failed = ""
		before := len(a.called)
		s, err = a.run(fmt.Sprintf("--cycles=%d", cycles))
		if err != nil && !errors.Is(err, errActed) {
			t.Fatal(err)
		}
		if err == nil && s.Cycles != cycles {
			t.Fatalf("ended with %d cycles", s.Cycles)
		}
		if state := stateOf(t, a.root); err != nil && (state.Begun == nil || state.Begun.Stage != failed) {
			t.Fatalf("%s failed after %q, the journal has %v under way", failed, a.called[before:], state.Begun)
		}
	}
	for n := range cycles {
		for _, stage := range Stages {
			if stage == Rating {
				continue // there is no net
			}
			line := fmt.Sprintf("%d %s", n+1, stage)
			if i := slices.Index(a.called, line); i < 0 || slices.Contains(a.called[i+1:], line) {
				t.Errorf("%s was not done once: %q", line, a.called)
			}
		}
		if a.games[uint64(n)+1] != 12 {
			t.Errorf("process %d has %d games, want 12", n+1, a.games[uint64(n)+1])
		}
	}
	if state := stateOf(t, a.root); int(state.Broken) > starts || state.Games != 12*cycles {
		t.Errorf("%d kills in %d starts, %d games", state.Broken, starts, state.Games)
	}
}

func stateOf(t testing.TB, root string) *State {
	t.Helper()
	entries, err := ReadJournal(root)
	if err != nil {
		t.Fatal(err)
	}
	return NewState(entries)
}

// TestRunStops: a context that ends, ends the run with run.ErrInterrupted; a
// second run of the directory is refused meanwhile.
func TestRunStops(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(t.Context())
	a := &acted{t: t, root: root, fail: func(Stage) bool { return false }, games: map[uint64]int64{}}
	works := a.works()
	works[SelfPlay] = func(context.Context, Todo) (string, error) {
		s, err := ReadStatus(t.Context(), root)
		if err != nil || !slices.ContainsFunc(s.Processes, func(p Process) bool { return strings.Contains(string(p.Page), `"games_goal":12`) }) {
			t.Errorf("%v, the loop does not name the games that are to be played: %+v", err, s)
		}
		return "", nil
	}
	works[Train] = func(ctx context.Context, _ Todo) (string, error) {
		_, err := a.run("")
		if locked, ok := errors.AsType[*fsx.LockedError](err); !ok || locked.Owner.PID != os.Getpid() {
			t.Errorf("a second run: %v, want that this process holds it", err)
		}
		_, err = fsx.Acquire(run.Dir{Root: root}.Lock(shuffle.Role), fsx.LockOptions{Command: "a shuffle"})
		if locked, ok := errors.AsType[*fsx.LockedError](err); !ok || locked.Owner.Command != "test" {
			t.Errorf("another shuffler of the run: %v, want that the run holds the role", err)
		}
		s, err := ReadStatus(t.Context(), root)
		if err != nil || s.Loop == nil || s.Loop.Stage != Train || !s.Loop.Running || !s.holds("run") {
			t.Errorf("status while training: %+v, %v", s, err)
		}
		var page Page
		i := slices.IndexFunc(s.Processes, func(p Process) bool { return p.Role == string(run.Loop) })
		if i < 0 || json.Unmarshal(s.Processes[i].Page, &page) != nil || page.Job == "" || page.Stage != Train || page.Cycle != 1 {
			t.Errorf("the loop answers %+v: %+v", page, s.Processes)
		}
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}
	s, err := Run(ctx, Options{Effective: resolve(t, root, ""), Command: "test", Version: "test", Log: logTo(t.Output()), works: works})
	if !errors.Is(err, run.ErrInterrupted) || s == nil || s.Reason != "" {
		t.Errorf("%v, summary %+v", err, s)
	}
	status, err := ReadStatus(t.Context(), root)
	if err != nil || status.Loop.Running || status.Loop.Stage != Train || len(status.Processes) != 0 {
		t.Errorf("status afterwards: %+v, %v", status.Loop, err)
	}
	var text strings.Builder
	if err := status.Write(&text); err != nil || !strings.Contains(text.String(), "1: train was interrupted; the same command goes on with it") {
		t.Errorf("%v, page:\n%s", err, text.String())
	}
}

// TestOtherShuffler: a run does not begin beside a shuffle of its directory, and
// says who makes it.
func TestOtherShuffler(t *testing.T) {
	a := &acted{t: t, root: filepath.Join(t.TempDir(), "run"), fail: func(Stage) bool { return false }, games: map[uint64]int64{}}
	lock := run.Dir{Root: a.root}.Lock(shuffle.Role)
	if err := os.MkdirAll(filepath.Dir(lock), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := fsx.Acquire(lock, fsx.LockOptions{Command: "a shuffle"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.run("--cycles=1")
	if locked, ok := errors.AsType[*fsx.LockedError](err); !ok || locked.Owner.Command != "a shuffle" || len(a.called) != 0 {
		t.Errorf("beside a shuffle: %v, after %q", err, a.called)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.run("--cycles=1"); err != nil {
		t.Error(err)
	}
}

// TestJournalEmptied: cycles that were done are not done again because their journal lost
// its lines; who moves it away begins anew.
func TestJournalEmptied(t *testing.T) {
	a := &acted{t: t, root: filepath.Join(t.TempDir(), "run"), fail: func(Stage) bool { return false }, games: map[uint64]int64{}}
	if _, err := a.run("--cycles=1"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(a.root, run.CyclesName)
	if err := errors.Join(os.Mkdir(filepath.Join(run.Dir{Root: a.root}.CheckpointsOf("main"), "x_step00000004"), 0o777), os.Truncate(path, 0)); err != nil {
		t.Fatal(err)
	}
	a.called = nil
	_, err := a.run("--cycles=1")
	if bad, ok := errors.AsType[*fsx.CorruptError](err); !ok || bad.Path != path || len(a.called) > 0 {
		t.Errorf("%v; done: %q", err, a.called)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := a.run("--cycles=1"); err != nil || len(a.called) == 0 {
		t.Errorf("%v; done: %q", err, a.called)
	}
}

// TestJournalCut: a journal that lost the begin of a stage is refused, also by a dry run; what
// is lost beside that does nothing twice. Who moves it away begins anew, whenever that is
// killed.
func TestJournalCut(t *testing.T) {
	a := &acted{t: t, root: filepath.Join(t.TempDir(), "run"), fail: func(Stage) bool { return false }, games: map[uint64]int64{}}
	if _, err := a.run("--cycles=3"); err != nil {
		t.Fatal(err)
	}
	whole, root := a.root, t.TempDir()
	lines := filetest.Read(t, filepath.Join(whole, run.CyclesName))
	last, cuts := bytes.LastIndex(lines, []byte(`"gatekeeper","event":"begin"`)), 0
	for at := 0; at < len(lines); at += bytes.IndexByte(lines[at:], '\n') + 1 {
		a.root, a.called, a.games = filepath.Join(root, strconv.Itoa(at)), nil, map[uint64]int64{}
		if err := os.CopyFS(a.root, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(a.root, run.CyclesName)
		if err := os.Truncate(path, int64(at)); err != nil {
			t.Fatal(err)
		}
		dry := DryRun(resolve(t, a.root, "--cycles=4"), "", io.Discard)
		s, err := a.run("--cycles=4")
		bad, refused := errors.AsType[*fsx.CorruptError](err)
		switch {
		case refused != (at <= last) || refused != (dry != nil):
			t.Errorf("cut at %d: %v; a dry run: %v", at, err, dry)
		case refused && (bad.Path != path || !strings.Contains(bad.Reason, "stage gatekeeper of cycle 4") || len(a.called) > 0):
			t.Errorf("cut at %d: %v; done: %q", at, err, a.called)
		case !refused && (err != nil || s.Games != 48 || a.games[4] != 12 || len(a.games) != 1):
			t.Errorf("cut at %d: %v; games %v", at, err, a.games)
		}
		cuts++
	}
	if cuts < 40 {
		t.Errorf("only %d cuts", cuts)
	}
	a.root = whole
	if err := os.Remove(filepath.Join(whole, run.CyclesName)); err != nil {
		t.Fatal(err)
	}
	a.fail = func(s Stage) bool { return s == Gatekeeper }
	if _, err := a.run("--cycles=1"); !errors.Is(err, errActed) {
		t.Error(err)
	}
	a.fail = func(Stage) bool { return false }
	if _, err := a.run("--cycles=1"); err != nil || a.games[4] != 12 {
		t.Errorf("begun anew: %v; games %v", err, a.games)
	}
	for i, note := range []string{"{", `{"cycle":9,"process":9}`} { // damaged, and of an earlier program
		filetest.Write(t, run.LastCycleFile(whole), note)
		if _, err := a.run(fmt.Sprintf("--cycles=%d", 2+i)); err != nil || a.games[uint64(5+i)] != 12 {
			t.Errorf("beside %s: %v; games %v", note, err, a.games)
		}
	}
}

// TestSettle: what contradicts a cycle is refused with its field; what the
// configuration does not say is KataGo's.
func TestSettle(t *testing.T) {
	e := resolve(t, t.TempDir(), "--samples-per-cycle=1000")
	settled, err := setup.NewCycle(e)
	if err != nil {
		t.Fatal(err)
	}
	c := settled.Config.GetTraining()
	if c.GetBucket().GetPerNewRow() != 8 || !c.GetBucket().GetStopWhenLimited() || !c.GetQuitIfNoData() || c.GetMaxEpochsThisInstance() != 31 ||
		c.GetSource().String() != "SHUFFLED" || c.GetExportMode().String() != "MAIN" {
		t.Errorf("settled to %v", c)
	}
	if e.Config.GetTraining().GetSource().String() != "SELFPLAY" {
		t.Error("the configuration that was given has changed")
	}
	if _, err := setup.NewCycle(settled.Effective); err != nil {
		t.Errorf("what is settled is refused: %v", err)
	}
	s := settled.Shuffle
	if s.Window.MinRows != 60 || s.Window.KeepRows != 500 || s.Window.Scale != 60 || s.Validation != 0.1 || s.RowsPerFile != 70000 {
		t.Errorf("shuffle settings %+v", s)
	}
}
