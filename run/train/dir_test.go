package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
)

// TestPlaceOf: who waits for games in a directory that is misspelt reads that it is not there.
func TestPlaceOf(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "nope")
	if placeOf(dir) != dir || placeOf(missing) != missing+", a directory that is not there" {
		t.Errorf("%q and %q", placeOf(dir), placeOf(missing))
	}
}

// TestSourceDir trains from games that other processes wrote; a restart counts
// none twice and takes the new ones.
func TestSourceDir(t *testing.T) {
	dir := t.TempDir() + "/run"
	if _, err := playBeside(t, t.Context(), dir, 1, 5); err != nil {
		t.Fatal(err)
	}
	if _, err := playBeside(t, t.Context(), dir, 2, 4); err != nil {
		t.Fatal(err)
	}
	steps := func(n int) string { return fmt.Sprintf("--source=dir --steps=%d --checkpoint-steps=4", n) }
	d := run.Dir{Root: dir}
	last := 0
	for _, n := range []int{5, 6, 13} {
		if _, _, err := tryTrain(t, t.Context(), dir, steps(n)); err != nil {
			t.Fatal(err)
		}
		d, _ = jobOf(t, dir)
		if c := checkpointOf(t, d); c.Manifest.Step != int64(n) {
			t.Errorf("asked for %d steps: %s", n, c.Manifest.Name)
		} else {
			checkWindows(t, c)
		}
		ids := journalIDs(t, d)
		if len(ids) < last {
			t.Errorf("%d games counted, before %d", len(ids), last)
		}
		last = len(ids)
	}
	// As many steps as all nine games pay for: every game enters once.
	training := 0
	for id := range runtest.GamesOnDisk(t, dir) {
		raw, _ := run.Entry{Game: id}.GameID()
		if !record.IsValidation(raw, 0.3) {
			training++
		}
	}
	all := 3 * training
	c := startChild(t, dir, steps(all))
	killedAt := false
	for e, ok := c.next(t); ok; e, ok = c.next(t) {
		if e.Type == "episode" && !killedAt {
			c.cmd.Process.Kill()
			killedAt = true
		}
	}
	c.wait(t, nil)
	if _, log, err := tryTrain(t, t.Context(), dir, steps(all)); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	ids := journalIDs(t, d)
	if len(ids) > 9 || len(ids) < training {
		t.Errorf("%d games counted, 9 are there, %d for training", len(ids), training)
	}
	if _, err := playBeside(t, t.Context(), dir, 1, 9); err != nil {
		t.Fatal(err)
	}
	s, log, err := tryTrain(t, t.Context(), dir, steps(all+1))
	if err != nil || s.Steps != int64(all)+1 {
		t.Fatalf("new games did not enter: %v\n%s", err, log)
	}
	if again := journalIDs(t, d); len(again) <= len(ids) {
		t.Errorf("%d games counted, before %d", len(again), len(ids))
	}
}

// Games of players elsewhere enter beside the run's own: each once, at the same pace, and
// all are episodes of those that were asked for. So they do after another start.
func TestOthersBeside(t *testing.T) {
	const process, batch = run.FirstJoined, 6
	dir, elsewhere := t.TempDir()+"/run", t.TempDir()+"/run"
	bring := func(games int64) (brought int) {
		before := len(runtest.GamesOnDisk(t, elsewhere))
		if _, err := playBeside(t, t.Context(), elsewhere, process, games); err != nil {
			t.Error(err)
		}
		paths, err := replay.ListChunks(fsx.OS, filepath.Join(elsewhere, "selfplay"))
		for _, path := range paths {
			to := filepath.Join(dir, strings.TrimPrefix(path, elsewhere))
			var data []byte
			if data, err = os.ReadFile(path); err == nil && !fsx.IsFile(to) {
				err = errors.Join(fsx.MkdirAll(fsx.OS, filepath.Dir(to)), fsx.WriteFile(fsx.OS, to, data))
			}
			if err != nil {
				break
			}
		}
		if err != nil {
			t.Error(err)
		}
		return len(runtest.GamesOnDisk(t, elsewhere)) - before
	}
	theirs := bring(batch)
	for start, episodes := range []int64{30, 50} {
		came := make(chan struct{})
		var log strings.Builder
		s, err := Train(t.Context(), Options{Training: setup.TrainingOf(runtest.Resolve(t, dir, fmt.Sprintf("--producer-workers=2 --episodes=%d", episodes))),
			Command: "test", Version: "test", Log: runtest.LogTo(&log),
			Beside: func(ctx context.Context) error {
				if start == 0 {
					theirs += bring(2 * batch)
				}
				close(came)
				<-ctx.Done()
				return nil
			},
			Readers: []monitor.Sink{monitor.SinkFunc(func(e monitor.Event) error {
				if _, ok := e.(*monitor.Episode); ok {
					<-came
				}
				return nil
			})},
		})
		if err != nil {
			t.Fatalf("%v\n%s", err, log.String())
		}
		checkRun(t, dir, episodes, s.Steps)
		if s.Steps%3 != 0 || s.Steps < 3*(episodes-batch) || s.Steps > 3*episodes {
			t.Errorf("%d steps of %d episodes, which pay for 3 each", s.Steps, episodes)
		}
		d, _ := jobOf(t, dir)
		entered := 0
		info, _, err := run.ReadRunInfo(dir)
		if err != nil {
			t.Fatal(err)
		}
		entries, _, err := run.ReadJournal(d.Journal())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if id, _ := e.GameID(); id == record.GameID(info.Seed, process, e.Ordinal) {
				entered++
			} else if id != record.GameID(info.Seed, processTrain, e.Ordinal) {
				t.Errorf("a game of nobody: %+v", e)
			}
		}
		if entered != theirs || theirs < 2*batch {
			t.Errorf("%d games of players elsewhere entered, of %d", entered, theirs)
		}
	}
	failed := errors.New("no room")
	_, err := Train(t.Context(), Options{Training: setup.TrainingOf(runtest.Resolve(t, dir, "--producer-workers=2 --episodes=100000")), Command: "test", Version: "test",
		Log: runtest.LogTo(io.Discard), Beside: func(context.Context) error { return failed }})
	if !errors.Is(err, failed) || errors.Is(err, run.ErrInterrupted) {
		t.Errorf("who brings the games fails: %v", err)
	}
}

