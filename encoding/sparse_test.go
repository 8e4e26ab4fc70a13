package encoding

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// walk calls f with the positions of random games.
func walk(t testing.TB, games int, f func(h *chess.History, l *chess.MoveList)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var l chess.MoveList
	for range games {
		h := chess.NewHistory(chess.StartBoard())
		for range 120 {
			h.Board().GenerateMoves(&l)
			if h.Terminal(l.N) != chess.NotOver {
				break
			}
			f(h, &l)
			h.Push(l.Moves[rng.IntN(l.N)])
		}
	}
}

// The attacked squares are those of rays and steps walked one by one.
func TestAttackedBy(t *testing.T) {
	type step struct{ file, rank int }
	straight := []step{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}
	diagonal := []step{{1, 1}, {-1, 1}, {1, -1}, {-1, -1}}
	jumps := []step{{1, 2}, {2, 1}, {-1, 2}, {-2, 1}, {1, -2}, {2, -1}, {-1, -2}, {-2, -1}}
	walk(t, 20, func(h *chess.History, l *chess.MoveList) {
		var masks [NumMasks]uint64
		var c Scalars
		Encode(h, &masks, &c)
		occupied := uint64(0)
		for _, m := range masks[:sparseMen] {
			occupied |= m
		}
		for side := range 2 {
			var want attacks
			up := 1 - 2*side
			for kind := range 6 {
				steps, far := slices.Concat(straight, diagonal), true
				switch kind {
				case 0:
					steps, far = []step{{1, up}, {-1, up}}, false
				case 1:
					steps, far = jumps, false
				case 2:
					steps = diagonal
				case 3:
					steps = straight
				case 5:
					far = false
				}
				for m := masks[6*side+kind]; m != 0; m &= m - 1 {
					sq := bits.TrailingZeros64(m)
					for _, d := range steps {
						for file, rank := sq&7+d.file, sq>>3+d.rank; file >= 0 && file < 8 && rank >= 0 && rank < 8; file, rank = file+d.file, rank+d.rank {
							bit := uint64(1) << (rank*8 + file)
							want.all |= bit
							switch kind {
							case 0:
								want.byPawns |= bit
							case 1, 2:
								want.byMinors |= bit
							}
							if !far || occupied&bit != 0 {
								break
							}
						}
					}
				}
			}
			if got := attackedBy(masks[6*side:6*side+6], occupied, side == 1); got != want {
				t.Fatalf("%s, side %d: attacked %x, want %x", h.Board().FEN(), side, got, want)
			}
			for sq := range uint(NumSquares) {
				level := uint16(byNone)
				switch {
				case want.byPawns>>sq&1 != 0:
					level = byPawn
				case want.byMinors>>sq&1 != 0:
					level = byMinor
				case want.all>>sq&1 != 0:
					level = byOther
				}
				if got := want.level(sq); got != level {
					t.Fatalf("%s, side %d: level %d of square %d, want %d", h.Board().FEN(), side, got, sq, level)
				}
			}
		}
	})
}

// A position and the same with its files mirrored have the same features and, move for
// move, the same rows and kinds; and the two sides see each other's features.
func TestSparseSymmetry(t *testing.T) {
	for _, f := range []SparseFeatures{SparseAttacks, SparseAttackers} {
		t.Run(fmt.Sprint(f), func(t *testing.T) { testSparseSymmetry(t, f) })
	}
}

