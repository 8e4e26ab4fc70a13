package train

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// TestCourse: a run on a course that is stopped, killed and goes on plays the games of one
// that was not, its front is in the checkpoint, and workers beside the trainer move it, too.
func TestCourse(t *testing.T) {
	file := runtest.Course(t)
	more := "--openings-order=mastery --simulations=30 --train-steps-per-episode=1 --checkpoint-interval=7 --openings=" + file
	lines := func(dir string) int {
		d, _ := jobOf(t, dir)
		var state State
		if _, err := checkpointOf(t, d).Restore([]stage.Section{state.Section()}); err != nil {
			t.Fatal(err)
		}
		return state.Course.Lines
	}
	whole, stopped, died, beside := t.TempDir()+"/run", t.TempDir()+"/run", t.TempDir()+"/run", t.TempDir()+"/run"
	const episodes = " --deterministic=true --episodes="
	s, _ := train(t, whole, more+episodes+"60")
	want := checkRun(t, whole, 60, s.Steps)
	train(t, stopped, more+episodes+"30")
	train(t, stopped, more+episodes+"60")
	killed(t, died, more+episodes+"60", 2, rand.New(rand.NewPCG(3, 0)))
	for _, dir := range []string{stopped, died} {
		if got := checkRun(t, dir, 60, s.Steps); got != want || lines(dir) != lines(whole) {
			t.Errorf("weights %s and %d lines, undisturbed %s and %d", got, lines(dir), want, lines(whole))
		}
		if !maps.Equal(runtest.GamesOnDisk(t, dir), runtest.GamesOnDisk(t, whole)) {
			t.Error("the games are others")
		}
	}
	train(t, beside, more+" --producer-workers=2 --episodes=60")
	for _, dir := range []string{whole, beside} {
		if n := lines(dir); n <= 4 || n >= 64 {
			t.Errorf("%d lines of 64 are open after 60 games", n)
		}
	}
}
