package chess

import "strings"

// SAN is AppendSAN as a string.
func (b *Board) SAN(m Move) string {
	var l MoveList
	b.GenerateMoves(&l)
	return string(b.AppendSAN(nil, m, &l))
}

// AppendSAN appends a legal move in standard algebraic notation (PGN standard
// section 8.2.3): the shortest unambiguous form, promotions with =, then + or #.
// Castling is O-O or O-O-O, in Chess960 too. legal are the legal moves of b.
func (b *Board) AppendSAN(dst []byte, m Move, legal *MoveList) []byte {
	from, to := m.From(), m.To()
	pt, _ := b.PieceAt(from)
	switch {
	case b.IsCastling(m):
		dst = append(dst, "O-O"...)
		if to < from {
			dst = append(dst, "-O"...)
		}
	case pt == Pawn:
		if b.IsCapture(m) {
			dst = append(dst, 'a'+byte(from&7), 'x')
		}
		dst = append(dst, to.absolute(b.color).String()...)
		if p := m.Promotion(); p != NoPiece {
			dst = append(dst, '=', p.Letter())
		}
	default:
		dst = append(dst, pt.Letter())
		dst = b.appendOrigin(dst, m, pt, legal)
		if b.IsCapture(m) {
			dst = append(dst, 'x')
		}
		dst = append(dst, to.absolute(b.color).String()...)
	}
	next := *b
	next.Make(m)
	if next.InCheck() {
		if next.countMoves() == 0 {
			return append(dst, '#')
		}
		return append(dst, '+')
	}
	return dst
}

// appendOrigin appends file, rank or both where another man of the same kind
// may go to the same field.
func (b *Board) appendOrigin(dst []byte, m Move, pt PieceType, legal *MoveList) []byte {
	from, to := m.From(), m.To()
	var others uint64
	for _, o := range legal.Slice() {
		if o.To() == to && o.From() != from && !b.IsCastling(o) {
			if p, _ := b.PieceAt(o.From()); p == pt {
				others |= 1 << o.From()
			}
		}
	}
	if others == 0 {
		return dst
	}
	name := from.absolute(b.color).String()
	switch {
	case others&(fileA<<(from&7)) == 0:
		return append(dst, name[0])
	case others&(rank1<<(from&56)) == 0:
		return append(dst, name[1])
	}
	return append(dst, name...)
}

// sanParts is a SAN text taken apart; file and rank of origin are -1 if not given.
type sanParts struct {
	pt         PieceType
	castling   bool
	kingside   bool
	file, rank int
	to         Square // white's view
	promo      PieceType
	captures   bool
}

// ParseSAN reads a legal move. Beyond strict SAN it takes zeros for O in
// castling, a missing =, x, + or #, more origin than needed (Ng1f3, e2e4, e2-e4),
// suffixes !, ? and "e.p.". Refused as a *MoveError: malformed text, an illegal
// move, a move that fits several legal ones, an x on a move that takes nothing.
func (b *Board) ParseSAN(s string) (Move, error) {
	fail := func(reason string) (Move, error) {
		return NoMove, &MoveError{"SAN", s, b.FEN(), reason}
	}
	p, ok := splitSAN(s)
	if !ok {
		return fail("malformed")
	}
	var l MoveList
	b.GenerateMoves(&l)
	found := NoMove
	for _, m := range l.Slice() {
		if !b.matches(m, &p) {
			continue
		}
		if found != NoMove {
			return fail("ambiguous: " + b.UCI(found, true) + " or " + b.UCI(m, true))
		}
		found = m
	}
	if found == NoMove {
		return fail("illegal")
	}
	return found, nil
}

// matches reports whether a legal move is what the text says.
func (b *Board) matches(m Move, p *sanParts) bool {
	if b.IsCastling(m) {
		return p.castling && p.kingside == (m.To() > m.From())
	}
	if p.castling || m.To() != p.to.absolute(b.color) || m.Promotion() != p.promo {
		return false
	}
	from := m.From().absolute(b.color)
	if p.file >= 0 && from.File() != p.file || p.rank >= 0 && from.Rank() != p.rank {
		return false
	}
	if b.Ours(p.pt)>>m.From()&1 == 0 {
		return false
	}
	return !p.captures || b.IsCapture(m)
}

// splitSAN takes a text apart without looking at a board.
func splitSAN(s string) (p sanParts, ok bool) {
	p = sanParts{pt: Pawn, file: -1, rank: -1, promo: NoPiece}
	s = strings.TrimRight(s, "!?")
	s = strings.TrimRight(s, "+#")
	s = strings.TrimSuffix(s, "e.p.")
	switch s {
	case "O-O", "0-0":
		p.castling, p.kingside = true, true
		return p, true
	case "O-O-O", "0-0-0":
		p.castling = true
		return p, true
	}
	if len(s) > 0 {
		if pt := strings.IndexByte("NBRQK", s[0]); pt >= 0 {
			p.pt, s = Knight+PieceType(pt), s[1:]
		}
	}
	if n := len(s); n > 2 && p.pt == Pawn {
		if pt := strings.IndexByte("NBRQ", s[n-1]); pt >= 0 {
			p.promo = Knight + PieceType(pt)
			s = strings.TrimSuffix(s[:n-1], "=")
		}
	}
	if len(s) < 2 {
		return p, false
	}
	if p.to, ok = parseSquare(s[len(s)-2:]); !ok {
		return p, false
	}
	return p, p.splitOrigin(s[:len(s)-2])
}

// splitOrigin reads what stands between the man's letter and the target.
func (p *sanParts) splitOrigin(s string) bool {
	if n := len(s); n > 0 && (s[n-1] == 'x' || s[n-1] == '-') {
		p.captures = s[n-1] == 'x'
		s = s[:n-1]
	}
	if len(s) > 0 && s[0] >= 'a' && s[0] <= 'h' {
		p.file, s = int(s[0]-'a'), s[1:]
	}
	if len(s) > 0 && s[0] >= '1' && s[0] <= '8' {
		p.rank, s = int(s[0]-'1'), s[1:]
	}
	return s == ""
}