func testSparseSymmetry(t *testing.T, f SparseFeatures) {
	s, m, turned := Sparse{Features: f}, Sparse{Features: f}, Sparse{Features: f}
	walk(t, 20, func(h *chess.History, l *chess.MoveList) {
		var masks, mirrored [NumMasks]uint64
		var c Scalars
		Encode(h, &masks, &c)
		c.OurOO, c.OurOOO, c.TheirOO, c.TheirOOO = 0, 0, 0, 0 // a mirrored board has none
		for i, x := range masks {
			mirrored[i] = FlipFiles.Mask(x)
		}
		legal, other := make([]uint16, l.N), make([]uint16, l.N)
		for i, move := range l.Slice() {
			legal[i], other[i] = PolicyIndex(move), PolicyIndex(FlipFiles.Move(move))
		}
		s.Set(&masks, &c, legal)
		m.Set(&mirrored, &c, other)
		if !sameBag(s.Ours, m.Ours) || !sameBag(s.Theirs, m.Theirs) {
			t.Fatalf("%s: %v %v, mirrored %v %v", h.Board().FEN(), s.Ours, s.Theirs, m.Ours, m.Theirs)
		}
		if !slices.Equal(s.Rows, m.Rows) || !slices.Equal(s.Kinds, m.Kinds) {
			t.Fatalf("%s: rows %v kinds %v, mirrored %v %v", h.Board().FEN(), s.Rows, s.Kinds, m.Rows, m.Kinds)
		}
		if int(slices.Max(s.Kinds)) >= f.NumMoveKinds() {
			t.Fatalf("%s: kinds %v", h.Board().FEN(), s.Kinds)
		}
		var swapped [NumMasks]uint64
		for i := range planeTheirs {
			swapped[i], swapped[i+planeTheirs] = bits.ReverseBytes64(masks[i+planeTheirs]), bits.ReverseBytes64(masks[i])
		}
		swapped[planeRepetition] = masks[planeRepetition]
		if int(slices.Max(s.Ours)) >= f.NumFeatures() {
			t.Fatalf("%s: features %v", h.Board().FEN(), s.Ours)
		}
		s.Set(&masks, &c, nil)
		turned.Set(&swapped, &c, nil)
		if !sameSet(s.Ours, turned.Theirs) || !sameSet(s.Theirs, turned.Ours) {
			t.Fatalf("%s: %v %v, seen by the opponent %v %v", h.Board().FEN(), s.Ours, s.Theirs, turned.Ours, turned.Theirs)
		}
		for _, list := range [][]uint16{s.Ours, s.Theirs} {
			if int(slices.Max(list)) >= f.NumFeatures() {
				t.Fatalf("%s: features %v", h.Board().FEN(), list)
			}
		}
	})
}

// sameBag reports whether two lists hold the same numbers, each as often.
func sameBag(a, b []uint16) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// sameSet reports whether two lists hold the same numbers, each once.
func sameSet(a, b []uint16) bool {
	return sameBag(a, b) && len(slices.Compact(slices.Sorted(slices.Values(a)))) == len(b)
}

// States by hand: by what a man is attacked, and by what it is defended.
func TestManStates(t *testing.T) {
	for _, c := range []struct {
		fen, square    string
		coarse, states uint16
	}{
		{"4k3/8/8/8/8/4N3/8/4K3 w - - 0 1", "e3", 0, 0},
		{"4k3/8/8/8/5p2/4N3/5P2/4K3 w - - 0 1", "e3", 3, 1 + 4*2},
		{"4k3/8/8/2b5/8/4N3/4K3/8 w - - 0 1", "e3", 3, 2 + 4},
		{"4k3/4r3/8/2n5/8/4N3/8/4K3 w - - 0 1", "e3", 1, 3},
		{"4k3/8/8/2p5/8/4n3/8/4K3 b - - 0 1", "c4", 0, 0}, // seen by Black: his pawn
	} {
		h := history(t, c.fen)
		var masks [NumMasks]uint64
		var scalars Scalars
		Encode(h, &masks, &scalars)
		sq := uint16(c.square[0]-'a') + 8*uint16(c.square[1]-'1')
		for f, want := range map[SparseFeatures]uint16{SparseAttacks: c.coarse, SparseAttackers: c.states} {
			s := Sparse{Features: f}
			s.Set(&masks, &scalars, nil)
			man := uint16(s.men[sq]) - 1
			if s.Mirrored() {
				sq ^= 7
			}
			if feature := (want*sparseMen+man)<<6 | sq; !slices.Contains(s.Ours, feature) {
				t.Errorf("%s, features %d: %v, want %d for %s", c.fen, f, s.Ours, feature, c.square)
			}
			if s.Mirrored() {
				sq ^= 7
			}
		}
	}
}

