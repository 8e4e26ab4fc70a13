package arena

import (
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/mcts"
)

// tick is a clock that goes on by a step each time it is read.
type tick struct {
	now  time.Time
	step time.Duration
}

func (c *tick) read() time.Time {
	c.now = c.now.Add(c.step)
	return c.now
}

// timedNet returns a net player with limited time by a clock of its own.
func timedNet(t *testing.T, l Limits, step time.Duration, change func(*Settings)) Player {
	t.Helper()
	s := Settings{Search: mcts.DefaultConfig(), TreeReuse: true}
	s.Search.Simulations = 0
	if change != nil {
		change(&s)
	}
	clock := &tick{step: step}
	p, err := NewNet(NetConfig{
		Name: "timed", Settings: [2]Settings{s, s}, Limits: l, now: clock.read,
		NewEvaluator: func(int) mcts.Evaluator { return new(mcts.HashEvaluator) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// thinkOnce has a player think about the start position and returns its seat and answer.
func thinkOnce(t *testing.T, p Player, c Clocks) (*netSeat, Answer) {
	t.Helper()
	table, err := p.NewTable(1)
	if err != nil {
		t.Fatal(err)
	}
	seat, line := table.NewSeat().(*netSeat), chess.NewHistory(chess.StartBoard())
	var legal chess.MoveList
	line.Board().GenerateMoves(&legal)
	seat.Start(line, chess.White, nil)
	seat.Clocks(c)
	for {
		if a, ok := seat.Step(line, &legal); ok {
			if legal.Index(a.Move) < 0 || a.End != "" {
				t.Fatalf("%+v is illegal", a)
			}
			return seat, a
		}
		if err := table.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMoveTime: a search ends when its time is over, whatever visits that takes,
// and no sooner; visits limit it as well where they are set.
func TestMoveTime(t *testing.T) {
	for _, budget := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 900 * time.Millisecond} {
		s, a := thinkOnce(t, timedNet(t, Limits{MoveTime: budget}, time.Millisecond, nil), Clocks{})
		visits := int(s.search.Root().N)
		// Two readings of the clock before each batch, one at the begin, one at the end.
		rounds := int(budget/time.Millisecond)/2 + 1
		if a.Spent < budget || a.Spent > budget+3*time.Millisecond || visits < rounds/2 || visits > 1+uci.DefaultMinibatch*rounds {
			t.Errorf("%v: %v spent, %d visits", budget, a.Spent, visits)
		}
		if !a.Scored || a.Score < -20000 || a.Score > 20000 {
			t.Errorf("score %d, %v", a.Score, a.Scored)
		}
	}
	// Leaves wait together while that takes little of the time, and one at a time where it would not.
	for step, low := range map[time.Duration]int{time.Millisecond: 1500, 15 * time.Millisecond: 25} {
		s, _ := thinkOnce(t, timedNet(t, Limits{MoveTime: 900 * time.Millisecond}, step, nil), Clocks{})
		if n := int(s.search.Root().N); n < low || step > time.Millisecond && n > 35 {
			t.Errorf("%v a reading of the clock: %d visits", step, n)
		}
	}
	s, _ := thinkOnce(t, timedNet(t, Limits{MoveTime: time.Hour}, time.Nanosecond, func(s *Settings) { s.Search.Simulations = 40 }), Clocks{})
	if n := s.search.Root().N; n != 41 {
		t.Errorf("40 visits and an hour: %d visits of the root", n)
	}
	// A stop of the search's own ends it although there is time.
	s, _ = thinkOnce(t, timedNet(t, Limits{MoveTime: time.Hour}, time.Nanosecond, func(s *Settings) { s.Search.Stop.KLDGain = 1000 }), Clocks{})
	if n := s.search.Root().N; n < 10 || n > 2*timedSlice {
		t.Errorf("with a KLD gain of 1000: %d visits of the root", n)
	}
}

// TestClockBudget: what a move may take of a clock.
func TestClockBudget(t *testing.T) {
	for _, c := range []struct {
		left, increment, want time.Duration
	}{
		{30 * time.Second, 0, time.Second},
		{30 * time.Second, time.Second, 1750 * time.Millisecond},
		{time.Second, 4 * time.Second, 500 * time.Millisecond}, // never more than half
		{0, time.Second, 1},
	} {
		p := timedNet(t, Limits{Base: time.Minute, Increment: c.increment}, 1, nil)
		table, err := p.NewTable(1)
		if err != nil {
			t.Fatal(err)
		}
		s := table.NewSeat().(*netSeat)
		s.Start(chess.NewHistory(chess.StartBoard()), chess.Black, nil)
		s.Clocks(Clocks{Left: [2]time.Duration{1, c.left}})
		if s.budget != c.want {
			t.Errorf("%v left, %v a move: %v, want %v", c.left, c.increment, s.budget, c.want)
		}
	}
}

// TestTimeForfeit: a player that oversteps its time loses, and only by more than
// the margin.
func TestTimeForfeit(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		step   time.Duration
		late   bool
	}{
		{Limits{MoveTime: 10 * time.Millisecond}, 4 * time.Millisecond, true},
		{Limits{MoveTime: 10 * time.Millisecond, Margin: 20 * time.Millisecond}, 4 * time.Millisecond, false},
		{Limits{Base: time.Second}, 20 * time.Millisecond, true},
		{Limits{Base: time.Second, Increment: 100 * time.Millisecond, Margin: 50 * time.Millisecond}, 10 * time.Millisecond, false},
	} {
		p := timedNet(t, c.limits, c.step, nil)
		cfg := Config{Players: [2]Player{Random(), p}, Openings: openings(t, 2), Seed: 1, MaxPlies: 90}
		for _, g := range play(t, cfg).Games {
			if late := g.End == EndTime; late != c.late {
				t.Fatalf("%v, steps of %v: game %d ended by %s after %d plies: %s", c.limits, c.step, g.Number, g.End, len(g.Moves), g.Note)
			}
			if !c.late {
				continue
			}
			if g.Result(1) != -1 || !strings.HasPrefix(g.Note, "timed took ") || terminations[g.End] != "time forfeit" || !g.End.Failed() {
				t.Errorf("game %d: result %d, %q", g.Number, g.Result(1), g.Note)
			}
		}
	}
}

// TestTimedPlayerAlone: a player with limited time has a worker to itself.
func TestTimedPlayerAlone(t *testing.T) {
	p := timedNet(t, Limits{MoveTime: time.Second}, time.Millisecond, nil)
	m, err := newMatch(Config{Players: [2]Player{Random(), p}, Openings: openings(t, 4), Workers: 2})
	if err != nil || m.cfg.Parallel != 1 || m.cfg.Workers != 2 {
		t.Fatalf("%v, %d games in each of %d workers", err, m.cfg.Parallel, m.cfg.Workers)
	}
	_, err = newMatch(Config{Players: [2]Player{Random(), p}, Openings: openings(t, 4), Parallel: 2})
	if err == nil || !strings.Contains(err.Error(), "set more workers instead") {
		t.Error(err)
	}
}

// TestTimedErrors holds what is refused of a net.
func TestTimedErrors(t *testing.T) {
	for want, c := range map[string]struct {
		limits Limits
		change func(*Settings)
	}{
		"not by nodes or depth":  {Limits{Nodes: 5}, func(*Settings) {}},
		"Gumbel search divides":  {Limits{MoveTime: 1}, func(s *Settings) { s.Search.Gumbel.Enabled = true }},
		"smart pruning looks at": {Limits{MoveTime: 1}, func(s *Settings) { s.Search.Stop.SmartPruning = true }},
		"exclude each other":     {Limits{MoveTime: 1, Base: 1}, func(*Settings) {}},
		"the search has no end":  {Limits{Margin: 1}, func(*Settings) {}},
	} {
		s := Settings{Search: mcts.DefaultConfig()}
		s.Search.Simulations = 0
		c.change(&s)
		if _, err := NewNet(NetConfig{Name: "a", Settings: [2]Settings{s, s}, Limits: c.limits}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
