package uci

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chessbrain/chessbrain/mcts"
)

const testOverhead = 50 * time.Millisecond

func TestBudget(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, c := range []struct {
		clock      clock
		soft, hard time.Duration
	}{
		{clock{left: 63550 * ms}, 2 * s, 6 * s},                                // (63.55 - 0.05 - 70*0.05) / 30
		{clock{left: 60050 * ms, increment: 50 * ms}, 2 * s, 6 * s},            // the increment pays the overhead
		{clock{left: 2050 * ms, increment: 1050 * ms}, 1033333333, 1466666666}, // 2 s and 29 gains of 1 s; 1.9 s at most
		{clock{left: 1050 * ms, increment: 5 * s}, 950 * ms, 950 * ms},         // all but the overhead and 5 %
		{clock{left: 1050 * ms, movesToGo: 1}, 950 * ms, 950 * ms},             // the last move before the time control
		{clock{left: 1100 * ms, movesToGo: 2}, 500 * ms, 748750 * time.Microsecond},
		{clock{left: 12050 * ms, movesToGo: 41}, 10 * s / 41, 30 * s / 41}, // 40 moves' overhead is 2 s
		{clock{left: 5050 * ms}, 50 * ms, 150 * ms},
		{clock{left: 3550 * ms}, 0, 0}, // the overhead of 70 moves
		{clock{left: 50 * ms}, 0, 0},
		{clock{left: -s}, 0, 0},
		{clock{left: -s, increment: 100 * s}, 0, 0},
	} {
		got := c.clock.budget(testOverhead)
		if d := got.soft - c.soft; d < -1 || d > 1 {
			t.Errorf("%+v: soft %s, want %s", c.clock, got.soft, c.soft)
		}
		if d := got.hard - c.hard; d < -3 || d > 3 {
			t.Errorf("%+v: hard %s, want %s", c.clock, got.hard, c.hard)
		}
	}
	for moveTime, want := range map[time.Duration]time.Duration{s: 950 * ms, 100 * ms: 50 * ms, 60 * ms: 30 * ms, ms: ms / 2} {
		if got := fixed(moveTime, testOverhead); got != (budget{want, want}) {
			t.Errorf("movetime %s: %+v, want %s", moveTime, got, want)
		}
	}
}

// TestBudgetKeepsTheClock plays clocks at random to the hard limit on every move,
// with all of the overhead lost: they last to the time control, or 70 moves.
func TestBudgetKeepsTheClock(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 3000 {
		overhead := time.Duration(rng.IntN(200)) * time.Millisecond
		c := clock{left: 71*overhead + time.Duration(rng.ExpFloat64()*float64(time.Minute))}
		moves := 70
		switch rng.IntN(3) {
		case 0:
			c.increment = time.Duration(rng.IntN(3000)) * time.Millisecond
		case 1:
			moves = 1 + rng.IntN(60)
			c.movesToGo = moves
		}
		now := c
		for k := range moves {
			b := now.budget(overhead)
			if b.soft < 0 || b.hard < b.soft || b.hard > max(0, now.left-overhead) {
				t.Fatalf("seed %d: %+v with overhead %s: %+v", seed, now, overhead, b)
			}
			if now.left -= b.hard + overhead; now.left < 0 {
				t.Fatalf("seed %d: %+v with overhead %s is lost at move %d", seed, c, overhead, k+1)
			}
			now.left += c.increment
			now.movesToGo = max(0, now.movesToGo-1)
		}
	}
}

// TestFiveSeconds: a game of 5 s is thought about, and yet its clock lasts 80 moves
// of which each takes its hard limit and loses all of the overhead.
func TestFiveSeconds(t *testing.T) {
	c, thought := clock{left: 5 * time.Second}, 0
	for k := range 80 {
		b := c.budget(testOverhead)
		if b.soft > 0 {
			thought++
		}
		if c.left -= b.hard + testOverhead; c.left < 0 {
			t.Fatalf("lost at move %d, after %d that were thought about", k+1, thought)
		}
	}
	if thought < 10 {
		t.Errorf("only %d moves were thought about", thought)
	}
}

