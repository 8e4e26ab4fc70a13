package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// TestAllSteps holds what a run of all steps leaves: the counts, a manifest in
// each directory, no directory between the steps, a trained net.
func TestAllSteps(t *testing.T) {
	dir := t.TempDir()
	opt := tiny(dir)
	if err := Check(opt); err != nil {
		t.Fatal(err)
	}
	if exists(opt.Base) || exists(opt.Results) {
		t.Fatal("Check made something")
	}
	s := mustRun(t, opt)
	for _, step := range s.Steps {
		if !step.Done || step.Step != Train && step.Games != 12 {
			t.Errorf("%+v", step)
		}
	}
	for _, gone := range []string{opt.Dir(Preprocess), opt.Dir(Process), opt.buckets()} {
		if exists(gone) {
			t.Errorf("%s is still there", gone)
		}
	}
	for _, step := range []string{SelfPlay, Shuffle} {
		m, err := prepare.ReadManifest(fsx.OS, opt.Dir(step))
		if err != nil || !m.Done || m.Step != step || m.Counts.Games != 12 {
			t.Errorf("%s: %+v, %v", step, m, err)
		}
	}
	train := s.step(Train)
	if rows := shuffleIn(t, opt.Dir(Shuffle)).TrainRows; train.Rows != rows || train.Steps != (rows+15)/16 {
		t.Errorf("%d steps on %d rows of %d", train.Steps, train.Rows, rows)
	}
	if net, err := setup.ReadNet(train.Net); err != nil || net.Arch.String() == "" {
		t.Errorf("the trained net cannot be read: %v", err)
	}
	for n, want := range []int{6, 6} {
		if got := len(gamesIn(t, opt.workerDir(n))); got != want {
			t.Errorf("worker %d played %d games, want %d", n, got, want)
		}
	}
}

// TestPolicyIsNoOneHot holds that the targets say what the search saw of all
// moves, in games and in what is trained on.
func TestPolicyIsNoOneHot(t *testing.T) {
	opt := tiny(t.TempDir())
	opt.Steps, opt.Cleanup = []string{SelfPlay, Preprocess, Process}, false
	mustRun(t, opt)
	for _, step := range opt.Steps {
		several := 0
		for _, g := range gamesIn(t, opt.Dir(step)) {
			for i := range g.Plies {
				seen := 0
				for _, n := range g.Plies[i].Counts {
					if n > 0 {
						seen++
					}
				}
				if seen > 1 {
					several++
				}
			}
		}
		if several < 60 { // of 120 positions or nearly so
			t.Errorf("%s: only %d positions have visits at more than one move", step, several)
		}
	}
}

// TestNoGameOnBothSides holds that the split is by game, and that it is the one
// of all other sources.
func TestNoGameOnBothSides(t *testing.T) {
	opt := tiny(t.TempDir())
	opt.Steps = []string{SelfPlay, Shuffle}
	mustRun(t, opt)
	var want [2]int64
	for _, g := range gamesIn(t, opt.Dir(SelfPlay)) {
		side := 0
		if record.IsValidation(g.ID, 0.3) {
			side = 1
		}
		for i := range g.Plies {
			if g.Plies[i].Kind != record.PolicyNone && g.Plies[i].Weight > 0 {
				want[side]++
			}
		}
	}
	m := shuffleIn(t, opt.Dir(Shuffle))
	if got := [2]int64{m.TrainRows, m.HeldRows}; got != want || want[1] == 0 {
		t.Errorf("rows %v, the games have %v", got, want)
	}
	if m.Split != shuffle.SplitByGame {
		t.Errorf("split by %s", m.Split)
	}
}

