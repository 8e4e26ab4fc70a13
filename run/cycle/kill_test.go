package cycle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/verify"
)

// The child process: the test binary again, which runs the loop in the directory of
// the environment and kills itself at an event of the number given.
const (
	childDir  = "CHESSBRAIN_CYCLE_TEST_RUN"
	childMore = "CHESSBRAIN_CYCLE_TEST_FLAGS"
	childDies = "CHESSBRAIN_CYCLE_TEST_DIES"
)

func TestMain(m *testing.M) {
	if dir, ok := os.LookupEnv(childDir); ok {
		os.Exit(childMain(dir))
	}
	os.Exit(m.Run())
}

// childMain runs as cmd/chessbrain does, with the same codes.
func childMain(dir string) int {
	dies := 0
	fmt.Sscan(os.Getenv(childDies), &dies)
	more := strings.Fields(os.Getenv(childMore))
	var stage Stage
	more = slices.DeleteFunc(more, func(word string) bool {
		name, found := strings.CutPrefix(word, "--stage=")
		if found {
			stage = Stage(name)
		}
		return found
	})
	e, err := resolveText(dir, strings.Join(more, " "))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	killer := monitor.SinkFunc(func(monitor.Event) error {
		if dies--; dies == 0 {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				return err
			}
			select {} // until it has come
		}
		return nil
	})
	_, err = Run(ctx, Options{Effective: e, Command: "child", Version: "test", Log: logTo(os.Stderr), Readers: []monitor.Sink{killer}, Stage: stage})
	switch {
	case errors.Is(err, run.ErrInterrupted):
		return 5
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startChild runs the loop in a process of its own and returns its exit code, -1
// where it was killed.
func startChild(t *testing.T, dir, more string, dies int) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childMore+"="+more, fmt.Sprintf("%s=%d", childDies, dies))
	var log strings.Builder
	cmd.Stderr = &log
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() >= 0) {
		t.Fatalf("%v:\n%s", err, log.String())
	}
	return cmd.ProcessState.ExitCode()
}

// TestKilledLoop kills real cycles at random events: the run ends as it was asked
// to, every game is on disk once, each cycle's process has its games, nothing that
// verify knows is wrong, and the rating list has all accepted nets.
func TestKilledLoop(t *testing.T) {
	kills := 4
	if testing.Short() {
		kills = 2
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	dir := filepath.Join(t.TempDir(), "run")
	const more = "--cycles=2 --seed=5 --required-candidate-win-prop=0"
	died := 0
	for range kills {
		if startChild(t, dir, more, 1+rng.IntN(60)) == -1 {
			died++
		}
	}
	if died < kills/4 {
		t.Errorf("only %d of %d starts were killed; the test says little", died, kills)
	}
	if code := startChild(t, dir, more, 0); code != 0 {
		t.Fatalf("the last start exits with %d", code)
	}
	state := stateOf(t, dir)
	if state.Cycles != 2 || state.Games < 24 || !strings.Contains(state.Stopped, "--cycles 2") {
		t.Errorf("%d cycles, %d games, stopped: %q", state.Cycles, state.Games, state.Stopped)
	}
	games := map[[16]byte]bool{}
	if _, err := replay.WalkGames(t.Context(), fsx.OS, filepath.Join(dir, "selfplay"), func(path string, g *record.Game) error {
		if games[g.ID] {
			t.Errorf("game %x is on disk twice, once in %s", g.ID, path)
		}
		games[g.ID] = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if int64(len(games)) != state.Games {
		t.Errorf("%d games are on disk, the journal has %d", len(games), state.Games)
	}
	report, err := verify.Path(t.Context(), dir)
	if err != nil || report.NumProblems > 0 {
		t.Errorf("verify: %v, %v", report.Problems, err)
	}
	checkRated(t, dir)
}

// checkRated wants every accepted net in the rating list.
func checkRated(t *testing.T, dir string) {
	t.Helper()
	index, err := readCatalogue(run.Dir{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	nets, err := run.ListNets(run.Dir{}, run.Dir{Root: dir}.Models())
	if err != nil {
		t.Fatal(err)
	}
	var accepted []string
	for _, net := range nets {
		accepted = append(accepted, net.Name)
	}
	if len(accepted) < 2 {
		t.Errorf("accepted nets %q, want several: every candidate wins", accepted)
	}
	for _, name := range accepted {
		found := false
		for _, r := range index.Ratings {
			found = found || r.Name == name && r.Games > 0
		}
		if !found {
			t.Errorf("net %s is not in the rating list %v", name, index.Ratings)
		}
	}
}

// TestMendsEvents: a start that has nothing more to do cuts off what interrupted stages
// were writing to their events, but not where somebody writes.
func TestMendsEvents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	again := func() {
		t.Helper()
		if said, err := loopOf(t, dir, "--cycles=1 --seed=5"); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	again()
	events := []string{filepath.Join(dir, "metrics", "run", "metrics.jsonl"), filepath.Join(dir, "metrics", "run", "gatekeeper", "metrics.jsonl")}
	tear := func() (torn []string) {
		t.Helper()
		for _, path := range events {
			text := filetest.Read(t, path)
			torn = append(torn, string(text)+`{"v":1,"ty`)
			write(t, path, torn[len(torn)-1])
		}
		return torn
	}
	check := func(want []string) {
		t.Helper()
		for i, path := range events {
			if now, err := os.ReadFile(path); err != nil || string(now) != want[i] {
				t.Errorf("%s: %v, it ends with %q", path, err, now[max(0, len(now)-40):])
			}
		}
	}
	torn := tear()
	held, err := fsx.Acquire(run.Dir{Root: dir}.Lock(run.Gatekeeper), fsx.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	again()
	torn[0] = strings.TrimSuffix(torn[0], `{"v":1,"ty`)
	check(torn)
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	again()
	torn[1] = strings.TrimSuffix(torn[1], `{"v":1,"ty`)
	check(torn)
}