func TestEnough(t *testing.T) {
	const s = time.Second
	b := budget{soft: 2 * s, hard: 6 * s}
	for name, c := range map[string]struct {
		elapsed, running, step time.Duration
		top                    standing
		want                   bool
	}{
		"early":                     {s, s, 0, standing{best: 500, second: 400, leads: true, rate: 1000}, false},
		"nobody can catch up":       {s, s, 0, standing{best: 2000, second: 900, leads: true, rate: 1000}, true},
		"somebody just can":         {s, s, 0, standing{best: 1900, second: 900, leads: true, rate: 1000}, false},
		"rate not known":            {s, s, 0, standing{best: 2000, second: 1}, false},
		"usual time":                {2 * s, 2 * s, 0, standing{best: 500, second: 499, leads: true, rate: 1000}, true},
		"usual time, not clear":     {2 * s, 2 * s, 0, standing{best: 500, second: 499, rate: 1000}, false},
		"pondered the usual time":   {9 * s, 0, 0, standing{best: 500, second: 499, leads: true, rate: 1000}, true},
		"hard limit":                {5 * s, 5 * s, s, standing{best: 500, second: 499, rate: 1000}, false},
		"hard limit with the next":  {5 * s, 5 * s, s + 1, standing{best: 500, second: 499, rate: 1000}, true},
		"pondered, hard limit not":  {50 * s, 5 * s, s, standing{best: 500, second: 499, rate: 1000}, false},
		"no other move":             {0, 0, 0, standing{best: 1, single: true}, true},
		"no time, nothing is known": {0, 0, 0, standing{}, false},
	} {
		if got := b.enough(c.elapsed, c.running, c.step, c.top); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPace(t *testing.T) {
	const ms = time.Millisecond
	var p pace
	if got := p.of(8); got != 0 {
		t.Errorf("%s of nothing", got)
	}
	p.note(1, 10*ms)
	if got := p.of(8); got != 80*ms { // eight times as many leaves
		t.Errorf("%s, want 80ms", got)
	}
	p.note(8, 24*ms)
	if got := [2]time.Duration{p.of(1), p.of(8)}; got != [2]time.Duration{24 * ms, 24 * ms} {
		t.Errorf("%s, want 24ms", got)
	}
	for range 100 {
		p.note(8, 2*ms)
	}
	if got := p.of(8); got != 2*ms { // a slow one is forgotten
		t.Errorf("%s, want 2ms", got)
	}
}

// TestTime plays on a fake clock with a net that takes 10 ms a call.
func TestTime(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		position, command string
		low, high         time.Duration
	}{
		{"startpos", "go movetime 1000", 940 * ms, 950 * ms},
		{"startpos", "go movetime 1", 10 * ms, 10 * ms}, // the root is evaluated
		{"startpos", "go wtime 63550 btime 1000", 20 * ms, 6 * time.Second},
		{"startpos moves e2e4", "go wtime 60000 btime 3000 binc 400", 20 * ms, 1380 * ms},
		{"startpos", "go wtime 12050 movestogo 41", 20 * ms, 740 * ms},
		{"startpos", "go wtime 1 btime 1", 10 * ms, 10 * ms},
		{"startpos", "go wtime -500", 10 * ms, 10 * ms},
		{"startpos", "go movetime 3000 nodes 17", 30 * ms, 180 * ms},
		{"fen k7/8/8/8/8/8/1r6/K7 w - - 0 1", "go wtime 600000", 10 * ms, 60 * ms}, // one legal move
	} {
		synctest.Test(t, func(t *testing.T) {
			g := play(t.Context(), t, slow{each: 10 * ms})
			g.send("position "+c.position, "isready")
			g.expect("readyok")
			began := time.Now()
			g.bestMove(c.command)
			if got := time.Since(began); got < c.low || got > c.high {
				t.Errorf("%q took %s, want %s to %s", c.command, got, c.low, c.high)
			}
			if err := g.quit(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAnalyseMode: with it no move is sent before the usual time.
func TestAnalyseMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := play(t.Context(), t, slow{each: 10 * time.Millisecond})
		g.send("setoption name UCI_AnalyseMode value true", "isready")
		g.expect("readyok")
		began := time.Now()
		g.bestMove("position fen k7/8/8/8/8/8/1r5P/K7 w - - 0 1", "go wtime 63550")
		if got := time.Since(began); got < 1980*time.Millisecond || got > 2020*time.Millisecond {
			t.Errorf("took %s, want 2s", got)
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
	})
}

// TestNeverLosesOnTime plays games on a fake clock against itself: evaluations
// take their time, and beside the thinking each move loses up to the overhead.
func TestNeverLosesOnTime(t *testing.T) {
	seed := rand.Uint64()
	for _, c := range []struct {
		left, increment time.Duration
		movesToGo       int // of each period
		each            time.Duration
	}{
		{20 * time.Second, 0, 0, 10 * time.Millisecond},
		{5 * time.Second, 0, 0, 10 * time.Millisecond},
		{time.Second, 100 * time.Millisecond, 0, 5 * time.Millisecond},
		{5 * time.Second, 50 * time.Millisecond, 0, 15 * time.Millisecond},
		{10 * time.Second, 0, 20, 30 * time.Millisecond},
		{2 * time.Second, 0, 5, 10 * time.Millisecond},
		{100 * time.Millisecond, time.Second, 0, 20 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			g := play(t.Context(), t, slow{HashEvaluator: mcts.HashEvaluator{Seed: seed}, each: c.each})
			left := [2]time.Duration{c.left, c.left}
			line, toGo := "position startpos moves", [2]int{c.movesToGo, c.movesToGo}
			for ply := range 160 {
				side := ply % 2
				command := fmt.Sprintf("go wtime %d btime %d winc %d binc %d", left[0].Milliseconds(), left[1].Milliseconds(), c.increment.Milliseconds(), c.increment.Milliseconds())
				if c.movesToGo > 0 {
					command += fmt.Sprintf(" movestogo %d", toGo[side])
				}
				began := time.Now()
				move := g.bestMove(line, command)
				left[side] -= time.Since(began) + time.Duration(rng.Int64N(int64(testOverhead)))
				if left[side] <= 0 {
					t.Fatalf("seed %d, %+v: lost on time at ply %d: %s", seed, c, ply, left[side])
				}
				if move == "0000" {
					break
				}
				line += " " + move
				left[side] += c.increment
				if toGo[side]--; c.movesToGo > 0 && toGo[side] == 0 {
					toGo[side], left[side] = c.movesToGo, left[side]+c.left
				}
			}
			if err := g.quit(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHardLimit cancels an evaluation that hangs.
func TestHardLimit(t *testing.T) {
	for command, want := range map[string]time.Duration{
		"go movetime 1000": 950 * time.Millisecond, "go wtime 63550": 6 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			g := play(t.Context(), t, &hanging{entered: make(chan struct{}, 1)})
			g.send("position startpos", "isready")
			g.expect("readyok")
			began := time.Now()
			g.bestMove(command)
			if got := time.Since(began); got != want {
				t.Errorf("%s took %s, want %s", command, got, want)
			}
			if err := g.quit(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPonder thinks on the other side's time: nothing is sent before ponderhit or
// stop, and the clock runs from ponderhit on. Nor does an infinite search end
// before stop, whatever it finds.
func TestPonder(t *testing.T) {
	const start, mate = "position startpos", "position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
	for _, c := range []struct {
		position, command, release string
		low, high                  time.Duration // from the release on
	}{
		{start, "go ponder wtime 63550", "ponderhit", 0, 6 * time.Second},
		{start, "go ponder movetime 1000", "ponderhit", 940 * time.Millisecond, 950 * time.Millisecond},
		{start, "go ponder wtime 63550", "stop", 0, 10 * time.Millisecond},
		{start, "go ponder", "ponderhit", 0, 10 * time.Millisecond},
		{start, "go ponder nodes 20", "ponderhit", 0, 0},
		{mate, "go ponder wtime 63550", "ponderhit", 0, 0},
		{mate, "ponderhit\ngo infinite\nponderhit", "stop", 0, 0},
		{"position fen k7/2Q5/1K6/8/8/8/8/8 b - - 0 1", "go infinite", "stop", 0, 0}, // stalemate
		{"position fen 8/8/8/8/8/2k5/8/K1N5 w - - 0 1", "go ponder", "ponderhit", 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := play(t.Context(), t, slow{each: 10 * time.Millisecond})
			g.send(c.position, c.command)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			for len(g.lines) > 0 {
				if line := <-g.lines; strings.HasPrefix(line, "bestmove") {
					t.Fatalf("%s: %q before %s", c.command, line, c.release)
				}
			}
			began := time.Now()
			g.bestMove(c.release)
			if got := time.Since(began); got < c.low || got > c.high {
				t.Errorf("%s: %s took %s, want %s to %s", c.command, c.release, got, c.low, c.high)
			}
			if err := g.quit(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStopCancelsWithoutDeadline: a search with limits but no clock ends at the
// context's end only.
func TestStopCancelsWithoutDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newSpan(limits{nodes: 5}, time.Now(), testOverhead, cancel)
	if s.timer != nil || !s.running() || ctx.Err() != nil {
		t.Errorf("timer %v, running %v, %v", s.timer, s.running(), ctx.Err())
	}
	s.end()
	cancel()
}
