package encoding

// The attention policy head scores all 64x64 moves from a square to another, and the
// promotions behind them.
const (
	attentionPromotions = NumSquares * NumSquares
	NumAttention        = attentionPromotions + 8*8*3
)

var attentionPolicyIndex = buildAttentionPolicy()

// buildAttentionPolicy fills the table. A promotion to a knight is the plain move.
func buildAttentionPolicy() *[NumPolicy]uint16 {
	var index [NumPolicy]uint16
	for i, m := range policyMoves {
		from, to, code := int(m&63), int(m>>6&63), int(m>>12)
		index[i] = uint16(from*NumSquares + to)
		if code > promoKnight {
			index[i] = uint16(attentionPromotions + (8*(from&7)+to&7)*3 + promoQueen - code)
		}
	}
	return &index
}

// AttentionPolicyIndex returns the table policy index -> from*64 + to of the attention
// head, or 4096 + (8*file + file of the target)*3 + 0 (queen), 1 (rook), 2 (bishop) of a
// promotion. The table is shared: do not write to it.
func AttentionPolicyIndex() *[NumPolicy]uint16 { return attentionPolicyIndex }

// SquareMap returns what a square knows of the others, before a net learns anything: -1
// of itself, 1 of those that a queen or a knight reaches on an empty board, else 0. It
// is the fixed part of the input of Leela's attention nets.
func SquareMap(sq int) (m [NumSquares]float32) {
	for to := range m {
		if isQueenOrKnight(sq, to) {
			m[to] = 1
		}
	}
	m[sq] = -1
	return m
}
