package encoding

import "github.com/chessbrain/chessbrain/chess"

// AheadPlies is how far ahead Ahead looks.
const AheadPlies = 8

// Ahead is what became of a position in its game, which auxiliary heads learn. Squares
// are as its side to move sees them. The zero value knows nothing.
type Ahead struct {
	Known    bool         // of AheadPlies later: Material and Survive. The game may not have lasted so long
	Material int8         // our men less theirs, in pawns
	Survive  uint64       // the squares of the position's men that nobody took, wherever they went
	From, To chess.Square // of the opponent's reply; From == To: not known
	// Promotion of that reply: Bishop, Rook or Queen. A knight is Pawn, as none is: the
	// policy has one index for both.
	Promotion chess.PieceType
}

// Image returns a as it is on a board under t.
func (a Ahead) Image(t Transform) Ahead {
	a.Survive = t.Mask(a.Survive)
	a.From, a.To = t.Square(a.From), t.Square(a.To)
	return a
}

// RankFlip takes a square to that of the other side's view.
const RankFlip = 56

// ReplyIndex returns the policy index of the opponent's reply, from the opponent's view as
// the net sees the next position; NoPolicyIndex where the reply is not known.
func (a Ahead) ReplyIndex() uint16 {
	return PolicyIndex(chess.NewMove(a.From^RankFlip, a.To^RankFlip, a.Promotion))
}

// Men returns the occupied squares of row i's newest board.
func (b *Batch) Men(i int) (men uint64) {
	for _, m := range b.Masks[i][:sparseMen] {
		men |= m
	}
	return men
}

// ApplySymmetry is Batch.ApplySymmetry of row i, and what came after it goes along.
func (b *TrainBatch) ApplySymmetry(i int, t Transform) {
	b.Batch.ApplySymmetry(i, t)
	b.Ahead[i] = b.Ahead[i].Image(t)
}