// history is of a position alone.
func history(t *testing.T, fen string) *chess.History {
	t.Helper()
	return chess.NewHistory(chesstest.Board(t, fen))
}

// Kinds by hand: captures, attacked targets, en passant, castling, checks, protection by
// pawns, and what is threatened then.
func TestMoveKinds(t *testing.T) {
	coarse := func(man, captured, target, origin int) uint16 {
		return uint16(((man*moveCaptures+captured)*moveTargets+target)*moveOrigins + origin)
	}
	fine := func(man, captured, target, origin, check, guard int) uint16 {
		return uint16(((((man*moveCaptures+captured)*attackLevels+target)*attackLevels+origin)*moveChecks+check)*moveGuards + guard)
	}
	threat := func(man, best, fork, danger int) uint16 {
		return uint16(threatKinds + ((man*moveThreats+best)*moveForks+fork)*moveDangers + danger)
	}
	const pawn, knight, bishop, rook, queen, king = 0, 1, 2, 3, 4, 5
	for _, c := range []struct {
		fen, move            string
		coarse, fine, threat uint16
	}{
		{"4k3/8/8/3q4/8/4N3/8/4K3 w - - 0 1", "e3d5", coarse(knight, 5, 0, 0), fine(knight, 5, byNone, byNone, 0, 0), threat(knight, 0, 0, 0)},
		{"4k3/8/4p3/3q4/8/4N3/8/4K3 w - - 0 1", "e3d5", coarse(knight, 5, 1, 0), fine(knight, 5, byPawn, byNone, 0, 0), threat(knight, 0, 0, 1)},
		{"3rk3/8/8/3q4/5p2/4N3/8/4K3 w - - 0 1", "e3d5", coarse(knight, 5, 2, 1), fine(knight, 5, byOther, byPawn, 0, 0), threat(knight, 1, 0, 1)},
		{"4k3/8/8/8/8/4N3/8/4K3 w - - 0 1", "e3f5", coarse(knight, 0, 0, 0), fine(knight, 0, byNone, byNone, 0, 0), threat(knight, 0, 0, 0)},
		{"4k3/8/8/8/8/8/8/R3K3 w Q - 0 1", "e1c1", coarse(king, 0, 0, 0), fine(king, 0, byNone, byNone, 0, 0), threat(king, 0, 0, 0)},
		{"4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", coarse(pawn, 1, 0, 0), fine(pawn, 1, byNone, byNone, 0, 0), threat(pawn, 0, 0, 0)},
		// A fork of king and rook, next to a pawn of ours and where a bishop sees it.
		{"r3k3/8/8/1N2b3/8/8/8/4K3 w - - 0 1", "b5c7", coarse(knight, 0, 2, 0), fine(knight, 0, byMinor, byNone, 1, 0), threat(knight, 3, 1, 1)},
		{"r3k3/8/1P6/1N6/8/8/8/4K3 w - - 0 1", "b5c7", coarse(knight, 0, 0, 0), fine(knight, 0, byNone, byNone, 1, 1), threat(knight, 3, 1, 0)},
		// A defended rook is no victim of a rook, an undefended knight is.
		{"4k3/8/4p3/3r4/8/8/8/R3K3 w - - 0 1", "a1d1", coarse(rook, 0, 2, 0), fine(rook, 0, byOther, byNone, 0, 0), threat(rook, 0, 0, 1)},
		{"4k3/8/8/3n4/8/8/8/R3K3 w - - 0 1", "a1d1", coarse(rook, 0, 0, 0), fine(rook, 0, byNone, byNone, 0, 0), threat(rook, 2, 0, 0)},
		// A promoted man threatens and checks as what it is.
		{"3qk3/P7/2r5/8/8/8/8/4K3 w - - 0 1", "a7a8q", coarse(pawn, 0, 2, 0), fine(pawn, 0, byOther, byNone, 0, 0), threat(pawn, 3, 0, 1)},
		{"8/P1k5/8/2r5/8/8/8/4K3 w - - 0 1", "a7a8n", coarse(pawn, 0, 0, 0), fine(pawn, 0, byNone, byNone, 1, 0), threat(pawn, 0, 0, 0)},
		{"8/P1k5/8/2r5/8/8/8/4K3 w - - 0 1", "a7a8b", coarse(pawn, 0, 0, 0), fine(pawn, 0, byNone, byNone, 0, 0), threat(pawn, 0, 0, 0)},
	} {
		h := history(t, c.fen)
		m, err := h.Board().ParseUCI(c.move)
		if err != nil {
			t.Fatal(err)
		}
		var masks [NumMasks]uint64
		var scalars Scalars
		Encode(h, &masks, &scalars)
		for f, want := range map[SparseFeatures][2]uint16{SparseAttacks: {c.coarse, c.coarse}, SparseAttackers: {c.fine, c.threat}} {
			s := Sparse{Features: f}
			s.Set(&masks, &scalars, []uint16{PolicyIndex(m)})
			if got := [2]uint16{s.Kinds[0], s.Kinds[min(2, len(s.Kinds)-1)]}; got != want {
				t.Errorf("%s %s, features %d: kinds %d, want %d", c.fen, c.move, f, got, want)
			}
		}
	}
}