// TestSharedAndExclusive: who plays for others and who trains on its own games
// keep out of each other's way.
func TestSharedAndExclusive(t *testing.T) {
	dir := t.TempDir() + "/run"
	c := startChild(t, dir, "--episodes=100000")
	for e, ok := c.next(t); ok && e.Type != "step"; e, ok = c.next(t) {
	}
	if _, err := playBeside(t, t.Context(), dir, 1, 1); err == nil {
		t.Error("a playing process joined a run that train holds")
	} else if _, ok := errors.AsType[*fsx.LockedError](err); !ok {
		t.Error(err)
	}
	c.cmd.Process.Kill()
	c.wait(t, nil)
	if _, err := playBeside(t, t.Context(), dir, 1, 1); err != nil {
		t.Errorf("after the holder was killed: %v", err)
	}
}

// playBeside runs a process that only plays, and returns how many games it has.
func playBeside(t *testing.T, ctx context.Context, dir string, process uint64, games int64) (int64, error) {
	t.Helper()
	p, err := playBesideWith(t, ctx, runtest.Resolve(t, dir, ""), process, games)
	if p == nil {
		return 0, err
	}
	return p.Games, err
}

// playBesideWith runs a playing process with a configuration.
func playBesideWith(t *testing.T, ctx context.Context, e *config.Effective, process uint64, games int64) (*play.PlaySummary, error) {
	t.Helper()
	var log strings.Builder
	p, err := play.SelfPlay(ctx, play.SelfPlayOptions{Effective: e, Process: process, MaxGames: games, Command: "test", Log: runtest.LogTo(&log)})
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, log.String())
	}
	return p, err
}

