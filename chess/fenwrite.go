package chess

import "strconv"

// FEN returns the position as six fields. Castling rights are K, Q, k, q where
// the rook is the outermost one on its wing, else its file letter (X-FEN); the
// en-passant field is set as EnPassant says.
func (b *Board) FEN() string { return b.fen(false) }

// ShredderFEN is FEN with every castling right as a file letter (HAha for KQkq).
func (b *Board) ShredderFEN() string { return b.fen(true) }

func (b *Board) fen(shredder bool) string {
	buf := AppendMen(make([]byte, 0, 96), func(sq Square) byte {
		pt, ours := b.PieceAt(sq.absolute(b.color))
		switch {
		case pt == NoPiece:
			return 0
		case ours == (b.color == White):
			return pt.Letter()
		}
		return pieceLetters[pt]
	})
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

// AppendMen appends the first field of a FEN. letter returns the man on a field, white's
// view, as FEN writes it, 0 for none.
func AppendMen(dst []byte, letter func(Square) byte) []byte {
	for rank := 7; rank >= 0; rank-- {
		empty := byte(0)
		for file := range 8 {
			man := letter(Square(8*rank + file))
			if man == 0 {
				empty++
				continue
			}
			if empty > 0 {
				dst, empty = append(dst, '0'+empty), 0
			}
			dst = append(dst, man)
		}
		if empty > 0 {
			dst = append(dst, '0'+empty)
		}
		if rank > 0 {
			dst = append(dst, '/')
		}
	}
	return dst
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
