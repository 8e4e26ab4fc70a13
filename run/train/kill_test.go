package train

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// killed runs a child until a random event and kills it, as often as kills says,
// and then lets it end. Every game that it acknowledged by an episode event must
// be the same episode ever after.
func killed(t *testing.T, dir, more string, kills int, rng *rand.Rand) {
	t.Helper()
	acknowledged := map[int64]string{}
	take := func(e event) {
		if e.Type != "episode" {
			return
		}
		if before, ok := acknowledged[e.Episode]; ok && before != e.GameID {
			t.Errorf("episode %d was game %s and is %s now", e.Episode, before, e.GameID)
		}
		acknowledged[e.Episode] = e.GameID
	}
	died := 0
	for try := range kills {
		c := startChild(t, dir, more)
		for range 1 + rng.IntN(8+4*try) {
			e, ok := c.next(t)
			if !ok {
				break
			}
			take(e)
		}
		c.signal(t, syscall.SIGKILL)
		if c.wait(t, take) == -1 {
			died++
		}
	}
	if died < kills/2 {
		t.Errorf("only %d of %d children were killed; the test says little", died, kills)
	}
	c := startChild(t, dir, more)
	if code := c.wait(t, take); code != 0 {
		t.Fatalf("the last start exits with %d:\n%s", code, c.stderr.String())
	}
	d, _ := jobOf(t, dir)
	for i, id := range journalIDs(t, d) {
		if acknowledged[int64(i)+1] != id {
			t.Errorf("episode %d: journal has %s, acknowledged was %s", i+1, id, acknowledged[int64(i)+1])
		}
	}
}

// TestKill kills a run ten times at random moments.
func TestKill(t *testing.T) {
	kills := 10
	if testing.Short() {
		kills = 3
	}
	for _, workers := range []int{0, 2} {
		t.Run(fmt.Sprintf("workers %d", workers), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(workers)))
			dir := t.TempDir() + "/run"
			more := fmt.Sprintf("--episodes=14 --producer-workers=%d", workers)
			killed(t, dir, more, kills, rng)
			d, _ := jobOf(t, dir)
			checkRun(t, dir, 14, checkpointOf(t, d).Manifest.Step)
		})
	}
}

// TestKillDeterministic: with deterministic the weights do not show that a run
// was killed.
func TestKillDeterministic(t *testing.T) {
	kills := 6
	if testing.Short() {
		kills = 2
	}
	for _, accumulate := range []int{1, 4} {
		t.Run(fmt.Sprintf("accumulate %d", accumulate), func(t *testing.T) {
			more := fmt.Sprintf("--deterministic=true --episodes=10 --grad-accum-steps=%d --swa-period=4 export { weights: SWA }", accumulate)
			undisturbed := t.TempDir() + "/run"
			s, _ := train(t, undisturbed, more)
			want := checkRun(t, undisturbed, 10, s.Steps)
			dir := t.TempDir() + "/run"
			killed(t, dir, more, kills, rand.New(rand.NewPCG(2, uint64(accumulate))))
			if got := checkRun(t, dir, 10, s.Steps); got != want {
				t.Errorf("weights %s, undisturbed %s", got, want)
			}
			d, _ := jobOf(t, dir)
			if got, want := netID(t, d.NetPath("models/"+filepath.Base(s.Net))), netID(t, s.Net); got != want {
				t.Errorf("averaged weights %s, undisturbed %s", got, want)
			}
		})
	}
}

// TestInterrupt: the first SIGINT saves and exits with 5, the same options go
// on, and the weights do not show it.
func TestInterrupt(t *testing.T) {
	const more = "--deterministic=true --checkpoint-interval=100"
	undisturbed := t.TempDir() + "/run"
	s, _ := train(t, undisturbed, more)
	want := checkRun(t, undisturbed, 8, s.Steps)
	dir := t.TempDir() + "/run"
	for _, steps := range []int64{2, 4} {
		c := startChild(t, dir, more)
		last, asked := event{}, false
		for e, ok := c.next(t); ok; e, ok = c.next(t) {
			if e.Type == "step" && e.Step >= steps && !asked {
				c.signal(t, os.Interrupt)
				asked = true
			}
			if e.Type == "step" {
				last = e
			}
		}
		if code := c.wait(t, nil); code != 5 {
			t.Fatalf("exit code %d after an interrupt\n%s", code, c.stderr.String())
		}
		d, _ := jobOf(t, dir)
		if at := checkpointOf(t, d).Manifest.Step; at != last.Step || at < steps {
			t.Errorf("saved at step %d, the last one done was %d", at, last.Step)
		}
	}
	train(t, dir, more)
	if got := checkRun(t, dir, 8, s.Steps); got != want {
		t.Errorf("weights %s, undisturbed %s", got, want)
	}
}

// TestSecondInterrupt ends at once with 130 and leaves a run that goes on. The
// child stays in its first step, so only the second interrupt can end it.
func TestSecondInterrupt(t *testing.T) {
	t.Setenv(childStuck, "1")
	dir := t.TempDir() + "/run"
	c := startChild(t, dir, "--episodes=1000")
	if code := c.wait(t, func(e event) {
		if e.Type == "step" || e.Type == "interrupted" {
			c.signal(t, os.Interrupt)
		}
	}); code != 130 {
		t.Errorf("exit code %d\n%s", code, c.stderr.String())
	}
	s, _ := train(t, dir, "--episodes=4")
	checkRun(t, dir, max(4, s.Episodes), s.Steps)
}

// TestTwoAtOnce: a second process is refused with the first one's pid, and does
// not disturb it.
func TestTwoAtOnce(t *testing.T) {
	dir := t.TempDir() + "/run"
	c := startChild(t, dir, "--episodes=100000")
	for e, ok := c.next(t); ok && e.Type != "step"; e, ok = c.next(t) {
	}
	_, _, err := tryTrain(t, t.Context(), dir, "")
	if locked, ok := errors.AsType[*fsx.LockedError](err); !ok || locked.Owner.PID != c.cmd.Process.Pid {
		t.Errorf("second process: %v, want a lock of %d", err, c.cmd.Process.Pid)
	}
	c.signal(t, os.Interrupt)
	if code := c.wait(t, nil); code != 5 {
		t.Errorf("first process exits with %d\n%s", code, c.stderr.String())
	}
}

func checkpointOf(t testing.TB, d run.Dir) *checkpoint.Checkpoint {
	t.Helper()
	c, err := checkpoint.Load(fsx.OS, d.Checkpoints)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
