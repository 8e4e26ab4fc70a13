package encoding

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
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
			want, pawns := uint64(0), uint64(0)
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
							want |= bit
							if kind == 0 {
								pawns |= bit
							}
							if !far || occupied&bit != 0 {
								break
							}
						}
					}
				}
			}
			all, byPawns := attackedBy(masks[6*side:6*side+6], occupied, side == 1)
			if all != want || byPawns != pawns {
				t.Fatalf("%s, side %d: attacked %x by pawns %x, want %x %x", h.Board().FEN(), side, all, byPawns, want, pawns)
			}
		}
	})
}

// A position and the same with its files mirrored have the same features and, move for
// move, the same rows and kinds; and the two sides see each other's features.
func TestSparseSymmetry(t *testing.T) {
	var s, m, turned Sparse
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
		s.Set(&masks, &c)
		m.Set(&mirrored, &c)
		if !sameSet(s.Ours, m.Ours) || !sameSet(s.Theirs, m.Theirs) {
			t.Fatalf("%s: %v %v, mirrored %v %v", h.Board().FEN(), s.Ours, s.Theirs, m.Ours, m.Theirs)
		}
		rows, kinds := make([]uint16, l.N), make([]uint16, l.N)
		rows2, kinds2 := make([]uint16, l.N), make([]uint16, l.N)
		s.Moves(legal, rows, kinds)
		m.Moves(other, rows2, kinds2)
		if !slices.Equal(rows, rows2) || !slices.Equal(kinds, kinds2) {
			t.Fatalf("%s: rows %v kinds %v, mirrored %v %v", h.Board().FEN(), rows, kinds, rows2, kinds2)
		}
		var swapped [NumMasks]uint64
		for i := range planeTheirs {
			swapped[i], swapped[i+planeTheirs] = bits.ReverseBytes64(masks[i+planeTheirs]), bits.ReverseBytes64(masks[i])
		}
		swapped[planeRepetition] = masks[planeRepetition]
		turned.Set(&swapped, &c)
		if !sameSet(s.Ours, turned.Theirs) || !sameSet(s.Theirs, turned.Ours) {
			t.Fatalf("%s: %v %v, seen by the opponent %v %v", h.Board().FEN(), s.Ours, s.Theirs, turned.Ours, turned.Theirs)
		}
		for _, list := range [][]uint16{s.Ours, s.Theirs} {
			if slices.Max(list) >= NumSparse || len(list) > MaxSparse {
				t.Fatalf("%s: features %v", h.Board().FEN(), list)
			}
		}
	})
}

// sameSet reports whether two lists hold the same numbers, each once.
func sameSet(a, b []uint16) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b) && len(slices.Compact(a)) == len(b)
}

// Kinds by hand: captures, attacked targets, en passant, castling.
func TestMoveKinds(t *testing.T) {
	kind := func(man, captured, target, origin int) uint16 {
		return uint16(((man*moveCaptures+captured)*moveTargets+target)*moveOrigins + origin)
	}
	for _, c := range []struct {
		fen, move string
		want      uint16
	}{
		{"4k3/8/8/3q4/8/4N3/8/4K3 w - - 0 1", "e3d5", kind(1, 5, 0, 0)},
		{"4k3/8/4p3/3q4/8/4N3/8/4K3 w - - 0 1", "e3d5", kind(1, 5, 1, 0)},
		{"3rk3/8/8/3q4/5p2/4N3/8/4K3 w - - 0 1", "e3d5", kind(1, 5, 2, 1)},
		{"4k3/8/8/8/8/4N3/8/4K3 w - - 0 1", "e3f5", kind(1, 0, 0, 0)},
		{"4k3/8/8/8/8/8/8/R3K3 w Q - 0 1", "e1c1", kind(5, 0, 0, 0)},
		{"4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", kind(0, 1, 0, 0)},
	} {
		b, err := chess.ParseFEN(c.fen)
		if err != nil {
			t.Fatal(err)
		}
		h := chess.NewHistory(b)
		m, err := b.ParseUCI(c.move)
		if err != nil {
			t.Fatal(err)
		}
		var s Sparse
		var masks [NumMasks]uint64
		var scalars Scalars
		Encode(h, &masks, &scalars)
		s.Set(&masks, &scalars)
		var row, kind [1]uint16
		s.Moves([]uint16{PolicyIndex(m)}, row[:], kind[:])
		if kind[0] != c.want {
			t.Errorf("%s %s: kind %d, want %d", c.fen, c.move, kind[0], c.want)
		}
	}
}

func BenchmarkSparse(b *testing.B) {
	batch := NewBatch(1000)
	walk(b, 10, func(h *chess.History, l *chess.MoveList) { AppendPosition(batch, h, l) })
	var s Sparse
	rows, kinds := make([]uint16, 256), make([]uint16, 256)
	i := 0
	for b.Loop() {
		s.Set(&batch.Masks[i], &batch.Scalars[i])
		legal := batch.LegalOf(i)
		s.Moves(legal, rows[:len(legal)], kinds[:len(legal)])
		i = (i + 1) % batch.N
	}
}
