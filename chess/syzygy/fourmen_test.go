package syzygy

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/internal/testing/slow"
)

var everyPosition = flag.Bool("every", false, "compare every position of four men with the tables, not a sample (several minutes)")

// fourMen returns the names of all endings of four men, the stronger side first.
func fourMen() (names []string) {
	for a := chess.Pawn; a < chess.King; a++ {
		for b := chess.Pawn; b <= a; b++ {
			var both, split material
			both[0][a]++
			both[0][b]++
			split[0][a]++
			split[1][b]++
			names = append(names, both.String(), split.String())
		}
	}
	return names
}

// TestFourMenEqualTables holds solver and table files against each other on all
// endings of four men (without -tags slow: on four of them): the same number of random
// positions of each, half of them with either side to move, and all positions with en
// passant; with -every, every position.
func TestFourMenEqualTables(t *testing.T) {
	names := []string{"KBNvK", "KNNvK", "KRvKB", "KRvKN"}
	if slow.On {
		names = fourMen()
	}
	tables, e := openShared(t), NewEndgames()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	started := time.Now()
	if err := e.Solve(names...); err != nil {
		t.Fatal(err)
	}
	t.Logf("solved in %v", time.Since(started))
	for _, name := range names {
		if *everyPosition {
			n, ep := sweep(t, tables, e, name)
			t.Logf("%s: %d positions, %d with en passant, longest win %d plies", name, n, ep, e.Longest(name))
			continue
		}
		if !sample(t, tables, e, name, rng) {
			return
		}
	}
	if slow.On {
		n := enPassant(t, tables, e)
		t.Logf("%d positions with en passant", n)
		if n < 20000 {
			t.Errorf("only %d positions with en passant", n)
		}
		solvedFacts(t, e)
	}
	if err := tables.Err(); err != nil {
		t.Error(err)
	}
}

// sample compares random positions of an ending, half of them with either side to
// move (which with equal sides is the same).
func sample(t *testing.T, p prober, e *Endgames, name string, rng *rand.Rand) bool {
	t.Helper()
	const each = 2000
	var compared [2]int
	for compared[0] < each || compared[1] < each {
		s := e.draw(rng, name)
		men, mover := boardMaterial(&s.Board), 0
		if men.String() != name || men == men.swapped() && compared[0] == each {
			mover = 1
		}
		if compared[mover] == each {
			continue
		}
		compared[mover]++
		if !agrees(t, p, &s) {
			return false
		}
	}
	return true
}

// enPassant compares all positions of two pawns where one may take the other in
// passing.
func enPassant(t *testing.T, p prober, e *Endgames) (n int) {
	men, _ := parseMaterial("KPvKP")
	x := e.solved[men.key()]
	for i, v := range x.values {
		if v == valueIllegal {
			continue
		}
		s := x.place(i)
		for _, pawn := range s.doubleSteps() {
			n++
			if c := solvedAt(&s, i, pawn, e.withEnPassant(&s, int8(pawn), v)); !agrees(t, p, &c) {
				return n
			}
		}
	}
	return n
}

// solvedFacts holds the solver against the facts of four men, and against the rules
// of package chess in positions with en passant.
func solvedFacts(t *testing.T, e *Endgames) {
	for _, c := range facts {
		b := parse(t, c.fen)
		want := c.dtz
		if exact, rounded := exactPlies[c.fen]; rounded {
			want = exact
		}
		wdl, ok := e.WDL(b)
		if dtz, _ := e.DTZ(b); !ok || wdl != c.wdl || dtz != want {
			t.Errorf("%s: solved %d %d %v, want %d %d", c.fen, wdl, dtz, ok, c.wdl, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for s := range e.All("KPvKP") {
		if s.Board.EnPassant() == chess.NoSquare || rng.IntN(10) > 0 {
			continue
		}
		if wdl, dtz := fromMoves(t, e, &s.Board); wdl != s.WDL || dtz != s.DTZ {
			t.Fatalf("%s: solved %d %d, from the moves %d %d", s.Board.FEN(), s.WDL, s.DTZ, wdl, dtz)
		}
	}
}

// TestEverySharedTableIsCompared: the endings above are all that the folder has.
func TestEverySharedTableIsCompared(t *testing.T) {
	files, err := os.ReadDir(golden.Path(t, "syzygy"))
	if err != nil {
		t.Fatal(err)
	}
	names := append(fourMen(), threeMen...)
	numTables := 0
	for _, f := range files {
		if ext := filepath.Ext(f.Name()); ext == ".rtbw" || ext == ".rtbz" {
			numTables++
			if !slices.Contains(names, f.Name()[:len(f.Name())-len(ext)]) {
				t.Errorf("%s is not compared", f.Name())
			}
		}
	}
	if numTables != 2*len(names) {
		t.Errorf("%d table files, want %d", numTables, 2*len(names))
	}
}
