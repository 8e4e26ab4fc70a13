package chess

import (
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

// checkBoard says which invariant of Board is broken, "" if none is.
func checkBoard(b *Board) string {
	king, oppKing := uint64(1)<<b.king, uint64(1)<<b.oppKing
	occ := b.own | b.opp
	turned := *b
	turned.turn()
	switch {
	case b.own&b.opp != 0:
		return "a field holds men of both sides"
	case b.own&king == 0 || b.opp&oppKing == 0:
		return "a king is not among its men"
	case (b.pawns|b.knights|b.diag|b.orth)|king|oppKing != occ:
		return "the kinds do not add up to the men"
	case b.pawns&b.knights|(b.pawns|b.knights)&(b.diag|b.orth)|(b.pawns|b.knights|b.diag|b.orth)&(king|oppKing) != 0:
		return "a man of two kinds"
	case b.pawns&(rank1|rank8) != 0:
		return "a pawn on an outer rank"
	case turned.InCheck():
		return "the side not to move is in check"
	case b.key != b.computeKey():
		return "the key is not that of the men"
	case b.castle&^(b.orth&^b.diag&(b.own&rank1|b.opp&rank8)) != 0:
		return "a castling right without a rook"
	case b.castle&rank1 != 0 && b.king > 7, b.castle&rank8 != 0 && b.oppKing < 56:
		return "a castling right without a king"
	case b.ep < NoSquare && (b.ep>>3 != 5 || b.pawns&b.opp>>(b.ep-8)&1 == 0):
		return "an en-passant target without a pawn"
	}
	return ""
}

func TestBoardIsSmallAndComparable(t *testing.T) {
	if n := unsafe.Sizeof(Board{}); n > 128 {
		t.Errorf("Board has %d bytes, want at most 128", n)
	}
	a, b := StartBoard(), mustFEN(t, StartFEN)
	if a != b {
		t.Error("equal boards differ")
	}
}

// TestInvariants follows random games: invariants, incremental key against the key
// from nothing, FEN, UCI and SAN there and back.
func TestInvariants(t *testing.T) {
	walkRandom(t, 2, starts, scale(10000), func(h *History, l *MoveList) {
		b := h.Board()
		if broken := checkBoard(b); broken != "" {
			t.Fatalf("%s: %s", b.FEN(), broken)
		}
		for _, fen := range []string{b.FEN(), b.ShredderFEN()} {
			if again := mustFEN(t, fen); again != *b {
				t.Fatalf("%s does not come back: %s", fen, again.FEN())
			}
		}
		seen := map[string]Move{}
		for _, m := range l.Slice() {
			uci, san := b.UCI(m, true), b.SAN(m)
			if got, err := b.ParseUCI(uci); err != nil || got != m {
				t.Fatalf("%s: UCI %s gives %v, %v", b.FEN(), uci, got, err)
			}
			if got, err := b.ParseSAN(san); err != nil || got != m {
				t.Fatalf("%s: SAN %s gives %v, %v", b.FEN(), san, got, err)
			}
			if other, dup := seen[san]; dup {
				t.Fatalf("%s: SAN %s for %v and %v", b.FEN(), san, other, m)
			}
			seen[san] = m
		}
	})
}

// mirrorFEN swaps the colours of a FEN by its text alone.
func mirrorFEN(fen string) string {
	swap := func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 32
		}
		if r >= 'A' && r <= 'Z' {
			return r + 32
		}
		return r
	}
	f := strings.Fields(fen)
	rows := strings.Split(f[0], "/")
	for i, j := 0, 7; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
	f[0] = strings.Map(swap, strings.Join(rows, "/"))
	f[1] = map[string]string{"w": "b", "b": "w"}[f[1]]
	f[2] = strings.Map(swap, f[2])
	f[3] = strings.NewReplacer("3", "6", "6", "3").Replace(f[3])
	return strings.Join(f, " ")
}

