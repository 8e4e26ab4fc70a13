package encoding

import (
	"reflect"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// TestDropLast: a batch from which positions were taken away again equals one
// that never had them, also where its memory holds remains of others.
func TestDropLast(t *testing.T) {
	var l chess.MoveList
	h := chess.NewHistory(chess.StartBoard())
	add := func(b *Batch) {
		h.Board().GenerateMoves(&l)
		AppendPosition(b, h, &l)
	}
	used, fresh := NewBatch(4), NewBatch(4)
	for range 4 {
		for i := range used.Masks {
			for j := range used.Masks[i] {
				used.Masks[i][j] = allOnes
			}
			used.Scalars[i] = Scalars{1, 1, 1, 1, 1, 99}
		}
		used.Reset()
		fresh.Reset()
		for i := range 4 {
			add(used)
			add(fresh)
			if i < 3 {
				add(used)
				used.DropLast()
			}
		}
		if used.N != fresh.N || !reflect.DeepEqual(used.Masks, fresh.Masks) || !reflect.DeepEqual(used.Scalars, fresh.Scalars) ||
			!reflect.DeepEqual(used.LegalStart, fresh.LegalStart) || !reflect.DeepEqual(used.Legal, fresh.Legal) || len(used.Prior) != len(fresh.Prior) {
			t.Fatalf("after %d plies the batches differ", h.Len())
		}
		h.Board().GenerateMoves(&l)
		h.Push(l.Moves[l.N/2])
	}
}
