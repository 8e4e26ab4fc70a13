package rescore

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/record"
)

// listed are tables of a few positions, by FEN without counters.
type listed map[string]struct{ wdl, dtz int }

func (l listed) find(b *chess.Board) (wdl, dtz int, ok bool) {
	fen := b.FEN()
	spaces := 0
	for i := range fen {
		if fen[i] == ' ' {
			if spaces++; spaces == 2 {
				e, ok := l[fen[:i]]
				return e.wdl, e.dtz, ok
			}
		}
	}
	return 0, 0, false
}

func (l listed) WDL(b *chess.Board) (int, bool) {
	wdl, _, ok := l.find(b)
	return wdl, ok
}

func (l listed) DTZ(b *chess.Board) (int, bool) {
	_, dtz, ok := l.find(b)
	return dtz, ok && dtz != 0
}

// White wins a rook ending in the game, but captured into a lost position at
// ply 1 and back into a drawn one at ply 3: each capture decides the positions
// up to it, and what is behind the last one stays the game's.
func TestSyzygyWDLPass(t *testing.T) {
	g := played(t, "4k3/8/8/3pr3/3B4/8/8/R3K3 w - - 7 40",
		"d4e5", // capture: rule50 = 0, black to move
		"d5d4", // pawn move
		"e5d4", // capture
		"e8d7", "e1d2", "d7c6")
	g.WhiteResult = 1
	at := func(ply int) string {
		b, _ := g.StartBoard()
		for i := range ply {
			b.Make(g.Plies[i].Move)
		}
		fen := b.FEN()
		return fen[:len(fen)-len(afterSide(fen))]
	}
	tables := listed{
		at(1): {wdl: 2},  // black to move wins
		at(3): {wdl: -1}, // black to move is lost but for the fifty moves: a draw
	}
	out := rescored(t, Syzygy{tables}, g)
	wantResults(t, "blunders", out,
		encoding.QDM{Q: -1, M: 6}, encoding.QDM{Q: 1, M: 5}, // up to ply 1
		encoding.QDM{D: 1, M: 4}, encoding.QDM{D: 1, M: 3}, // up to ply 3
		encoding.QDM{Q: 1, M: 2}, encoding.QDM{Q: -1, M: 1})
	if out.WhiteResult != 1 || out.End != g.End {
		t.Errorf("the game's own result became %d, %v", out.WhiteResult, out.End)
	}
	if same := rescored(t, Syzygy{listed{at(1): {wdl: -2}}}, g); same != g {
		t.Errorf("tables that agree change %+v", same.Results)
	}
	if same := rescored(t, Syzygy{listed{}}, g); same != g {
		t.Errorf("tables that know nothing change %+v", same.Results)
	}
}

// afterSide returns what follows the second field of a FEN.
func afterSide(fen string) string {
	spaces := 0
	for i := range fen {
		if fen[i] == ' ' {
			if spaces++; spaces == 2 {
				return fen[i:]
			}
		}
	}
	return ""
}

// rule50 + |DTZ| against 100: below decided, above drawn, at 100 only what
// contradicts becomes a draw.
func TestSyzygyDTZPass(t *testing.T) {
	const fen = "8/8/8/8/8/8/2Rk4/1K6 b - - 69 71" // lost, DTZ -32
	for _, c := range []struct {
		rule50 string
		dtz    int
		result int8 // of the game, white's
		q, d   float32
	}{
		{"66", -32, 0, -1, 0}, {"67", -32, 0, -1, 0}, {"67", -32, -1, -1, 0},
		{"68", -32, 0, 0, 1}, {"68", -32, 1, -1, 0}, {"68", -32, -1, 0, 1},
		{"69", -32, 1, 0, 1}, {"69", -32, -1, 0, 1},
		{"20", 0, 1, -1, 0}, {"20", 0, -1, 0, 1}, {"20", 0, 0, 0, 1}, // DTZ not known
	} {
		g := played(t, "8/8/8/8/8/8/2Rk4/1K6 b - - "+c.rule50+" 71", "d2d3")
		g.WhiteResult = c.result
		tables := listed{"8/8/8/8/8/8/2Rk4/1K6 b": {wdl: -2, dtz: c.dtz}}
		got := rescored(t, Syzygy{tables}, g).ResultAt(0)
		if got.Q != c.q || got.D != c.d {
			t.Errorf("rule50 %s, DTZ %d, result %+d: Q %g D %g, want %g %g", c.rule50, c.dtz, c.result, got.Q, got.D, c.q, c.d)
		}
	}
	b := chesstest.Board(t, fen)
	if wdl, dtz, ok := solveOnce().find(&b); wdl != -2 || dtz != -32 || !ok {
		t.Errorf("the solver says %d, %d, %v", wdl, dtz, ok)
	}
}

