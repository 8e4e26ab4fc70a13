package arena

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// scored is a player with fixed scores, by the full move.
type scored struct {
	chooser
	score func(move int) (int, bool)
}

// scoring returns a player that moves randomly.
func scoring(score func(move int) (int, bool)) Player {
	return &scored{*Random().(*chooser), score}
}

func (s *scored) NewTable(int) (Table, error) { return &scoredTable{s}, nil }

type scoredTable struct{ player *scored }

func (t *scoredTable) NewSeat() Seat {
	return &scoredSeat{Seat: t.player.chooser.NewSeat(), player: t.player}
}
func (t *scoredTable) Round(context.Context) error { return nil }

type scoredSeat struct {
	Seat
	player *scored
}

func (s *scoredSeat) Step(line *chess.History, legal *chess.MoveList) (Answer, bool) {
	a, ok := s.Seat.Step(line, legal)
	a.Score, a.Scored = s.player.score(line.Board().FullMove())
	return a, ok
}

func always(cp int) func(int) (int, bool) { return func(int) (int, bool) { return cp, true } }

func never(int) (int, bool) { return 0, false }

// TestAdjudication plays games whose scores call for an end.
func TestAdjudication(t *testing.T) {
	a := Adjudication{ResignScore: 500, ResignMoves: 3, DrawScore: 20, DrawMoves: 5, DrawFromMove: 10}
	o := openings(t, 4) // of 8 plies: the first move to be scored is move 5
	for _, c := range []struct {
		name   string
		scores [2]func(int) (int, bool)
		end    End // "" = none of the adjudications
		result int // player 1's
		plies  [2]int
	}{
		{"player 1 is lost", [2]func(int) (int, bool){always(-500), always(500)}, EndResign, -1, [2]int{8 + 5, 8 + 6}},
		{"player 2 is lost", [2]func(int) (int, bool){always(9000), always(-800)}, EndResign, 1, [2]int{8 + 6, 8 + 5}},
		{"no scores beside", [2]func(int) (int, bool){never, always(-800)}, EndResign, 1, [2]int{8 + 6, 8 + 5}},
		{"the winner does not agree", [2]func(int) (int, bool){always(400), always(-800)}, "", 0, [2]int{}},
		{"the loser does not agree", [2]func(int) (int, bool){always(900), always(-499)}, "", 0, [2]int{}},
		{"even", [2]func(int) (int, bool){always(20), always(-20)}, EndDrawScore, 0, [2]int{28, 28}}, // moves 10 to 14
		{"even, one has no scores", [2]func(int) (int, bool){never, always(0)}, "", 0, [2]int{}},
		{"not even", [2]func(int) (int, bool){always(21), always(0)}, "", 0, [2]int{}},
	} {
		cfg := Config{Openings: o, Seed: 1, MaxPlies: 50, Adjudicate: a}
		for i := range cfg.Players {
			cfg.Players[i] = scoring(c.scores[i])
		}
		adjudicated := 0
		for _, g := range play(t, cfg).Games {
			if g.End == EndResign || g.End == EndDrawScore {
				adjudicated++
				if g.End != c.end || g.Result(0) != c.result || len(g.Moves) != c.plies[g.White] {
					t.Errorf("%s: game %d: %s, result %d after %d plies, want %s %d %d", c.name, g.Number, g.End, g.Result(0), len(g.Moves), c.end, c.result, c.plies[g.White])
				}
				if got := terminations[g.End]; got != "adjudication" {
					t.Errorf("termination %q", got)
				}
			}
		}
		if c.end != "" && adjudicated < 6 || c.end == "" && adjudicated > 0 {
			t.Errorf("%s: %d of 8 games adjudicated", c.name, adjudicated)
		}
	}
}

