package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/selfplay"
)

// play runs a process that only plays, and returns how many games it has.
func play(t *testing.T, ctx context.Context, dir string, process uint64, games int64) (int64, error) {
	t.Helper()
	p, err := playWith(t, ctx, runtest.Resolve(t, dir, ""), process, games)
	if p == nil {
		return 0, err
	}
	return p.Games, err
}

// playWith runs a playing process with a configuration.
func playWith(t *testing.T, ctx context.Context, e *config.Effective, process uint64, games int64) (*PlaySummary, error) {
	t.Helper()
	var log strings.Builder
	p, err := SelfPlay(ctx, SelfPlayOptions{Effective: e, Process: process, MaxGames: games, Command: "test", Log: runtest.LogTo(&log)})
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, log.String())
	}
	return p, err
}

// TestGamesElsewhere: two players of one directory of games are never of one number, whatever
// their runs are.
func TestGamesElsewhere(t *testing.T) {
	games := t.TempDir() + "/games"
	in := func(dir string) *config.Effective {
		e := runtest.Resolve(t, dir, "")
		e.Config.Selfplay.OutputDir = &games
		return e
	}
	if p, err := playWith(t, t.Context(), in(t.TempDir()+"/run"), 0, 2); err != nil || p.Games != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	held, err := fsx.Acquire(filepath.Join(games, ".p1"), fsx.LockOptions{Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	other := in(t.TempDir() + "/other")
	if _, err := playWith(t, t.Context(), other, 0, 2); !strings.Contains(fmt.Sprint(err), "a number of its own") {
		t.Error(err)
	}
	if p, err := playWith(t, t.Context(), other, 2, 3); err != nil || p.Games != 3 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestSelfPlay: exactly the asked games, two processes never the same one, and a
// restart adds only what is missing.
func TestSelfPlay(t *testing.T) {
	dir := t.TempDir() + "/run"
	for _, p := range []struct {
		process     uint64
		games, want int64
	}{{1, 3, 3}, {2, 4, 4}, {1, 3, 3}, {1, 5, 5}} {
		if n, err := play(t, t.Context(), dir, p.process, p.games); err != nil || n != p.want {
			t.Fatalf("process %d: %d games, %v", p.process, n, err)
		}
	}
	if n := len(runtest.GamesOnDisk(t, dir)); n != 9 {
		t.Errorf("%d games on disk, want 9", n)
	}
	held, err := fsx.Acquire(filepath.Join(dir, "locks", "selfplay-p1"), fsx.LockOptions{Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := playWith(t, t.Context(), runtest.Resolve(t, dir, ""), 0, 4); err != nil || p.Process != "p2" || p.Games != 4 {
		t.Errorf("the first free process: %+v, %v", p, err)
	}
	if p, err := playWith(t, t.Context(), runtest.Resolve(t, dir, ""), 1, 4); err == nil || p != nil {
		t.Errorf("a process number that is taken: %+v, %v", p, err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := play(t, ctx, dir, 1, 50); !errors.Is(err, run.ErrInterrupted) {
		t.Errorf("interrupted: %d games, %v", n, err)
	}
	if n, err := play(t, t.Context(), dir, 1, 6); err != nil || n != 6 {
		t.Errorf("after an interrupt: %d games, %v", n, err)
	}
	if left := runtest.Temps(t, dir); left != nil {
		t.Errorf("left behind: %v", left)
	}
	if files, err := filepath.Glob(dir + "/metrics/*/selfplay-p1/*"); err != nil || len(files) != 1 {
		t.Errorf("metrics of all starts: %q, %v; want one file", files, err)
	}
}

// TestSelfPlayCourse: a playing process moves the front of its course, and knows it
// again from its games.
func TestSelfPlayCourse(t *testing.T) {
	file := runtest.Course(t)
	e := runtest.Resolve(t, t.TempDir()+"/run", "--openings-order=mastery --simulations=30 --openings="+file)
	if p, err := playWith(t, t.Context(), e, 1, 60); err != nil || p.Games != 60 {
		t.Fatalf("%+v, %v", p, err)
	}
	s := &selfPlayer{opt: SelfPlayOptions{Effective: e, Log: runtest.LogTo(io.Discard)}, number: 1}
	var err error
	if s.SelfPlay, err = setup.SelfPlayOf(e); err != nil {
		t.Fatal(err)
	}
	if s.worker, err = setup.WorkerConfig(e.Config, 1, &s.resign, &s.course, nil); err != nil {
		t.Fatal(err)
	}
	outputs, err := OpenOutputs(OutputOptions{Root: s.Dir.Root, Process: s.name(), Log: s.opt.Log})
	if err != nil {
		t.Fatal(err)
	}
	s.log = s.opt.Log
	if err := errors.Join(s.readGames(t.Context(), outputs), outputs.Close()); err != nil || s.course.Lines <= 4 || s.course.Lines >= 64 {
		t.Errorf("after 60 games %d lines of 64 are open, %v", s.course.Lines, err)
	}
}

// TestPlayers: workers share the tickets, none is lost or used twice while the
// resignation rule changes under them, and each game follows one rule.
func TestPlayers(t *testing.T) {
	dir := t.TempDir() + "/run"
	e := runtest.Resolve(t, dir, "")
	net, err := setup.InitialNet(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	nets := Nets{Inference: setup.CpuInference{}}
	if err := nets.Publish("a", net, 0); err != nil {
		t.Fatal(err)
	}
	var watch selfplay.ResignWatch
	var course selfplay.CourseWatch
	worker, err := setup.WorkerConfig(e.Config, 1, &watch, &course, nil)
	if err != nil {
		t.Fatal(err)
	}
	store := OpenStore(StoreOptions{Dir: run.Dir{Root: dir}, Process: "p1", Net: "a", Job: "j", Queue: 1})
	worker.Sink, worker.Tickets = store, NewFreeTickets(&run.Ordinals{}, 40)
	p, err := StartPlayers(t.Context(), &nets, worker, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { <-p.Done; ended <- store.finish() }()
	played := map[uint64]bool{}
	rule := worker.Resign.Get()
	for g := range store.Durable() {
		if played[g.Ordinal] {
			t.Errorf("game %d came twice", g.Ordinal)
		}
		played[g.Ordinal] = true
		rule.Q = -0.5 - 0.01*float64(g.Ordinal)
		worker.Resign.Set(rule)
	}
	if err := errors.Join(<-ended, p.Err); err != nil || len(played) != 40 {
		t.Errorf("%d games of 40, %v", len(played), err)
	}
}

// TestSelfPlayControl: a playing process tells its state and stops when told.
func TestSelfPlayControl(t *testing.T) {
	dir := t.TempDir() + "/run"
	ended := make(chan error, 1)
	go func() {
		_, err := play(t, t.Context(), dir, 3, 0) // without an end
		ended <- err
	}()
	lock := filepath.Join(dir, "locks", "selfplay-p3")
	var socket string
	for socket == "" { // until it listens
		select {
		case err := <-ended:
			t.Fatalf("ended: %v", err)
		default:
		}
		owners, err := fsx.Owners(lock)
		if err == nil && len(owners) == 1 {
			socket = owners[0].Socket
		}
		runtime.Gosched()
	}
	ask := func(command string) (answers []run.Message, err error) {
		err = run.Send(t.Context(), socket, run.Message{Type: command}, func(m run.Message) error {
			answers = append(answers, m)
			return nil
		})
		return answers, err
	}
	answers, err := ask("status")
	if err != nil || len(answers) != 1 {
		t.Fatalf("status: %v %v", answers, err)
	}
	var page PlayPage
	if err := json.Unmarshal(answers[0].Payload, &page); err != nil || page.Process != "p3" || page.Net == "" {
		t.Errorf("status %s: %v", answers[0].Payload, err)
	}
	if _, err := ask("checkpoint-now"); err == nil || !strings.Contains(err.Error(), "only plays") {
		t.Errorf("checkpoint-now: %v", err)
	}
	if _, err := ask("stop"); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := <-ended; !errors.Is(err, run.ErrInterrupted) {
		t.Errorf("after stop: %v", err)
	}
}
