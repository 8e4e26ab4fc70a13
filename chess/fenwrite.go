package chess

import "strconv"

// FEN returns the position as six fields. Castling rights are K, Q, k, q where
// the rook is the outermost one on its wing, else its file letter (X-FEN); the
// en-passant field is set as EnPassant says.
func (b *Board) FEN() string { return b.fen(false) }

// ShredderFEN is FEN with every castling right as a file letter (HAha for KQkq).
func (b *Board) ShredderFEN() string { return b.fen(true) }

func (b *Board) fen(shredder bool) string {
	buf := make([]byte, 0, 96)
	for rank := 7; rank >= 0; rank-- {
		empty := byte(0)
		for file := range 8 {
			pt, ours := b.PieceAt(Square(rank*8 + file).absolute(b.color))
			if pt == NoPiece {
				empty++
				continue
			}
			if empty > 0 {
				buf, empty = append(buf, '0'+empty), 0
			}
			letter := pieceLetters[pt]
			if ours == (b.color == White) {
				letter -= 'a' - 'A'
			}
			buf = append(buf, letter)
		}
		if empty > 0 {
			buf = append(buf, '0'+empty)
		}
		if rank > 0 {
			buf = append(buf, '/')
		}
	}
	buf = append(buf, ' ', "wb"[b.color&1], ' ')
	buf = b.appendCastling(buf, shredder)
	buf = append(buf, ' ')
	if b.ep < NoSquare {
		buf = append(buf, b.ep.absolute(b.color).String()...)
	} else {
		buf = append(buf, '-')
	}
	buf = strconv.AppendUint(append(buf, ' '), uint64(b.rule50), 10)
	buf = strconv.AppendUint(append(buf, ' '), uint64(b.fullMove), 10)
	return string(buf)
}

// appendCastling writes the rights of white, then black, kingside first.
func (b *Board) appendCastling(buf []byte, shredder bool) []byte {
	if b.castle == 0 {
		return append(buf, '-')
	}
	for _, white := range [2]bool{true, false} {
		ours := white == (b.color == White)
		for _, kingside := range [2]bool{true, false} {
			rook, ok := b.CastlingRook(ours, kingside)
			if !ok {
				continue
			}
			letter := byte('a' + rook.File())
			if !shredder && b.outermost(rook, ours, kingside) {
				letter = 'q'
				if kingside {
					letter = 'k'
				}
			}
			if white {
				letter -= 'a' - 'A'
			}
			buf = append(buf, letter)
		}
	}
	return buf
}

// outermost reports whether no other rook of that side stands further out.
func (b *Board) outermost(rook Square, ours, kingside bool) bool {
	rooks := b.Ours(Rook) & rank1
	if !ours {
		rooks = b.Theirs(Rook) & rank8
	}
	if kingside {
		return rooks>>rook == 1
	}
	return rooks&(1<<rook-1) == 0
}