// TestVerdicts compares the counts with what the whole list of scores says, on
// random lists.
func TestVerdicts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	type scoredMove struct {
		score, move int
		ok          bool
	}
	ends := map[End]int{}
	for range 3000 {
		a := Adjudication{ResignScore: 100, ResignMoves: rng.IntN(4), DrawScore: 30, DrawMoves: rng.IntN(4), DrawFromMove: rng.IntN(8)}
		known := 0.5 + rng.Float64()
		level := rng.IntN(3)
		var lists [2][]scoredMove
		last := func(p, n int, holds func(scoredMove) bool) bool { // of the newest n moves
			if len(lists[p]) < n {
				return false
			}
			for _, m := range lists[p][len(lists[p])-n:] {
				if !m.ok || !holds(m) {
					return false
				}
			}
			return true
		}
		var v verdicts
		for ply := range 30 {
			p, m := ply%2, scoredMove{move: 1 + ply/2, ok: rng.Float64() < known}
			m.score = rng.IntN(80) - 40
			if level > 0 && rng.IntN(8) > 0 { // player 0 is behind
				m.score += (2*p - 1) * 150
			}
			lists[p] = append(lists[p], m)
			v.note(&a, p, m.score, m.ok, m.move)
			var want End
			loser := -1
			for p := range 2 {
				o := lists[1-p]
				agreed := len(o) == 0 || !o[len(o)-1].ok || last(1-p, max(1, a.ResignMoves-1), func(m scoredMove) bool { return m.score >= 100 })
				if want == "" && a.ResignMoves > 0 && agreed && last(p, a.ResignMoves, func(m scoredMove) bool { return m.score <= -100 }) {
					want, loser = EndResign, p
				}
			}
			even := func(m scoredMove) bool { return m.score >= -30 && m.score <= 30 && m.move >= a.DrawFromMove }
			if want == "" && a.DrawMoves > 0 && last(0, a.DrawMoves, even) && last(1, a.DrawMoves, even) {
				want = EndDrawScore
			}
			if gotLoser, got := v.end(&a); got != want || gotLoser != loser {
				t.Fatalf("%+v after %v: %q for player %d, want %q for %d", a, lists, got, gotLoser, want, loser)
			}
			ends[want]++
		}
	}
	if ends[EndResign] < 100 || ends[EndDrawScore] < 100 || ends[""] < 100 {
		t.Errorf("ends %v: the test is one-sided", ends)
	}
}

// fewMen knows the positions of up to so many men: who has more of them wins.
type fewMen int

func (n fewMen) Probe(b *chess.Board) (wdl int, ok bool) {
	if b.Rule50() != 0 {
		panic("asked in the middle of the fifty moves")
	}
	ours, theirs := bits.OnesCount64(b.OurMen()), bits.OnesCount64(b.Occupied()&^b.OurMen())
	return max(-1, min(1, ours-theirs)), ours+theirs <= int(n)
}

// TestTablebase: a game ends at the first position that the tables know, with
// their result.
func TestTablebase(t *testing.T) {
	cfg := Config{Players: [2]Player{Random(), Greedy()}, Openings: openings(t, 20), Seed: 4, Adjudicate: Adjudication{Tablebase: fewMen(20)}}
	known := 0
	for _, g := range play(t, cfg).Games {
		h := chess.NewHistory(g.Start)
		for ply, m := range g.Moves {
			h.Push(m)
			b := h.Board()
			over := bits.OnesCount64(b.Occupied()) <= 20 && b.Rule50() == 0 && !b.MayCastle()
			if at := ply == len(g.Moves)-1; over != (at && g.End == EndTablebase) && g.End != EndCheckmate {
				t.Fatalf("game %d ended by %s at ply %d of %d; ply %d: %s", g.Number, g.End, len(g.Moves), len(g.Moves), ply, b.FEN())
			}
		}
		if g.End != EndTablebase {
			continue
		}
		known++
		own, other := bits.OnesCount64(h.Board().OurMen()), bits.OnesCount64(h.Board().Occupied()&^h.Board().OurMen())
		want := int8(max(-1, min(1, own-other)))
		if h.Board().SideToMove() == chess.Black {
			want = -want
		}
		if g.WhiteResult != want {
			t.Errorf("game %d: result %d, want %d", g.Number, g.WhiteResult, want)
		}
	}
	if known < 10 {
		t.Errorf("only %d of 40 games by the tables", known)
	}
}

// TestAdjudicationErrors holds what is refused.
func TestAdjudicationErrors(t *testing.T) {
	for want, a := range map[string]Adjudication{
		"none may be negative":         {DrawMoves: -1},
		"needs a score above 0":        {ResignMoves: 3},
		"draw score -1 for 3 moves fr": {DrawScore: -1, DrawMoves: 3},
	} {
		_, err := Play(context.Background(), Config{Players: [2]Player{Random(), Greedy()}, Openings: openings(t, 1), Adjudicate: a})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", a, err, want)
		}
	}
}