// TestTwoTrainings: two trainings of one run, begun at the same moments, leave each other
// alone: their metrics, their nets of different sizes, and what is half written.
func TestTwoTrainings(t *testing.T) {
	games, dir := t.TempDir()+"/games", t.TempDir()+"/run"
	train(t, games, "")
	more := "--source=loader " + graph(run.Dir{Root: games}.Selfplay(), "epochs: 0")
	train(t, dir, more+" --steps=1")
	for round := range 4 {
		var both errgroup.Group
		for name, size := range map[string]string{"main": "", "wide": "--net=12x1"} {
			both.Go(func() error {
				e, err := runtest.ResolveText(dir, fmt.Sprintf("%s --training-name=%s --steps=%d %s", more, name, 3+2*round, size))
				if err != nil {
					return err
				}
				_, err = Train(t.Context(), Options{Training: setup.TrainingOf(e), Command: "test", Version: "test", Log: runtest.LogTo(io.Discard)})
				return err
			})
		}
		if err := both.Wait(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	for _, name := range []string{"main", "wide"} {
		e := runtest.Resolve(t, dir, more+" --training-name="+name)
		d, _, err := setup.Layout(e.Config)
		if err != nil {
			t.Fatal(err)
		}
		checkMetrics(t, d, 0, 9)
	}
}

// TestTrainingsShareNoCheckpoints: a second training does not go on from the first one's.
func TestTrainingsShareNoCheckpoints(t *testing.T) {
	games, dir := t.TempDir()+"/games", t.TempDir()+"/run"
	train(t, games, "")
	more := "--source=loader " + graph(run.Dir{Root: games}.Selfplay(), "epochs: 0") + " --checkpoint-dir=" + t.TempDir()
	train(t, dir, more+" --steps=2")
	e := runtest.Resolve(t, dir, more+" --steps=4 --training-name=wide")
	_, err := Train(t.Context(), Options{Training: setup.TrainingOf(e), Command: "test", Version: "test", Log: runtest.LogTo(io.Discard)})
	if err == nil || !strings.Contains(err.Error(), "belongs to training main, this is wide") {
		t.Error(err)
	}
	train(t, dir, more+" --steps=4")
}

// TestTwoTrainingsOfGames: two trainings of one run that take the same games one by one leave
// each other's journal alone. One that is killed goes on where it was, and the other does not
// notice.
func TestTwoTrainingsOfGames(t *testing.T) {
	games, dir := t.TempDir()+"/games", t.TempDir()+"/run"
	train(t, games, "--episodes=6")
	more := "--source=dir --source-dir=" + run.Dir{Root: games}.Selfplay() + " --checkpoint-steps=2 --training-name="
	train(t, dir, more+"main --steps=2")
	const wider = "wide --net=12x1 --export-mode=extra --steps="
	killed := startChild(t, dir, more+wider+"100000")
	for step := 0; step < 5; { // after two checkpoints
		e, ok := killed.next(t)
		if !ok {
			t.Fatalf("the second training ended: %s", killed.stderr.String())
		}
		if e.Type == "step" {
			step++
		}
	}
	train(t, dir, more+"main --steps=8")
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if code := killed.wait(t, nil); code != -1 {
		t.Fatalf("the second training ended with %d:\\n%s", code, killed.stderr.String())
	}
	train(t, dir, more+wider+"10")
	train(t, dir, more+"main --steps=10")
	main, wide := run.NewDir(dir, "main", "run", "", ""), run.NewDir(dir, "wide", "run", "", "")
	a, b := journalIDs(t, main), journalIDs(t, wide)
	// Both take them in one order; the one that ended earlier may have some less.
	if n := min(len(a), len(b)); main.Journal() == wide.Journal() || n == 0 || !slices.Equal(a[:n], b[:n]) {
		t.Errorf("games %q entered one training, %q the other", a, b)
	}
	nets, err := fsx.Dirs(fsx.OS, main.ToExportExtra())
	for _, name := range nets {
		if !strings.HasPrefix(name, "run-wide-s") {
			t.Errorf("%s is handed over as a net of training wide", name)
		}
	}
	if err != nil || len(nets) == 0 {
		t.Errorf("nets %q, %v", nets, err)
	}
	own, _, err := setup.OpenDir(dir)
	if err != nil || own.Training != "main" {
		t.Errorf("the run is that of training %s, %v", own.Training, err)
	}
	all, err := setup.Trainings(dir)
	if err != nil || len(all) != 2 || all[1].Journal() != wide.Journal() || all[1].Learning != wide.Learning {
		t.Errorf("trainings %+v, %v", all, err)
	}
	// One that an older program began keeps the run's journal.
	if err := errors.Join(os.Remove(wide.Journal()), os.Remove(filepath.Join(wide.Learning, monitor.MetricsName))); err != nil {
		t.Fatal(err)
	}
	if all, err = setup.Trainings(dir); err != nil || all[1].Journal() != main.Journal() {
		t.Errorf("an older training's journal is %s, %v", all[1].Journal(), err)
	}
}

// A training that nobody plays for says so, at first and then from time to time.
func TestWaitsForGames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		f := &watchedGames{back: &backlog{}, others: others{dir: replay.NewDirSource(fsx.OS, t.TempDir())}, waits: func(why string) { said = append(said, why) }}
		ctx, cancel := context.WithTimeout(t.Context(), 11*time.Minute)
		defer cancel()
		if g, err := f.Next(ctx); !errors.Is(err, run.ErrInterrupted) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", g, err)
		}
		if len(said) != 3 || !strings.Contains(said[0], "chessbrain selfplay plays") {
			t.Errorf("said %q", said)
		}
	})
}

// What became worse than in an untrained net is said.
func TestWorseThanUntrained(t *testing.T) {
	losses := func(policy, value monitor.Number) *monitor.Validation {
		return &monitor.Validation{Rows: 9, Losses: monitor.Numbers{"policy_loss": policy, "value_loss": value}, StdErrs: monitor.Numbers{"value_loss": 0.1}}
	}
	for value, worse := range map[monitor.Number]bool{1.15: false, 1.3: true} {
		var text strings.Builder
		if err := (&Summary{First: losses(3, 1), Last: losses(2, value)}).Write(&text); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text.String(), "Worse than untrained: value_loss. "); got != worse {
			t.Errorf("value loss %v:\n%s", value, &text)
		}
	}
}