// Plies left count to the mate that perfect play would give, from the last
// exact position of the game back to its start.
func TestSyzygyPliesLeft(t *testing.T) {
	tables := solveOnce()
	// King and pawn; the pawn queens at ply 2, and two more moves are played.
	g := played(t, "8/4P1k1/8/6K1/8/8/8/8 w - - 4 60", "g5f5", "g7h7", "e7e8q", "h7g7", "e8e7")
	g.WhiteResult = 1
	out := rescored(t, Syzygy{tables}, g)
	b, _ := g.StartBoard()
	var want []float32
	for i := range g.Plies {
		plies := float32(math.NaN())
		if _, n, ok := tables[chess.Queen].Probe(&b); ok {
			plies = float32(n)
		}
		want = append(want, plies)
		b.Make(g.Plies[i].Move)
	}
	if want[3] != want[3] || want[4] != want[4] || want[2] == want[2] {
		t.Fatalf("not the ending it should be: %v", want)
	}
	want[2], want[1], want[0] = want[3]+1, want[3]+2, want[3]+3
	for i, w := range want {
		if got := out.ResultAt(i).M; got != w {
			t.Errorf("ply %d: M %g, want %g", i, got, w)
		}
	}
}

// TestSyzygyAgainstReference plays random endings and holds each position's
// outcome against the definition, looked up forwards.
func TestSyzygyAgainstReference(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	tables := solveOnce()
	changed := 0
	for i := range 300 {
		start := []string{
			"8/8/8/3k4/8/8/3p4/R3K3 w Q - 0 1", "8/2k5/8/8/8/8/4P3/4K3 w - - 0 1", "8/8/4k3/8/8/1q6/7R/K7 w - - 30 60",
			"8/8/8/8/4k3/8/1K5R/8 b - - 70 90", "4k3/P7/8/8/8/8/5p2/K7 b - - 12 40", "8/3Q4/8/8/5k2/8/8/K7 w - - 91 90",
		}[i%6]
		g := randomMoves(t, rng, start, 1+rng.IntN(60))
		out := rescored(t, Syzygy{tables}, g)
		if out != g {
			changed++
		}
		boards, _ := boardsOf(g)
		for ply := range g.Plies {
			q, d := lookUp(tables, g, boards, ply)
			if got := out.ResultAt(ply); got.Q != q || got.D != d {
				t.Fatalf("%s ply %d of %d, %s: Q %g D %g, want %g %g", start, ply, len(g.Plies), boards[ply].FEN(), got.Q, got.D, q, d)
			}
		}
	}
	if changed < 150 {
		t.Errorf("only %d of 300 games changed", changed)
	}
}

// lookUp is the outcome of a position by definition.
func lookUp(tables Tables, g *record.Game, boards []chess.Board, ply int) (q, d float32) {
	v := g.ResultAt(ply)
	value, found := 0, false
	for i := ply; i <= len(g.Plies) && !found; i++ {
		wdl, ok := tables.WDL(&boards[i])
		if ok && boards[i].Rule50() == 0 && !(i == len(g.Plies) && over(&boards[i])) {
			value, found = wdl/2, true
			if (i-ply)%2 == 1 {
				value = -value
			}
		}
	}
	if b := &boards[ply]; b.Rule50() > 0 {
		if wdl, ok := tables.WDL(b); ok {
			dtz, known := tables.DTZ(b)
			total := abs(dtz) + b.Rule50()
			current := v.Q
			if found {
				current = float32(value)
			}
			switch {
			case wdl == 0 || known && total > 100:
				value, found = 0, true
			case known && total < 100:
				value, found = wdl/2, true
			case current == -float32(wdl/2):
				value, found = 0, true
			}
		}
	}
	if !found {
		return v.Q, v.D
	}
	return float32(value), float32(1 - abs(value))
}

