package encoding

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// TestApplySymmetry plays random games beside their images and holds that a row
// under a transform is the row of the image: masks, and the set of legal moves.
func TestApplySymmetry(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	counts := map[Transform]int{}
	for _, c := range []struct {
		fen  string
		want Transform // symmetries of the start
	}{
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 1},
		{"r1bq1b1r/pppkpppp/2n2n2/3p4/3P4/2N2N2/PPPKPPPP/R1BQ1B1R w - - 6 5", 2},
		{"8/8/3k4/8/6q1/8/1R1K4/5N2 b - - 3 9", NumTransforms},
	} {
		start := chesstest.Board(t, c.fen)
		for range 20 {
			h := chess.NewHistory(start)
			var list chess.MoveList
			for range 12 {
				b := NewBatch(1)
				h.Board().GenerateMoves(&list)
				if list.N == 0 {
					break
				}
				AppendPosition(b, h, &list)
				n := b.NumSymmetries(0)
				if h.Len() == 1 && n != c.want {
					t.Fatalf("%s: %d symmetries, want %d", c.fen, n, c.want)
				}
				counts[n]++
				checkImages(t, b, h, &list)
				h.Push(list.Moves[rng.IntN(list.N)])
			}
		}
	}
	if counts[1] == 0 || counts[2] == 0 || counts[NumTransforms] == 0 {
		t.Errorf("rows by number of symmetries: %v", counts)
	}
}

// checkImages compares each allowed image of row 0 with square-by-square truth.
func checkImages(t *testing.T, b *Batch, h *chess.History, list *chess.MoveList) {
	t.Helper()
	for tr := range b.NumSymmetries(0) {
		image := NewBatch(1)
		AppendPosition(image, h, list)
		image.ApplySymmetry(0, tr)
		for k, m := range b.Masks[0] {
			var want uint64
			for sq := range chess.Square(64) {
				if m>>sq&1 != 0 {
					want |= 1 << tr.Square(sq)
				}
			}
			if image.Masks[0][k] != want {
				t.Fatalf("transform %d, plane %d of %s: %x, want %x", tr, k, h.Board().FEN(), image.Masks[0][k], want)
			}
		}
		for k, m := range list.Slice() {
			if got, want := image.LegalOf(0)[k], PolicyIndex(tr.Move(m)); got != want || got == NoPolicyIndex {
				t.Fatalf("transform %d of move %d: index %d, want %d", tr, k, got, want)
			}
		}
		image.ApplySymmetry(0, tr.Inverse())
		if image.Masks[0] != b.Masks[0] || !slices.Equal(image.LegalOf(0), b.LegalOf(0)) {
			t.Fatalf("transform %d and back is not the row itself", tr)
		}
	}
}