// TestColorSymmetry: with colours swapped the mover sees the same board and moves.
func TestColorSymmetry(t *testing.T) {
	walkRandom(t, 3, starts, scale(5000), func(h *History, l *MoveList) {
		b := h.Board()
		o := mustFEN(t, mirrorFEN(b.FEN()))
		var lo MoveList
		o.GenerateMoves(&lo)
		if lo.N != l.N || o.SideToMove() == b.SideToMove() {
			t.Fatalf("%s: %d moves, mirrored %d", b.FEN(), l.N, lo.N)
		}
		for i := range l.N {
			if l.Moves[i] != lo.Moves[i] {
				t.Fatalf("%s: move %d is %v, mirrored %v", b.FEN(), i, l.Moves[i], lo.Moves[i])
			}
		}
		if r := b.Recoloured(); r != o {
			t.Fatalf("%s: recoloured %s", b.FEN(), r.FEN())
		}
		if o.key == b.key {
			t.Fatalf("%s: the key does not tell the sides apart", b.FEN())
		}
		o.key, o.color, o.fullMove = b.key, b.color, b.fullMove
		if o != *b {
			t.Fatalf("%s: the mirrored board differs", b.FEN())
		}
	})
}

// TestGenerationOrder freezes the order of moves, which game records number them
// by: FNV-1a over the moves of random games. It may change only with the record
// format's version.
func TestGenerationOrder(t *testing.T) {
	sum := fnv.New64a()
	walkRandom(t, 4, starts, 2000, func(_ *History, l *MoveList) {
		for _, m := range l.Slice() {
			sum.Write([]byte{byte(m), byte(m >> 8)})
		}
	})
	if got, want := sum.Sum64(), uint64(0xe05ad491e73f49d0); got != want {
		t.Errorf("order of moves hashes to %#x, want %#x", got, want)
	}
}

// TestOrderInWords shows the order that GenerateMoves documents.
func TestOrderInWords(t *testing.T) {
	for fen, want := range map[string]string{
		StartFEN: "b1a3 b1c3 g1f3 g1h3 a2a3 b2b3 c2c3 d2d3 e2e3 f2f3 g2g3 h2h3 a2a4 b2b4 c2c4 d2d4 e2e4 f2f4 g2g4 h2h4",
		"8/8/8/8/8/5k2/8/R3K2R w KQ - 0 1": "a1b1 a1c1 a1d1 a1a2 a1a3 a1a4 a1a5 a1a6 a1a7 a1a8 " +
			"h1f1 h1g1 h1h2 h1h3 h1h4 h1h5 h1h6 h1h7 h1h8 e1d1 e1f1 e1d2 e1a1 e1h1",
		"1n1k4/P7/8/3pP3/8/8/8/K7 w - d6 0 1": "e5e6 a7a8q a7a8r a7a8b a7a8n a7b8q a7b8r a7b8b a7b8n e5d6 a1b1 a1a2 a1b2",
	} {
		b := mustFEN(t, fen)
		var l MoveList
		b.GenerateMoves(&l)
		var got []string
		for _, m := range l.Slice() {
			got = append(got, b.UCI(m, true))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s:\n got %s\nwant %s", fen, strings.Join(got, " "), want)
		}
	}
}

// TestAccessors reads the start position through every accessor.
func TestAccessors(t *testing.T) {
	b := StartBoard()
	sets := map[PieceType]uint64{Pawn: 0xFF00, Knight: 0x42, Bishop: 0x24, Rook: 0x81, Queen: 0x08, King: 0x10, NoPiece: 0}
	for pt, want := range sets {
		if b.Ours(pt) != want || b.Theirs(pt) != bits.ReverseBytes64(want) {
			t.Errorf("%c: %#x and %#x", pt.Letter(), b.Ours(pt), b.Theirs(pt))
		}
		for sq := Square(0); sq < 64; sq++ {
			if got, ours := b.PieceAt(sq); (got == pt && ours) != (want>>sq&1 != 0) && pt != NoPiece {
				t.Errorf("PieceAt(%v) = %c, %v", sq, got.Letter(), ours)
			}
		}
	}
	if b.OurMen() != 0xFFFF || b.opp != 0xFFFF<<48 || b.Occupied() != 0xFFFF00000000FFFF {
		t.Error("men")
	}
	for _, c := range []struct {
		ours, king bool
		want       Square
	}{{true, true, 7}, {true, false, 0}, {false, true, 63}, {false, false, 56}} {
		if sq, ok := b.CastlingRook(c.ours, c.king); !ok || sq != c.want {
			t.Errorf("CastlingRook(%v, %v) = %v, %v", c.ours, c.king, sq, ok)
		}
	}
	m, err := b.ParseUCI("e2e4")
	if err != nil || m != NewMove(12, 28, NoPiece) {
		t.Fatal(m, err)
	}
	b.Make(m)
	if b.SideToMove() != Black || b.EnPassant() != NoSquare || b.Rule50() != 0 || b.FullMove() != 1 {
		t.Errorf("after e2e4: %s", b.FEN())
	}
	if m, err = b.ParseUCI("g8f6"); err != nil || m != NewMove(6, 21, NoPiece) {
		t.Fatal(m, err)
	}
	b.Make(m)
	if b.Rule50() != 1 || b.FullMove() != 2 {
		t.Errorf("after g8f6: %s", b.FEN())
	}
}