// A game that ended by the rules at the tables' doorstep keeps its end.
func TestSyzygyTerminal(t *testing.T) {
	g := played(t, "8/8/8/8/8/5kq1/6P1/7K b - - 0 1", "g3g2")
	g.End, g.WhiteResult = record.EndCheckmate, -1
	wrong := Syzygy{listed{"8/8/8/8/8/5k2/6q1/7K w": {wdl: 2}}}
	if out := rescored(t, wrong, g); out != g {
		t.Errorf("the final position was asked of the tables: %+v", out.Results)
	}
}

// An aborted game gets the outcomes that the tables know.
func TestSyzygyAborted(t *testing.T) {
	g := played(t, "8/8/8/3k4/8/8/8/KR6 w - - 0 1", "b1b5")
	g.End = record.EndAborted
	out := rescored(t, Syzygy{solveOnce()}, g)
	if got := out.ResultAt(0); got.Q != 1 || got.D != 0 || !(got.M > 0) {
		t.Errorf("result %+v, want a win", got)
	}
}

// broken are tables that have lost a file.
type broken struct{ solved }

func (broken) Err() error { return errors.New("KRvK.rtbw is damaged") }

func TestChainErr(t *testing.T) {
	c := Chain{Identity{}, Syzygy{broken{}}, PolicyTemperature{}, Deblunder{}}
	if err := c.Err(); err == nil || err.Error() != "rescorer syzygy: KRvK.rtbw is damaged" {
		t.Errorf("Err = %v", err)
	}
	if err := (Chain{Syzygy{solved{}}}).Err(); err != nil {
		t.Errorf("Err = %v", err)
	}
}

// The files and the solver make the same of random endings; the files' distances
// may be one less.
func TestSyzygyFiles(t *testing.T) {
	dirs := golden.Path(t, "syzygy")
	r, err := New("syzygy", map[string]string{"paths": dirs})
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 4))
	plies, exact := 0, 0
	for i := range 200 {
		start := []string{
			"8/8/8/3k4/8/8/8/R3K3 w - - 0 1", "8/2k5/8/8/8/8/8/4K2Q w - - 20 40", "8/2k5/8/8/4q3/8/8/4K3 w - - 85 99",
			"8/3Q4/8/8/5k2/8/8/K7 w - - 60 90",
		}[i%4]
		g := randomMoves(t, rng, start, 1+rng.IntN(60))
		files, truth := rescored(t, r, g), rescored(t, Syzygy{solveOnce()}, g)
		boards, _ := boardsOf(g)
		if slices.ContainsFunc(boards, onEdge) {
			continue
		}
		for ply := range g.Plies {
			got, want := files.ResultAt(ply), truth.ResultAt(ply)
			if rounded := got.M - want.M; rounded < -1 || rounded > 0 {
				t.Fatalf("%s: M %g, want %g", boards[ply].FEN(), got.M, want.M)
			}
			if got.Q != want.Q || got.D != want.D {
				t.Fatalf("%s: %+v, want %+v", boards[ply].FEN(), got, want)
			}
			plies++
			exact += one(got == want)
		}
	}
	t.Logf("%d positions, %d exactly equal", plies, exact)
	if plies < 1000 || exact < plies/2 {
		t.Errorf("only %d of %d positions are exactly equal", exact, plies)
	}
}

// onEdge says whether one ply of rounding decides the result.
func onEdge(b chess.Board) bool {
	_, dtz, ok := solveOnce().find(&b)
	total := abs(dtz) + b.Rule50()
	return ok && dtz != 0 && total >= 98 && total <= 101
}
