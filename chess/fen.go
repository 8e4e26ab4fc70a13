package chess

import (
	"math/bits"
	"strconv"
	"strings"
)

// StartFEN is the start position of standard chess.
const StartFEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

// maxCounter bounds the two counters of a FEN.
const maxCounter = 9999

// ParseFEN reads a position. Six fields are wanted, or four (an EPD without
// operations; the counters are then 0 and 1). Castling rights may be standard
// (KQkq), X-FEN (K and Q mean the outermost rook, other rooks by file letter) or
// Shredder (file letters). Move number 0 is read as 1. An en-passant field must
// fit a pawn that has just made a double step; it is kept only where one of the
// mover's pawns stands beside that pawn (see EnPassant). Refused, as a *FENError:
// anything malformed, more men than promotions can make, rights without king and
// rook in place, and a side not to move that is in check.
func ParseFEN(s string) (Board, error) {
	f := strings.Fields(s)
	if len(f) != 6 && len(f) != 4 {
		return Board{}, &FENError{"fields", s, "want 6 fields (or 4), have " + strconv.Itoa(len(f))}
	}
	var b Board // filled from white's view, turned at the end
	if err := b.parseMen(f[0]); err != nil {
		return Board{}, err
	}
	switch f[1] {
	case "w":
	case "b":
		b.color = Black
	default:
		return Board{}, &FENError{"side", f[1], "want w or b"}
	}
	if err := b.parseCastling(f[2]); err != nil {
		return Board{}, err
	}
	if b.color == Black {
		b.turn()
	}
	if err := b.parseEnPassant(f[3]); err != nil {
		return Board{}, err
	}
	if err := b.parseCounters(f[4:]); err != nil {
		return Board{}, err
	}
	if reason := b.impossible(); reason != "" {
		return Board{}, &FENError{"board", f[0], reason}
	}
	b.key = b.computeKey()
	return b, nil
}

// parseMen fills the sets from the first field, white being "ours".
func (b *Board) parseMen(s string) error {
	fail := func(reason string) error { return &FENError{"board", s, reason} }
	rows := strings.Split(s, "/")
	if len(rows) != 8 {
		return fail("want 8 ranks, have " + strconv.Itoa(len(rows)))
	}
	b.king, b.oppKing = NoSquare, NoSquare
	for i, row := range rows {
		file, digit := 0, false
		for _, ch := range []byte(row) {
			if ch >= '1' && ch <= '8' {
				if digit {
					return fail("two digits in a row in rank " + strconv.Itoa(8-i))
				}
				file, digit = file+int(ch-'0'), true
				continue
			}
			digit = false
			pt := strings.IndexByte(pieceLetters, ch|0x20)
			if pt < 0 || ch < 'A' {
				return fail("unknown man " + strconv.QuoteRune(rune(ch)) + " in rank " + strconv.Itoa(8-i))
			}
			if file > 7 {
				return fail("more than 8 files in rank " + strconv.Itoa(8-i))
			}
			if !b.put(PieceType(pt), ch < 'a', Square(8*(7-i)+file)) {
				return fail("two kings of one side")
			}
			file++
		}
		if file != 8 {
			return fail("want 8 files in rank " + strconv.Itoa(8-i) + ", have " + strconv.Itoa(file))
		}
	}
	return nil
}

// put sets a man on an empty field; false for a second king.
func (b *Board) put(pt PieceType, ours bool, sq Square) bool {
	bit := uint64(1) << sq
	king, men := &b.king, &b.own
	if !ours {
		king, men = &b.oppKing, &b.opp
	}
	*men |= bit
	switch pt {
	case Pawn:
		b.pawns |= bit
	case Knight:
		b.knights |= bit
	case Bishop:
		b.diag |= bit
	case Rook:
		b.orth |= bit
	case Queen:
		b.diag |= bit
		b.orth |= bit
	case King:
		if *king != NoSquare {
			return false
		}
		*king = sq
	}
	return true
}