func BenchmarkSparse(b *testing.B) {
	batch := NewBatch(12000) // so many that nothing learns the way through them by heart
	walk(b, 100, func(h *chess.History, l *chess.MoveList) { AppendPosition(batch, h, l) })
	for _, s := range []Sparse{{Features: SparseAttacks}, {Features: SparseAttackers}, {Features: SparseAttackers, Folded: true}} {
		b.Run(fmt.Sprintf("features=%d,folded=%t", s.Features, s.Folded), func(b *testing.B) {
			i := 0
			for b.Loop() {
				s.Set(&batch.Masks[i], &batch.Scalars[i], batch.LegalOf(i))
				i = (i + 1) % batch.N
			}
		})
	}
}

// Folded tables give each move the sums that the tables have.
func TestFold(t *testing.T) {
	const width = 3
	rng := rand.New(rand.NewPCG(11, 4))
	random := func(rows int) []float32 {
		table := make([]float32, rows*width)
		for i := range table {
			table[i] = float32(rng.IntN(2048)) // sums are exact
		}
		return table
	}
	add := func(to, from []float32) {
		for i := range to {
			to[i] += from[i]
		}
	}
	sums := func(n int, s *Sparse, moves, kinds []float32) []float32 {
		of := make([]float32, n*width)
		for i, r := range s.Rows {
			add(of[i%n*width:][:width], moves[int(r)*width:])
		}
		for list := range s.KindLists() {
			for i, k := range list {
				add(of[i*width:][:width], kinds[int(k)*width:])
			}
		}
		return of
	}
	for _, f := range []SparseFeatures{SparseAttacks, SparseAttackers} {
		moves, kinds := random(NumPolicy), random(f.NumMoveKinds())
		table := f.Fold(moves, kinds, width)
		s, folded := Sparse{Features: f}, Sparse{Features: f, Folded: true}
		walk(t, 20, func(h *chess.History, l *chess.MoveList) {
			var masks [NumMasks]uint64
			var c Scalars
			Encode(h, &masks, &c)
			legal := make([]uint16, l.N)
			for i, move := range l.Slice() {
				legal[i] = PolicyIndex(move)
			}
			s.Set(&masks, &c, legal)
			folded.Set(&masks, &c, legal)
			if !slices.Equal(s.Ours, folded.Ours) || !slices.Equal(s.Theirs, folded.Theirs) {
				t.Fatalf("features %d, %s: other features where folded", f, h.Board().FEN())
			}
			if got, want := sums(l.N, &folded, table, nil), sums(l.N, &s, moves, kinds); !slices.Equal(got, want) {
				t.Fatalf("features %d, %s: sums %v, want %v", f, h.Board().FEN(), got, want)
			}
		})
	}
}