// TestSliders holds the subtractions against walking the rays, for every field and random
// blockers, from few to many.
func TestSliders(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	for i := range 4000 {
		occ := rng.Uint64()
		for range i % 4 {
			occ &= rng.Uint64()
		}
		for sq := range 64 {
			if got, want := RookAttacks(Square(sq), occ), walk(sq, occ, rookDirections[:]); got != want {
				t.Fatalf("rook on %v, occupied %#x: %#x, want %#x", Square(sq), occ, got, want)
			}
			if got, want := BishopAttacks(Square(sq), occ), walk(sq, occ, bishopDirections[:]); got != want {
				t.Fatalf("bishop on %v, occupied %#x: %#x, want %#x", Square(sq), occ, got, want)
			}
		}
	}
}

func TestInsufficientMaterial(t *testing.T) {
	for fen, want := range map[string]bool{
		"8/8/8/4k3/8/8/2K5/8 w - - 0 1":           true, // K v K
		"8/1N6/8/4k3/8/8/2K5/8 w - - 0 1":         true, // KN v K
		"8/8/8/4k3/8/5b2/2K5/8 w - - 0 1":         true, // K v KB
		"8/8/8/3Bk3/8/5B2/2K5/8 w - - 0 1":        true, // bishops of one colour
		"B7/1B3b2/2B3b1/4k2b/8/8/2K5/8 w - - 0 1": true, // both sides, one colour
		"8/8/8/4k3/8/5R2/2K5/8 w - - 0 1":         false,
		"8/8/8/4k3/8/5q2/2K5/8 w - - 0 1":         false,
		"8/8/8/4k3/8/5P2/2K5/8 w - - 0 1":         false,
		"8/8/8/4k3/8/8/2K5/4NN2 w - - 0 1":        false, // two knights
		"8/8/8/4k3/8/8/2K5/4Nn2 w - - 0 1":        false, // one each
		"8/8/8/4k3/8/8/2K5/4BN2 w - - 0 1":        false, // B+N
		"8/8/8/4k3/8/8/2K5/4Bn2 w - - 0 1":        false, // B v N
		"8/8/8/4k3/8/2K1bb2/8/8 w - - 0 1":        false, // bishops of both colours
	} {
		b := mustFEN(t, fen)
		if got := b.InsufficientMaterial(); got != want {
			t.Errorf("%s: %v, want %v", fen, got, want)
		}
	}
}

// TestPinnedReplies: after b7b5, b8c7 is legal and only c5c7 answers it.
func TestPinnedReplies(t *testing.T) {
	b := mustFEN(t, "1Qnkr3/1p1b4/p2P2p1/P1q5/1NP3pP/1KN5/8/3R4 b - - 0 1")
	for _, s := range []string{"b7b5", "b8c7"} {
		m, err := b.ParseUCI(s)
		if err != nil {
			t.Fatal(err)
		}
		b.Make(m)
	}
	var l MoveList
	b.GenerateMoves(&l)
	if l.N != 1 || b.UCI(l.Moves[0], false) != "c5c7" {
		t.Errorf("replies %v, want c5c7 alone", ourMoves(&b, &l))
	}
}

// TestNoAllocation: generating, making and pushing moves allocates nothing.
func TestNoAllocation(t *testing.T) {
	b := mustFEN(t, starts[1])
	h := NewHistory(b)
	o := NewHistory(b)
	var l MoveList
	if n := testing.AllocsPerRun(100, func() {
		b.GenerateMoves(&l)
		for _, m := range l.Slice() {
			c := b
			c.Make(m)
			h.Push(m)
			h.Terminal(l.N)
			h.Truncate(1)
		}
		o.CopyFrom(h)
		o.Reset(b)
		Perft(&b, 2)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
