package record

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

func TestValidateAccepts(t *testing.T) {
	if err := sampleGame(t).Validate(); err != nil {
		t.Errorf("sample game: %v", err)
	}
	for seed := range uint64(10) {
		if err := randomGame(t, seed, roundTripStarts[seed%5], 40).Validate(); err != nil {
			t.Errorf("random game %d: %v", seed, err)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	nan := float32(math.NaN())
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name   string
		ply    int
		field  string
		reason string
		change func(g *Game)
	}{
		{"FEN", -1, "start", "", func(g *Game) { g.Start = "8/8/8/8/8/8/8/8 w - - 0 1" }},
		{"long FEN", -1, "start", "256 bytes", func(g *Game) { g.Start = strings.Repeat("8", 256) }},
		{"net id", -1, "net id", "UTF-8", func(g *Game) { g.NetID = "\xff" }},
		{"game flags", -1, "flags", "unknown", func(g *Game) { g.Flags = 1 << 15 }},
		{"end reason", -1, "end", "unknown", func(g *Game) { g.End = numEndReasons }},
		{"result", -1, "result", "-1, 0 or 1", func(g *Game) { g.WhiteResult = 2 }},
		{"illegal move", 2, "move", "not legal", func(g *Game) { g.Plies[2].Move = g.Plies[0].Move }},
		{"no move", 0, "move", "not legal", func(g *Game) { g.Plies[0].Move = 0 }},
		{"kind", 1, "policy", "unknown kind", func(g *Game) { g.Plies[1].Kind = 3 }},
		{"short counts", 0, "counts", "19 entries, want 20", func(g *Game) { g.Plies[0].Counts = g.Plies[0].Counts[:19] }},
		{"counts of another kind", 2, "counts", "20 entries, want 0", func(g *Game) { g.Plies[2].Counts = make([]uint32, 20) }},
		{"no visits", 3, "counts", "no move", func(g *Game) { clear(g.Plies[3].Counts) }},
		{"long probs", 1, "probs", "21 entries, want 20", func(g *Game) { g.Plies[1].Probs = append(g.Plies[1].Probs, 0) }},
		{"probs sum", 1, "probs", "sum", func(g *Game) { g.Plies[1].Probs[0] += 0.01 }},
		{"probs NaN", 1, "probs", "entry 2", func(g *Game) { g.Plies[1].Probs[2] = nan }},
		{"probs below 0", 1, "probs", "entry 2", func(g *Game) { g.Plies[1].Probs[2] = -0.1 }},
		{"Q", 0, "root", "Q is 1.5", func(g *Game) { g.Plies[0].Root.Q = 1.5 }},
		{"D", 1, "best", "D is -0.5", func(g *Game) { g.Plies[1].Best.D = -0.5 }},
		{"Q and D", 2, "played", "negative", func(g *Game) { g.Plies[2].Played.Q, g.Plies[2].Played.D = 0.75, 0.5 }},
		{"M", 3, "orig", "M is -1", func(g *Game) { g.Plies[3].Orig.M = -1 }},
		{"infinite M", 3, "orig", "Inf", func(g *Game) { g.Plies[3].Orig.M = inf }},
		{"weight", 0, "weight", "NaN", func(g *Game) { g.Plies[0].Weight = nan }},
		{"negative weight", 0, "weight", "-1", func(g *Game) { g.Plies[0].Weight = -1 }},
		{"kld", 0, "kld", "NaN", func(g *Game) { g.Plies[0].KLD = nan }},
		{"ply flags", 0, "flags", "unknown", func(g *Game) { g.Plies[0].Flags = 1 << 7 }},
		{"resign after mate", -1, "end", "legal move", func(g *Game) { g.End = EndResign }},
		{"wrong winner", -1, "result", "want -1", func(g *Game) { g.WhiteResult = 1 }},
		{"no winner", -1, "result", "want -1", func(g *Game) { g.WhiteResult, g.End = 0, EndUnknown }},
		{"not stalemate", -1, "end", "stalemated", func(g *Game) { g.End = EndStalemate }},
		{"not over", -1, "end", "not mated", func(g *Game) { g.Plies = g.Plies[:3] }},
	} {
		g := sampleGame(t)
		c.change(g)
		err := g.Validate()
		var inv *InvalidError
		if !errors.As(err, &inv) {
			t.Errorf("%s: %v, want an InvalidError", c.name, err)
			continue
		}
		if inv.Ply != c.ply || inv.Field != c.field || !strings.Contains(inv.Reason, c.reason) {
			t.Errorf("%s: %v, want ply %d, %s, %q", c.name, err, c.ply, c.field, c.reason)
		}
		if _, err := Append(nil, g); err == nil {
			t.Errorf("%s: Append accepts what Validate refuses", c.name)
		}
	}
	bad := &Game{Start: "x"}
	var fen *chess.FENError
	if err := bad.Validate(); !errors.As(err, &fen) {
		t.Errorf("a bad FEN gives %v, want a *chess.FENError inside", err)
	}
}

// The end reason and the result must be what the final position says.
func TestValidateEnd(t *testing.T) {
	shuffle := []string{"g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6", "f3g1", "f6g8"}
	const (
		stalemate = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"
		fifty     = "8/8/4k3/8/8/4K3/8/7R b - - 100 80"
		bare      = "8/8/4k3/8/8/4K3/8/7B b - - 3 80"
	)
	for _, c := range []struct {
		start  string
		moves  []string
		end    EndReason
		result int8
		ok     bool
	}{
		{"", shuffle, EndRepetition, 0, true},
		{"", shuffle, EndRepetition, 1, false},
		{"", shuffle[:4], EndRepetition, 0, false},
		{"", shuffle, EndUnknown, 1, true},
		{stalemate, nil, EndStalemate, 0, true},
		{stalemate, nil, EndStalemate, 1, false},
		{stalemate, nil, EndCheckmate, 1, false},
		{stalemate, nil, EndAborted, 0, false},
		{fifty, nil, EndFiftyMoves, 0, true},
		{fifty, nil, EndMaterial, 0, false},
		{bare, nil, EndMaterial, 0, true},
		{bare, nil, EndFiftyMoves, 0, false},
		{"", shuffle[:1], EndResign, -1, true},
		{"", shuffle[:1], EndResign, 0, false},
		{"", shuffle[:1], EndTablebase, 1, true},
		{"", shuffle[:1], EndMaxPlies, 0, true},
		{"", shuffle[:1], EndAborted, 0, true},
		{"", shuffle[:1], EndAborted, 1, false},
	} {
		g := playedGame(t, c.start, c.moves...)
		g.End, g.WhiteResult = c.end, c.result
		if err := g.Validate(); (err == nil) != c.ok {
			t.Errorf("%q %v %s %+d: %v, want ok = %v", c.start, c.moves, c.end, c.result, err, c.ok)
		}
	}
}

// playedGame makes a game without policies from UCI moves.
func playedGame(t testing.TB, start string, moves ...string) *Game {
	t.Helper()
	g := &Game{Start: start}
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range moves {
		m, err := b.ParseUCI(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		g.Plies = append(g.Plies, Ply{Move: m, Weight: 1})
		b.Make(m)
	}
	return g
}

func TestEndReasonNames(t *testing.T) {
	seen := map[string]bool{}
	for e := range numEndReasons {
		if e.String() == "" || seen[e.String()] {
			t.Errorf("reason %d has name %q", e, e)
		}
		seen[e.String()] = true
	}
	if len(seen) != 10 || EndMaxPlies.String() != "max-plies" || EndReason(99).String() != "EndReason(99)" {
		t.Errorf("names: %v", seen)
	}
}

func TestCloneIsDeep(t *testing.T) {
	g := sampleGame(t)
	c := g.Clone()
	c.Plies[0].Counts[0]++
	c.Plies[1].Probs[0]++
	c.Plies[2].Weight++
	c.Extra[0]++
	if !equalGames(g, sampleGame(t)) {
		t.Error("changing a clone changed the game")
	}
}
