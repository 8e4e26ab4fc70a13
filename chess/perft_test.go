package chess

import (
	"strconv"
	"testing"
)

// literalPerft needs no files: what the test data tests most, and depths that
// a slow generator would not reach.
var literalPerft = []struct {
	name, fen string
	depth     int
	nodes     uint64
}{
	{"start", StartFEN, 5, 4865609},
	{"kiwipete", starts[1], 4, 4085603},
	{"rook endgame", starts[4], 5, 674624},
	{"promotions and checks", starts[2], 3, 9467},
	{"mirrored", "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1", 3, 9467},
	{"ep pinned on the rank", "8/8/8/K2pP2r/8/8/8/7k w - d6 0 1", 5, 55203},
	{"ep pinned on the diagonal", "8/5bk1/8/2Pp4/8/1K6/8/8 w - d6 0 1", 5, 62297},
	{"ep answers check", "8/8/8/2k5/3Pp3/8/8/4K3 b - d3 0 1", 5, 17879},
	{"castling rook taken", "r3k2r/1b4bq/8/8/8/8/7B/R3K2R w KQkq - 0 1", 4, 1274206},
	{"many promotions", starts[3], 4, 182838},
	{"mated", "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3", 2, 0},
	{"960, X-FEN and Shredder mixed", starts[5], 4, 709716},
	{"960, two wings", starts[7], 1, 21},
	{"960, HEhe", "1bbnrqkr/pp1ppppp/8/2p5/n7/3PNPP1/PPP1P2P/NBB1RQKR w HEhe - 1 9", 4, 409766},
	{"depth 0", StartFEN, 0, 1},
}

func TestPerftLiteral(t *testing.T) {
	for _, c := range literalPerft {
		b := mustFEN(t, c.fen)
		if got := Perft(&b, c.depth); got != c.nodes {
			t.Errorf("%s, depth %d: %d, want %d", c.name, c.depth, got, c.nodes)
		}
	}
}

func TestPerftShared(t *testing.T) {
	for _, f := range sharedLines(t, "perft.tsv") {
		depth, err1 := strconv.Atoi(f[2])
		want, err2 := strconv.ParseUint(f[3], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("bad line %q", f)
		}
		b := mustFEN(t, f[1])
		if got := Perft(&b, depth); got != want {
			t.Errorf("%s (%s), depth %d: %d, want %d", f[0], f[1], depth, got, want)
		}
	}
}

func TestPerft960Shared(t *testing.T) {
	deepest := 4
	if testing.Short() {
		deepest = 2
	}
	lines := sharedLines(t, "perft960.tsv")
	if len(lines) != 480 {
		t.Fatalf("%d positions, want 480", len(lines))
	}
	for _, f := range lines {
		b := mustFEN(t, f[0])
		for depth := 1; depth <= deepest; depth++ {
			want, err := strconv.ParseUint(f[depth], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if got := Perft(&b, depth); got != want {
				t.Errorf("%s, depth %d: %d, want %d", f[0], depth, got, want)
				break
			}
		}
	}
}

// TestDivide checks that the parts sum to the whole: Divide uses Make, Perft the
// path without keys.
func TestDivide(t *testing.T) {
	for _, fen := range starts {
		b := mustFEN(t, fen)
		var sum uint64
		for _, e := range Divide(&b, 3) {
			sum += e.Nodes
		}
		if want := Perft(&b, 3); sum != want {
			t.Errorf("%s: parts sum to %d, perft is %d", fen, sum, want)
		}
	}
	b := StartBoard()
	if Divide(&b, 0) != nil {
		t.Error("Divide at depth 0 is not nil")
	}
}

// TestCountEqualsGenerate holds the counting path against the written list.
func TestCountEqualsGenerate(t *testing.T) {
	walkRandom(t, 1, starts, scale(50000), func(h *History, l *MoveList) {
		if n := h.Board().countMoves(); n != l.N {
			t.Fatalf("%s: counted %d, generated %d", h.Board().FEN(), n, l.N)
		}
	})
}
