package mcts

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// together searches with so many goroutines until all visits are there.
func together(t *testing.T, s *Search, members int) {
	t.Helper()
	b := encoding.NewBatch(1)
	for s.Root().N < 2 && !s.Done() { // Split wants a root that was evaluated
		b.Reset()
		s.Gather(b, 1)
		_ = (&HashEvaluator{}).Evaluate(t.Context(), b)
		s.Apply(b)
	}
	if s.Done() {
		return
	}
	others := s.Split(members - 1)
	var wait sync.WaitGroup
	for i, m := range append(others, s) {
		wait.Go(func() {
			b := encoding.NewBatch(4)
			for m != s && !m.Done() || m == s && !s.Done() {
				b.Reset()
				if m.GatherSome(b, 1+i%4, 64) == 0 {
					runtime.Gosched()
				}
				_ = (&HashEvaluator{}).Evaluate(context.Background(), b)
				m.Apply(b)
				if m == s {
					root := s.Root()
					s.PVOf(nil, root.Best)
				}
			}
		})
	}
	wait.Wait()
	s.Join(others)
}

// TestCrew: whatever goroutines make of a tree is one, with as many visits as were
// wanted, and the next search, alone or together, goes on with it.
func TestCrew(t *testing.T) {
	withM := config(700)
	withM.MovesLeft = MovesLeftConfig{MaxEffect: 0.1, Slope: 0.01, Threshold: 0}
	for name, cfg := range map[string]*Config{"puct": config(700), "gumbel": gumbelConfig(700), "moves left": withM} {
		for _, start := range []string{
			chess.StartFEN,
			"8/8/8/8/8/1k6/1p6/2K5 w - - 0 1", // few lines, many of them ends of games
			"6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1",
			"R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1", // 218 moves
		} {
			board := chesstest.Board(t, start)
			s := New(cfg, NewSharedCache(3000))
			s.Reset(chess.NewHistory(board))
			for move := range 4 {
				s.Begin(seeded(1), false)
				if s.over != chess.NotOver {
					break
				}
				if move == 2 {
					finish(t, s, &HashEvaluator{}, 3)
				} else {
					together(t, s, 4)
				}
				check(t, s)
				if root := s.Root(); root.Proven == Unproven && root.N != 701 {
					t.Errorf("%s, %s, move %d: %d visits", name, start, move, root.N)
				}
				r := s.Root()
				s.Advance(r.Moves[r.Best].Move)
				check(t, s)
			}
			if c := s.Counts(); c.Sum() == 0 {
				t.Errorf("%s: counted %+v", name, c)
			}
		}
	}
}

// TestCrewWaits: no member is done while leaves of another wait, and those that are
// cancelled are searched by who is still there.
func TestCrewWaits(t *testing.T) {
	s := New(config(20), nil)
	s.Begin(nil, false)
	visit := func() {
		b := encoding.NewBatch(1)
		s.Gather(b, 1)
		_ = (&HashEvaluator{}).Evaluate(t.Context(), b)
		s.Apply(b)
	}
	for range 16 {
		visit()
	}
	others := s.Split(1)
	others[0].Gather(encoding.NewBatch(5), 5) // the last ones
	visit()
	if s.Done() || others[0].Done() {
		t.Error("done, and leaves wait")
	}
	others[0].Cancel()
	for range 5 {
		visit()
	}
	if n := s.Root().N; !s.Done() || !others[0].Done() || n != 21 {
		t.Errorf("done %v, %v with %d visits", s.Done(), others[0].Done(), n)
	}
	s.Join(others)
	check(t, s)
}

// TestCrewCancels: leaves that wait when a search is ended leave no trace.
func TestCrewCancels(t *testing.T) {
	s := New(config(0), nil)
	s.Begin(nil, false)
	b := encoding.NewBatch(1)
	s.Gather(b, 1)
	_ = (&HashEvaluator{}).Evaluate(t.Context(), b)
	s.Apply(b)
	others := s.Split(2)
	for _, m := range append(others, s) {
		if m.Gather(encoding.NewBatch(5), 5) == 0 {
			t.Error("no leaf")
		}
	}
	s.Cancel()
	s.Join(others)
	check(t, s)
	if n := s.Root().N; n != 1 {
		t.Errorf("%d visits", n)
	}
}