// parseCastling reads the third field, white being "ours".
func (b *Board) parseCastling(s string) error {
	fail := func(reason string) error { return &FENError{"castling", s, reason} }
	if s == "-" {
		return nil
	}
	if len(s) > 4 {
		return fail("more than four rights")
	}
	for _, ch := range []byte(s) {
		letter := ch | 0x20
		ours := ch < 'a'
		king, rooks, rank := b.king, b.orth&^b.diag&b.own&rank1, rank1
		if !ours {
			king, rooks, rank = b.oppKing, b.orth&^b.diag&b.opp&rank8, rank8
		}
		if king == NoSquare || rank>>king&1 == 0 {
			return fail("right " + string(ch) + " without the king on its first rank")
		}
		lower := uint64(1)<<king - 1
		var rook uint64
		switch {
		case letter == 'k':
			if set := rooks &^ lower; set != 0 {
				rook = 1 << (63 - bits.LeadingZeros64(set))
			}
		case letter == 'q':
			set := rooks & lower
			rook = set & -set
		case letter >= 'a' && letter <= 'h' && ch >= 'A':
			rook = rooks & (fileA << (letter - 'a'))
		default:
			return fail("unknown letter " + strconv.QuoteRune(rune(ch)))
		}
		if rook == 0 {
			return fail("right " + string(ch) + " without a rook in place")
		}
		side := rank & lower
		if rook&lower == 0 {
			side = rank &^ lower
		}
		if b.castle&side != 0 {
			return fail("two rights on one wing of a side")
		}
		b.castle |= rook
	}
	return nil
}

// turn flips the ranks and swaps the sides; colour, counters and key stay.
func (b *Board) turn() {
	b.own, b.opp = bits.ReverseBytes64(b.opp), bits.ReverseBytes64(b.own)
	b.pawns = bits.ReverseBytes64(b.pawns)
	b.knights = bits.ReverseBytes64(b.knights)
	b.diag = bits.ReverseBytes64(b.diag)
	b.orth = bits.ReverseBytes64(b.orth)
	b.castle = bits.ReverseBytes64(b.castle)
	b.king, b.oppKing = b.oppKing^56, b.king^56 // of none: above NoSquare
}

// parseEnPassant reads the fourth field; the board already has the mover's view.
func (b *Board) parseEnPassant(s string) error {
	fail := func(reason string) error { return &FENError{"en passant", s, reason} }
	b.ep = NoSquare
	if s == "-" {
		return nil
	}
	sq, ok := parseSquare(s)
	if !ok {
		return fail("want a field such as e3, or -")
	}
	sq = sq.absolute(b.color)
	if sq.Rank() != 5 {
		return fail("not on the rank behind a double step of the side that has moved")
	}
	target := uint64(1) << sq
	pawn := target >> 8
	if b.pawns&b.opp&pawn == 0 || (b.own|b.opp)&(target|target<<8) != 0 {
		return fail("no pawn can have made a double step over it")
	}
	if (pawn<<1&^fileA|pawn>>1&^fileH)&b.pawns&b.own != 0 {
		b.ep = sq
	}
	return nil
}

// parseSquare reads a field name, white's view.
func parseSquare(s string) (Square, bool) {
	if len(s) != 2 || s[0] < 'a' || s[0] > 'h' || s[1] < '1' || s[1] > '8' {
		return NoSquare, false
	}
	return Square(s[0]-'a') | Square(s[1]-'1')<<3, true
}

// parseCounters reads the last two fields, if given.
func (b *Board) parseCounters(f []string) (err error) {
	b.fullMove = 1
	if len(f) == 0 {
		return nil
	}
	if b.rule50, err = parseCounter("halfmove clock", f[0]); err != nil {
		return err
	}
	n, err := parseCounter("fullmove number", f[1])
	b.fullMove = max(n, 1)
	return err
}

func parseCounter(field, s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n > maxCounter || s[0] == '+' {
		return 0, &FENError{field, s, "want a whole number from 0 to " + strconv.Itoa(maxCounter)}
	}
	return uint16(n), nil
}

// impossible says why no game (and no safe MoveList) can hold the men, "" if one can.
func (b *Board) impossible() string {
	if b.king >= NoSquare || b.oppKing >= NoSquare {
		return "a side has no king"
	}
	if b.pawns&(rank1|rank8) != 0 {
		return "a pawn on the first or last rank"
	}
	for _, men := range [2]uint64{b.own, b.opp} {
		promoted := 0
		for _, k := range [4]struct {
			pt PieceType
			n  int
		}{{Knight, 2}, {Bishop, 2}, {Rook, 2}, {Queen, 1}} {
			promoted += max(0, bits.OnesCount64(b.kind(k.pt)&men)-k.n)
		}
		pawns := bits.OnesCount64(b.pawns & men)
		if pawns > 8 {
			return "more than 8 pawns of one side"
		}
		if pawns+promoted > 8 {
			return "more pieces of one side than 8 pawns can become"
		}
	}
	if kingTable[b.king&63]>>b.oppKing&1 != 0 {
		return "the kings stand side by side"
	}
	other := *b
	other.turn()
	if other.InCheck() {
		return "the side not to move is in check"
	}
	return ""
}
