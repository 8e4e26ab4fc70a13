package selfplay

import (
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// resignGame is a game that was played on: white or black was hopeless at ply
// 1 (black to move), with the given result.
func resignGame(q float32, result int8) *record.Game {
	g := &record.Game{Flags: record.ResignDisabled, WhiteResult: result, Plies: make([]record.Ply, 3)}
	for i := range g.Plies {
		g.Plies[i].Root = encoding.UnknownQDM
	}
	g.Plies[1].Root.Q, g.Plies[1].Flags, g.Plies[2].Flags = q, record.PlayedOn, record.PlayedOn
	return g
}

func TestFalseResign(t *testing.T) {
	for _, c := range []struct {
		q      float32
		result int8
		wrong  bool
	}{
		{-0.97, 1, false}, // black would have resigned, and lost
		{-0.97, 0, true}, {-0.97, -1, true},
		{0.97, -1, false}, // white would have
		{0.97, 0, true}, {0.97, 1, true},
	} {
		if wrong, tested := falseResign(resignGame(c.q, c.result)); !tested || wrong != c.wrong {
			t.Errorf("q %v, result %d: false %v, tested %v", c.q, c.result, wrong, tested)
		}
	}
	black := resignGame(-0.97, -1)
	black.Start = "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1" // ply 1 is white's
	if wrong, tested := falseResign(black); !tested || wrong {
		t.Errorf("black begins: false %v, tested %v", wrong, tested)
	}
	if _, tested := falseResign(&record.Game{Flags: record.ResignDisabled, Plies: make([]record.Ply, 2)}); tested {
		t.Error("nobody would have resigned")
	}
	played := resignGame(-0.97, 0)
	played.Flags = 0
	if _, tested := falseResign(played); tested {
		t.Error("the game was not one that is played on")
	}
}

func TestResignWatch(t *testing.T) {
	q, maxFalse := -0.9, 0.05
	c := Resign{Q: q, PlayThrough: 0.1}
	var w ResignWatch
	if r := w.Rule(c); !r.Enabled || r.Q != q || r.PlayThrough != 1 {
		t.Errorf("at the start nobody may resign yet: %+v", r)
	}
	for i := range 19 { // good ones, then bad ones
		if w.Count(resignGame(-0.97, 1-int8(min(i/18, 1))), maxFalse) {
			t.Fatalf("moved after %d games", i+1)
		}
	}
	if !w.Count(resignGame(-0.97, 0), maxFalse) || w.Q != -0.95 {
		t.Errorf("2 of 20 are false: %+v", w)
	}
	if r := w.Rule(c); r.Q != -0.95 {
		t.Errorf("rule %+v", r)
	}
	for range 1000 {
		w.Count(resignGame(-0.97, 0), maxFalse)
	}
	if r := w.Rule(c); r.Enabled || w.Tested != 1020 || w.False != 1002 {
		t.Errorf("all are false, yet %+v; %+v", r, w)
	}
	q = -0.8
	c.Q = q
	if r := w.Rule(c); !r.Enabled || r.Q != -0.8 {
		t.Errorf("a new threshold of the user's: %+v", r)
	}
	w = ResignWatch{}
	w.Rule(c)
	for i := range 2000 {
		if changed := w.Count(resignGame(-0.97, 1-int8(i%25/24)), maxFalse); changed != (i == 19) {
			t.Fatalf("4 %% are false, 5 %% are allowed: changed %v after %d games: %+v", changed, i+1, w)
		}
	}
	if r := w.Rule(c); r.PlayThrough != c.PlayThrough || r.Q != q {
		t.Errorf("trusted, yet %+v", r)
	}
	for range 20 { // now the net changes and they are all false
		w.Count(resignGame(-0.97, 0), maxFalse)
	}
	if r := w.Rule(c); r.PlayThrough != 1 || r.Q >= q {
		t.Errorf("trust is lost, yet %+v", r)
	}
}
