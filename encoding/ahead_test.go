package encoding

import (
	"math/bits"
	"testing"
)

// TestAheadSymmetry: what came later is mirrored with its row.
func TestAheadSymmetry(t *testing.T) {
	b := NewTrainBatch(1)
	i := b.Grow(0)
	b.Masks[i][1], b.Masks[i][11] = 1<<12, 1<<60 // a knight on e2, their king on e8
	b.Ahead[i] = Ahead{Known: true, Material: 3, Survive: 1 << 12, From: 60, To: 61}
	for t8 := range NumTransforms {
		row := NewTrainBatch(1)
		row.AppendRow(b, i)
		row.ApplySymmetry(0, t8)
		a := row.Ahead[0]
		if row.Men(0) != t8.Mask(b.Men(i)) || a.Survive != row.Masks[0][1] || a.From != t8.Square(60) || a.To != t8.Square(61) || a.Material != 3 ||
			1<<a.From != row.Masks[0][11] || bits.OnesCount64(row.Men(0)) != 2 ||
			PolicyString(a.ReplyIndex()) != (t8.Square(60)^RankFlip).String()+(t8.Square(61)^RankFlip).String() {
			t.Errorf("transform %d: %+v", t8, a)
		}
	}
}
