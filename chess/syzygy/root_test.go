package syzygy

import (
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// kept returns the kept moves in UCI notation with their distances.
func kept(t *testing.T, tables *Tables, h *chess.History) map[string]int {
	t.Helper()
	moves, ok := tables.RankRoot(h)
	if !ok {
		t.Fatalf("%s is not known: %v", h.Board().FEN(), tables.Err())
	}
	all := map[string]int{}
	for _, m := range moves {
		if m.Kept {
			all[h.Board().UCI(m.Move, false)] = m.DTZ
		}
	}
	return all
}

// TestRankRootSavesByFiftyMoves: near the end of the 50-move rule only the longest
// resistance is kept.
func TestRankRootSavesByFiftyMoves(t *testing.T) {
	b := parse(t, "8/8/8/8/8/8/2Rk4/1K6 b - - 69 71")
	check := func(tables *Tables) {
		got := kept(t, tables, chess.NewHistory(*b))
		if _, ok := got["d2d3"]; !ok || len(got) != 1 {
			t.Errorf("kept %v, want d2d3 alone", got)
		}
	}
	own, err := Open(writeTables(t))
	if err != nil {
		t.Fatal(err)
	}
	check(own)
	check(openShared(t))
}

// TestRankRootWins: every winning move is kept while there is time, only the
// fastest near the end or after a repetition.
func TestRankRootWins(t *testing.T) {
	own, err := Open(writeTables(t))
	if err != nil {
		t.Fatal(err)
	}
	early := chess.NewHistory(*parse(t, "k7/8/2K5/8/8/8/8/7R w - - 0 1"))
	many := kept(t, own, early)
	if len(many) < 5 {
		t.Errorf("early: kept %v, want every winning move", many)
	}
	late := kept(t, own, chess.NewHistory(*parse(t, "k7/8/2K5/8/8/8/8/7R w - - 97 80")))
	for m, dtz := range late {
		if dtz != 3 || many[m] != 3 {
			t.Errorf("late: %s in %d plies kept", m, dtz)
		}
	}
	if len(late) == 0 || len(late) >= len(many) {
		t.Errorf("late: kept %v of %v", late, many)
	}
	for _, m := range []string{"h1h2", "a8a7", "h2h1", "a7a8"} {
		push(t, early, m)
	}
	repeated := kept(t, own, early)
	for m, dtz := range repeated {
		if dtz != 3 {
			t.Errorf("after a repetition: %s in %d plies kept", m, dtz)
		}
	}
	if len(repeated) != len(late) {
		t.Errorf("after a repetition: kept %v, want %v", repeated, late)
	}
}

// TestRankRootTakesMateAndDraw: a mate has distance 1, and a side that can take the
// last man draws.
func TestRankRootTakesMateAndDraw(t *testing.T) {
	own, err := Open(writeTables(t))
	if err != nil {
		t.Fatal(err)
	}
	moves, ok := own.RankRoot(chess.NewHistory(*parse(t, "k7/8/1K6/8/8/8/8/7R w - - 99 90")))
	if !ok {
		t.Fatal("not known")
	}
	for _, m := range moves {
		want := 0 // the rule ends the game
		if m.Move.String() == "h1h8" {
			want = 1
		}
		if m.DTZ != want || m.Kept != (want == 1) {
			t.Errorf("%v: DTZ %d kept %v", m.Move, m.DTZ, m.Kept)
		}
	}
	got := kept(t, own, chess.NewHistory(*parse(t, "8/8/8/8/8/2k5/1R6/7K b - - 3 9")))
	if dtz, ok := got["c3b2"]; !ok || dtz != 0 || len(got) != 1 {
		t.Errorf("kept %v, want the rook taken", got)
	}
}

func push(t *testing.T, h *chess.History, uci string) {
	t.Helper()
	m, err := h.Board().ParseUCI(uci)
	if err != nil {
		t.Fatal(err)
	}
	h.Push(m)
}