// TestResume stops a run after each step, and within two; every time it goes on
// to the same rows.
func TestResume(t *testing.T) {
	whole := tiny(t.TempDir())
	want := mustRun(t, whole)
	rows := shuffleIn(t, whole.Dir(Shuffle))
	type cut struct{ message, text string }
	cuts := []cut{{"step begins", SelfPlay}, {"step begins", Process}, {"step begins", Train}}
	for _, step := range AllSteps()[:4] {
		cuts = append(cuts, cut{"step is done", step})
	}
	for _, c := range cuts {
		t.Run(c.message+" "+c.text, func(t *testing.T) {
			opt := tiny(t.TempDir())
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			log := opt.Log
			opt.Log = slog.New(stopAt{log.Handler(), c.message, c.text, stop})
			if s, err := Run(ctx, opt); !errors.Is(err, context.Canceled) && !errors.Is(err, run.ErrInterrupted) {
				t.Fatalf("not stopped: %v, %+v", err, s)
			}
			left, err := Unfinished(opt.Base)
			if err != nil || left == nil || left.T != testT {
				t.Fatalf("unfinished run: %+v, %v", left, err)
			}
			opt.Log = log
			got := mustRun(t, opt)
			if a, b := shuffleIn(t, opt.Dir(Shuffle)), rows; a.TrainRows != b.TrainRows || a.HeldRows != b.HeldRows {
				t.Errorf("%d and %d rows, an unbroken run has %d and %d", a.TrainRows, a.HeldRows, b.TrainRows, b.HeldRows)
			}
			if a, b := got.step(Train).Steps, want.step(Train).Steps; a != b {
				t.Errorf("%d steps of training, an unbroken run has %d", a, b)
			}
			if left, err := Unfinished(opt.Base); err != nil || left != nil {
				t.Errorf("still unfinished: %+v, %v", left, err)
			}
		})
	}
}

// TestKilledBeforeItWasNoted takes the notes of all steps away: what the
// manifests say is done is not done again.
func TestKilledBeforeItWasNoted(t *testing.T) {
	opt := tiny(t.TempDir())
	opt.Cleanup = false
	s := mustRun(t, opt)
	before := tree(t, opt.Base)
	rows := shuffleIn(t, opt.Dir(Shuffle))
	for i := range s.Steps {
		s.Steps[i] = StepState{Step: s.Steps[i].Step, Dir: s.Steps[i].Dir}
	}
	s.Done = false
	if err := s.write(opt.Base); err != nil {
		t.Fatal(err)
	}
	mustRun(t, opt)
	if after := tree(t, opt.Base); after != before {
		t.Errorf("other files than before:\n%s\nwant\n%s", after, before)
	}
	if again := shuffleIn(t, opt.Dir(Shuffle)); !reflect.DeepEqual(again, rows) {
		t.Error("the rows were shuffled again")
	}
}

// TestNoInput holds that a step without input ends the run, names the directory
// and makes nothing.
func TestNoInput(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	first := tiny(dir)
	first.Steps = []string{SelfPlay, Preprocess}
	mustRun(t, first)
	games := first.Dir(Preprocess)
	if err := os.Mkdir(empty, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Options)
		names  string
	}{
		"no games":         {func(o *Options) { o.Steps, o.SelfPlayDir = AllSteps()[1:], empty }, empty},
		"nowhere":          {func(o *Options) { o.Steps = AllSteps()[1:] }, "preprocess"},
		"data directory":   {func(o *Options) { o.DataDirs = []string{empty} }, empty},
		"existing shuffle": {func(o *Options) { o.Existing = empty }, empty},
		"all files skipped": {func(o *Options) {
			o.SelfPlayDir, o.Steps, o.DataDirs, o.Skip = games, AllSteps()[1:], []string{games}, []int{0, 0, 1}
		}, games},
		"nothing to train":   {func(o *Options) { o.Steps = []string{Train} }, "train"},
		"skipped altogether": {func(o *Options) { o.Steps, o.SelfPlayDir, o.DataDirs = AllSteps()[1:], dir, []string{empty} }, empty},
	} {
		t.Run(name, func(t *testing.T) {
			opt := tiny(filepath.Join(dir, "out"))
			c.change(&opt)
			err := Check(opt)
			if !errors.Is(err, prepare.ErrNoInput) || !strings.Contains(err.Error(), c.names) {
				t.Errorf("%v, want ErrNoInput with %s", err, c.names)
			}
			if _, err := Run(context.Background(), opt); !errors.Is(err, prepare.ErrNoInput) {
				t.Errorf("Run: %v", err)
			}
			if left, err := Unfinished(opt.Base); left != nil || err != nil {
				t.Errorf("a run was begun: %+v, %v", left, err)
			}
		})
	}
}

