package cycle

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/run/setup"
)

// script makes a journal of words: "2 train end 30s games=5" and so on; +10s lets
// time pass.
func script(t *testing.T, lines ...string) []Entry {
	t.Helper()
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	var entries []Entry
	for _, line := range lines {
		words := strings.Fields(line)
		e := Entry{Stage: Stage(words[1]), Event: Event(words[2]), Figures: map[string]float64{}}
		fmt.Sscan(words[0], &e.Cycle)
		for _, w := range words[3:] {
			if name, value, ok := strings.Cut(w, "="); ok && name == "reason" {
				e.Reason = value
			} else if ok {
				n := 0.0
				fmt.Sscan(value, &n)
				e.Figures[name] = n
			} else {
				d, err := time.ParseDuration(strings.TrimPrefix(w, "+"))
				if err != nil {
					t.Fatal(err)
				}
				if at = at.Add(d); !strings.HasPrefix(w, "+") {
					e.Seconds = d.Seconds()
				}
			}
		}
		e.Time = at
		if err := e.check(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		entries = append(entries, e)
	}
	return entries
}

// wholeCycle is a cycle in which each stage takes some seconds and one second lies
// between two stages.
func wholeCycle(n int, games int) []string {
	lines := []string{fmt.Sprintf("%d cycle begin", n)}
	for i, stage := range Stages {
		figures := ""
		if stage == SelfPlay {
			figures = fmt.Sprintf(" games=%d process=%d", games, n)
		}
		lines = append(lines, fmt.Sprintf("%d %s begin +1s%s", n, stage, figures), fmt.Sprintf("%d %s end %ds%s", n, stage, 10*(i+1), figures))
	}
	return append(lines, fmt.Sprintf("%d cycle end", n))
}

// TestStateCycles: two whole cycles by numbers that can be added up by hand.
func TestStateCycles(t *testing.T) {
	s := NewState(nil)
	if next, ok := s.Next(); !ok || next != Gatekeeper || s.Cycle != 1 || s.Open {
		t.Errorf("nothing done: next %q, %v, cycle %d", next, ok, s.Cycle)
	}
	s = NewState(script(t, append(wholeCycle(1, 500), wholeCycle(2, 300)...)...))
	if s.Cycle != 3 || s.Open || s.Cycles != 2 || s.Games != 800 || s.Broken != 0 || s.Begun != nil {
		t.Errorf("state %+v", s)
	}
	// 10 + 20 + ... + 70 seconds of work and 7 between, twice.
	if s.Worked != 560*time.Second || s.Measured != 574 || s.Stages[Train] != 100 {
		t.Errorf("worked %v, measured %v, trained %v", s.Worked, s.Measured, s.Stages[Train])
	}
	// Not work: shuffle 40, export 60, gc 70, and what lies between, 7.
	if want := 2 * 177.0 / 574; math.Abs(s.Overhead()-want) > 1e-12 {
		t.Errorf("overhead %v, want %v", s.Overhead(), want)
	}
}

// TestStateNext: what is next after every line of a cycle that is killed everywhere.
func TestStateNext(t *testing.T) {
	var lines []string
	for _, c := range []struct {
		line  string
		next  Stage
		games int64
	}{
		{"1 cycle begin", Gatekeeper, 0},
		{"1 gatekeeper begin", Gatekeeper, 0},
		{"1 cycle begin", Gatekeeper, 0}, // started again
		{"1 gatekeeper begin", Gatekeeper, 0},
		{"1 gatekeeper skip reason=none", Rating, 0},
		{"1 rating begin", Rating, 0},
		{"1 rating end 5s", SelfPlay, 0},
		{"1 selfplay begin games=20 process=4", SelfPlay, 20},
		{"1 cycle begin", SelfPlay, 20},
		{"1 selfplay begin games=20 process=4", SelfPlay, 20},
		{"1 selfplay end 9s games=20 process=4", Shuffle, 20},
		{"1 shuffle begin", Shuffle, 20},
		{"1 shuffle skip have_rows=10 need_rows=20 more=25", SelfPlay, 45},
		{"1 cycle begin", SelfPlay, 45},
		{"1 selfplay begin games=45 process=4", SelfPlay, 45},
		{"1 selfplay end 9s games=45 process=4", Shuffle, 45},
		{"1 shuffle begin", Shuffle, 45},
		{"1 shuffle end 3s", Train, 45},
		{"1 train begin", Train, 45},
		{"1 train begin", Train, 45},
		{"1 train end 3s", Export, 45},
		{"1 export end", GC, 45},
		{"1 gc end", "", 45},
		{"1 cycle end", Gatekeeper, 0},
	} {
		lines = append(lines, c.line)
		s := NewState(script(t, lines...))
		next, ok := s.Next()
		games := s.target
		if next != c.next || ok != (c.next != "") || games != c.games {
			t.Errorf("after %q: next %q, %v with %d games; want %q with %d", c.line, next, ok, games, c.next, c.games)
		}
	}
	s := NewState(script(t, lines...))
	if s.Games != 45 || s.Broken != 3 || s.Measured != 0 || s.Cycles != 1 {
		t.Errorf("%d games, %d kills, %v s measured, %d cycles; want 45, 3, 0, 1", s.Games, s.Broken, s.Measured, s.Cycles)
	}
}

// TestStop: each condition holds exactly when it is reached.
func TestStop(t *testing.T) {
	lines := append(wholeCycle(1, 500), "2 cycle begin", "2 gatekeeper end 1s", "2 rating end 1s elo=120 elo_error=30 nets=3")
	s := NewState(script(t, lines...)) // 282 s of work
	for words, c := range map[string]setup.Cycle{
		"": {}, "--cycles": {StopCycles: 1}, "--games": {StopGames: 500}, "--hours": {StopHours: 282. / 3600}, "--elo": {StopElo: 120},
	} {
		if got := s.stop(&c); words == "" && got != "" || !strings.Contains(got, words) {
			t.Errorf("%q: stop says %q", words, got)
		}
	}
	for _, c := range []setup.Cycle{{StopCycles: 2}, {StopGames: 501}, {StopHours: 283. / 3600}, {StopElo: 120.5}} {
		if got := s.stop(&c); got != "" {
			t.Errorf("%+v is not reached: %q", c, got)
		}
	}
	stopped := NewState(script(t, append(slices.Clone(lines), "2 cycle skip reason=enough")...))
	if stopped.Stopped != "enough" || stopped.Cycles != 1 || !stopped.Open {
		t.Errorf("stopped %+v", stopped)
	}
	on := NewState(script(t, append(slices.Clone(lines), "2 cycle skip reason=enough", "2 cycle begin")...))
	if next, _ := on.Next(); on.Stopped != "" || next != SelfPlay {
		t.Errorf("goes on with %q, stopped %q", next, on.Stopped)
	}
}

// TestMoreGames: literal facts.
func TestMoreGames(t *testing.T) {
	for _, c := range []struct{ have, need, games, want int64 }{
		{1000, 2000, 100, 111}, // as many again and a tenth
		{1000, 1001, 100, 1},   // one row
		{10, 1_000_000, 5, 50}, // never more than ten times
		{0, 1000, 100, 100},    // no row yet: as many again
		{0, 1000, 0, 1},
	} {
		if got := moreGames(c.have, c.need, c.games); got != c.want {
			t.Errorf("have %d, need %d after %d games: %d more, want %d", c.have, c.need, c.games, got, c.want)
		}
	}
}

// TestLastProcess: numbers of players of other machines are none of this machine's, which
// may not give one of theirs to a cycle's games.
func TestLastProcess(t *testing.T) {
	dir := t.TempDir()
	if n, err := lastProcess(filepath.Join(dir, "none")); n != 0 || err != nil {
		t.Error(n, err)
	}
	for _, name := range []string{"a/p3", "b/p12", "b/p100001", "b/p100777", "b/pink"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := lastProcess(dir); n != 12 || err != nil {
		t.Errorf("the last process is %d, %v, want 12", n, err)
	}
}

// TestEpochsLeft: an epoch that a stop left open is finished, and batches that do not divide
// an epoch cost none.
func TestEpochsLeft(t *testing.T) {
	for _, c := range []struct{ most, done, epoch, want int64 }{
		{500, 0, 100, 5}, {500, 50, 100, 5}, {500, 100, 100, 4}, {100, 60, 100, 1}, {500, 499, 100, 1}, {500, 500, 100, 0},
		{500_000, 4 * 100_096, 100_000, 1}, {500_000, 5 * 100_096, 100_000, 0}, {100, 300, 100, -1},
	} {
		if got := epochsLeft(c.most, c.done, c.epoch); got != c.want {
			t.Errorf("%d of %d samples in epochs of %d: %d are left, want %d", c.done, c.most, c.epoch, got, c.want)
		}
	}
}
