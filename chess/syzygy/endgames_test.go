package syzygy

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

var threeMen = []string{"KQvK", "KRvK", "KBvK", "KNvK", "KPvK"}

// three holds the endings of three men.
var three = sync.OnceValue(func() *Endgames {
	e := NewEndgames()
	if err := e.Solve(threeMen...); err != nil {
		panic(err)
	}
	return e
})

// prober is what tables and solved endings have in common.
type prober interface {
	WDL(b *chess.Board) (int, bool)
	DTZ(b *chess.Board) (int, bool)
}

// sweep holds a prober against every position of a solved ending.
func sweep(t *testing.T, p prober, e *Endgames, name string) (numPositions, numEnPassant int) {
	t.Helper()
	for s := range e.All(name) {
		numPositions++
		if s.Board.EnPassant() != chess.NoSquare {
			numEnPassant++
		}
		if !agrees(t, p, &s) {
			break
		}
	}
	return numPositions, numEnPassant
}

// agrees compares one position: WDL exactly, DTZ within the 1 ply that tables
// round. A mismatch is reported.
func agrees(t *testing.T, p prober, s *Solved) bool {
	t.Helper()
	wdl, ok := p.WDL(&s.Board)
	dtz, known := p.DTZ(&s.Board)
	if !ok || !known || wdl != s.WDL || dtz-s.DTZ > 1 || s.DTZ-dtz > 1 {
		t.Errorf("%s: WDL %d %v DTZ %d %v, solved %d %d", s.Board.FEN(), wdl, ok, dtz, known, s.WDL, s.DTZ)
		return false
	}
	return true
}

// TestThreeMenEqualTables holds solver and table files against each other on every
// position of three men.
func TestThreeMenEqualTables(t *testing.T) {
	tables := openShared(t)
	for _, name := range threeMen {
		n, _ := sweep(t, tables, three(), name)
		t.Logf("%s: %d positions", name, n)
	}
}

// TestSolverFacts holds the solver against known values, without files.
func TestSolverFacts(t *testing.T) {
	e, known := three(), 0
	for _, c := range facts {
		b := parse(t, c.fen)
		wdl, ok := e.WDL(b)
		if !ok {
			continue // four men
		}
		known++
		if dtz, _ := e.DTZ(b); wdl != c.wdl || dtz != c.dtz {
			t.Errorf("%s: %d %d, want %d %d", c.fen, wdl, dtz, c.wdl, c.dtz)
		}
	}
	if known != 6 {
		t.Errorf("%d of the facts have three men, want 6", known)
	}
	for name, plies := range map[string]int{"KQvK": 19, "KRvK": 31, "KBvK": 0, "KNvK": 0, "KQvKQ": -1} {
		if got := e.Longest(name); got != plies {
			t.Errorf("%s: longest win %d plies, want %d", name, got, plies)
		}
	}
	legal := 0
	men, _ := parseMaterial("KRvK")
	for _, v := range e.solved[men.key()].values {
		if v != valueIllegal {
			legal++
		}
	}
	if want := (175_168 + 223_944) / 4; legal != want {
		t.Errorf("%d legal positions of KRK up to mirroring, want %d (Edwards' counts)", legal, want)
	}
	if err := e.Solve("KQvKQR"); err == nil {
		t.Error("five men are solved")
	}
}

// TestSolversAgree holds the results against the distances to mate of Solve; with
// a queen or a rook alone the two distances are the same.
func TestSolversAgree(t *testing.T) {
	for piece, table := range winning() {
		for p := range table.All {
			wdl, ok := three().WDL(&p.Board)
			if !ok || wdl != 2*p.WDL {
				t.Fatalf("%s: %d %v, mate solver %d", p.Board.FEN(), wdl, ok, p.WDL)
			}
			dtz, _ := three().DTZ(&p.Board)
			if piece == chess.Pawn || p.Plies == 0 && p.WDL < 0 {
				continue
			}
			// A lost side that may only take the last man draws, so no zeroing move
			// comes before the mate.
			if dtz != p.Plies*p.WDL {
				t.Fatalf("%s: DTZ %d, mate in %d", p.Board.FEN(), dtz, p.Plies)
			}
		}
	}
}

// TestValuesFollowFromMoves draws positions and derives their values from those
// after each move, by the rules of package chess.
func TestValuesFollowFromMoves(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, name := range threeMen {
		for range 3000 {
			s := three().draw(rng, name)
			if wdl, dtz := fromMoves(t, three(), &s.Board); wdl != s.WDL || dtz != s.DTZ {
				t.Fatalf("seed %d: %s: solved %d %d, from the moves %d %d", seed, s.Board.FEN(), s.WDL, s.DTZ, wdl, dtz)
			}
		}
	}
}

// TestBeyondFiftyMoves solves the pawn ending upon queen and rook endings whose
// results are changed at random to cursed and blessed ones, as no ending of four
// men has any, and derives each value from those after the moves.
func TestBeyondFiftyMoves(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	e := NewEndgames()
	if err := e.Solve("KQvK", "KRvK", "KBvK", "KNvK"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"KQvK", "KRvK"} {
		men, _ := parseMaterial(name)
		values := e.solved[men.key()].values
		for i, v := range values {
			switch {
			case v == valueDraw || v == valueIllegal || rng.IntN(3) == 0:
			case v > 0:
				values[i] += 100
			default:
				values[i] -= 100
			}
		}
	}
	if err := e.Solve("KPvK"); err != nil {
		t.Fatal(err)
	}
	seen := map[int]int{}
	for range 20000 {
		s := e.draw(rng, "KPvK")
		seen[s.WDL]++
		if wdl, dtz := fromMoves(t, e, &s.Board); wdl != s.WDL || dtz != s.DTZ {
			t.Fatalf("seed %d: %s: solved %d %d, from the moves %d %d", seed, s.Board.FEN(), s.WDL, s.DTZ, wdl, dtz)
		}
	}
	for wdl := Loss; wdl <= Win; wdl++ {
		if seen[wdl] < 100 {
			t.Errorf("seed %d: only %d positions with result %d", seed, seen[wdl], wdl)
		}
	}
}

// fromMoves is one step of minimax over the definition of DTZ.
func fromMoves(t *testing.T, p prober, b *chess.Board) (wdl, dtz int) {
	var list chess.MoveList
	b.GenerateMoves(&list)
	if list.N == 0 {
		if b.InCheck() {
			return Loss, -1
		}
		return Draw, 0
	}
	best := int16(valueIllegal)
	for _, m := range list.Slice() {
		child := *b
		child.Make(m)
		w, ok := p.WDL(&child)
		d, known := p.DTZ(&child)
		if !ok || !known {
			t.Fatalf("%s is not known", child.FEN())
		}
		v := zeroingValue(-w)
		switch {
		case b.Mates(m):
			v = 1
		case isZeroing(b, m) || w == Draw:
		case w < 0:
			v = int16(1 - d)
		default:
			v = int16(-d - 2)
		}
		if best == valueIllegal || preferable(v, best) > 0 {
			best = v
		}
	}
	return result(best), distanceOf(best)
}

// draw returns a random position of an ending, without en passant.
func (e *Endgames) draw(rng *rand.Rand, name string) Solved {
	men, err := parseMaterial(name)
	if err != nil {
		panic(err)
	}
	t := e.solved[men.key()]
	for {
		i := rng.IntN(len(t.values))
		if v := t.values[i]; v != valueIllegal {
			s := t.place(i)
			return solvedAt(&s, rng.IntN(2), -1, v)
		}
	}
}