// TestCleanupOfOthers holds that directories named to a run stay, whatever they
// are, and so do pinned ones.
func TestCleanupOfOthers(t *testing.T) {
	dir := t.TempDir()
	first := tiny(dir)
	first.Cleanup, first.Steps = false, []string{SelfPlay, Preprocess, Process}
	mustRun(t, first)
	second := tiny(dir)
	second.T, second.Steps, second.SelfPlayDir = "20260102_030406", AllSteps()[1:], first.Dir(Preprocess)
	second.DataDirs = []string{first.Dir(Process)}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	log := second.Log
	second.Log = slog.New(stopAt{log.Handler(), "step is done", Process, stop})
	if _, err := Run(ctx, second); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	second.Log = log
	if err := prepare.Pin(fsx.OS, second.Dir(Process)); err != nil {
		t.Fatal(err)
	}
	s := mustRun(t, second)
	for _, kept := range []string{first.Dir(SelfPlay), first.Dir(Preprocess), first.Dir(Process), second.Dir(Process)} {
		if len(gamesIn(t, kept)) == 0 {
			t.Errorf("%s is empty", kept)
		}
	}
	if exists(second.Dir(Preprocess)) || s.step(Process).Removed || !s.step(Preprocess).Removed {
		t.Errorf("%+v", s.Steps)
	}
	if n := shuffleIn(t, second.Dir(Shuffle)).Games; n != 12 {
		t.Errorf("%d games: those of two sources count once", n)
	}
}

// TestMix trains on a new and an existing shuffle, without the first file of
// that.
func TestMix(t *testing.T) {
	dir := t.TempDir()
	first := tiny(dir)
	first.Steps = AllSteps()[:4]
	mustRun(t, first)
	second := tiny(dir)
	second.T, second.Seed = "20260102_030406", 6
	second.Existing, second.Skip = first.Dir(Shuffle), []int{0, 1}
	s := mustRun(t, second)
	a, b, mix := shuffleIn(t, first.Dir(Shuffle)), shuffleIn(t, second.Dir(Shuffle)), shuffleIn(t, second.mixDir())
	if want := b.TrainRows + a.TrainRows - a.Train[0].Rows; mix.TrainRows != want || s.step(Train).Rows != want {
		t.Errorf("%d rows, want %d", mix.TrainRows, want)
	}
	if want := a.HeldRows + b.HeldRows; mix.HeldRows != want {
		t.Errorf("%d rows held out, want %d", mix.HeldRows, want)
	}
	other := second
	other.Config.Overrides = append([]string{"training.validation.share=0.2"}, other.Config.Overrides[:3]...)
	if err := Check(other); err == nil || !strings.Contains(err.Error(), "holds out 0.3") {
		t.Errorf("another split: %v", err)
	}
	third := tiny(dir)
	third.T, third.Steps, third.Existing, third.Skip = "20260102_030407", []string{Train}, first.Dir(Shuffle), []int{0, 9}
	if _, err := Run(context.Background(), third); !errors.Is(err, prepare.ErrNoInput) || !strings.Contains(err.Error(), first.Dir(Shuffle)) {
		t.Errorf("skipping all files: %v", err)
	}
}

// TestOneRunAtATime holds that a second run in the same directory is refused.
func TestOneRunAtATime(t *testing.T) {
	opt := tiny(t.TempDir())
	if err := fsx.MkdirAll(fsx.OS, opt.Base); err != nil {
		t.Fatal(err)
	}
	lock, err := fsx.Acquire(filepath.Join(opt.Base, ".pipeline.lock"), fsx.LockOptions{Command: "another"})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	var held *fsx.LockedError
	if _, err := Run(context.Background(), opt); !errors.As(err, &held) {
		t.Errorf("%v, want *fsx.LockedError", err)
	}
}

// TestOtherSettings holds that a run does not go on with other settings.
func TestOtherSettings(t *testing.T) {
	opt := tiny(t.TempDir())
	opt.Steps = []string{SelfPlay}
	mustRun(t, opt)
	opt.Settings = map[string][]string{"num-games": {"13"}}
	if _, err := Run(context.Background(), opt); !errors.Is(err, prepare.ErrOther) || !strings.Contains(err.Error(), "--num-games was 12, now 13") {
		t.Errorf("%v", err)
	}
}
