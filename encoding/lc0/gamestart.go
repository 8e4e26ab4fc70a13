package lc0

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// opening finds where the game begins: it sets the game's start and the plies
// before the first record, and leaves the history at that record's board.
func (r *recovery) opening() error {
	rec := &r.records[0]
	first, err := boardOf(menOf(rec, 0), rec.blackToMove(), castlingField(rec), enPassant(rec), int(rec.Rule50))
	if err != nil {
		return err
	}
	shown := shownBoards(rec)
	if shown == 2 && !rec.canonical() && first.EnPassant() != chess.NoSquare {
		shown = 1 // the board before the start, which only tells of en passant
	}
	var line *chess.History
	for k := shown - 1; k > 0 && line == nil; k-- {
		line = lineTo(rec, &first, k)
	}
	if line == nil {
		line = chess.NewHistory(first)
	}
	r.history = line
	if start := *line.At(0); start != chess.StartBoard() {
		r.game.Start = start.FEN()
	}
	none := encoding.UnknownQDM
	for i := range line.Len() - 1 {
		r.game.Plies = append(r.game.Plies, record.Ply{Move: line.MoveAt(i), Root: none, Best: none, Played: none, Orig: none})
	}
	return nil
}

// shownBoards returns how many boards a record shows without a gap.
func shownBoards(r *Record) int {
	n := 1
	for n < encoding.HistoryLen && r.Planes[n*encoding.PlanesPerBoard+int(chess.King)] != 0 {
		n++
	}
	return n
}

// lineTo returns the line from board k of r's history to its newest, which is
// first; nil if no legal moves connect them. Of the castling rights that are not
// held at its end, those of standard chess that were lost on the way were there
// at its beginning.
func lineTo(r *Record, first *chess.Board, k int) *chess.History {
	boards := make([]men, k+1) // oldest first
	for t := range boards {
		boards[k-t] = menOf(r, t)
	}
	black := r.blackToMove() != (k&1 == 1)
	rights := castlingOf(first)
	for _, rule50 := range [...]int{int(r.Rule50) - k, 0} { // 0: a capture or pawn move comes on the way
		castling := rights + lostRights(&boards[0], black, rights)
		h := walk(boards, black, castling, max(rule50, 0))
		if h == nil {
			continue
		}
		if left := castlingOf(h.Board()); left != rights {
			castling = strings.Map(func(c rune) rune {
				if strings.ContainsRune(left, c) && !strings.ContainsRune(rights, c) {
					return -1
				}
				return c
			}, castling)
			if h = walk(boards, black, castling, max(rule50, 0)); h == nil {
				continue
			}
		}
		if b := h.Board(); b.Rule50() == first.Rule50() && castlingOf(b) == rights && b.EnPassant() == first.EnPassant() {
			return h
		}
	}
	return nil
}

// walk plays the only moves that connect boards, nil if there are none.
func walk(boards []men, black bool, castling string, rule50 int) *chess.History {
	start, err := boardOf(boards[0], black, castling, chess.NoSquare, rule50)
	if err != nil {
		return nil
	}
	h := chess.NewHistory(start)
	for t := range boards[1:] {
		var l chess.MoveList
		h.Board().GenerateMoves(&l)
		m, ok := leading(h.Board(), l.Slice(), &boards[t+1])
		if !ok {
			return nil
		}
		h.Push(m)
	}
	return h
}

// letters are the men of FEN in the order of men, white's first.
const letters = "PNBRQKpnbrqk"

// boardOf builds a position by its FEN, which checks it. ep is the field behind
// the pawn, seen by the mover.
func boardOf(m men, black bool, castling string, ep chess.Square, rule50 int) (chess.Board, error) {
	if black {
		for k := range 6 {
			m[k], m[k+6] = bits.ReverseBytes64(m[k+6]), bits.ReverseBytes64(m[k])
		}
		if ep != chess.NoSquare {
			ep ^= 56
		}
	}
	occupied := uint64(0)
	for _, mask := range m {
		if twice := occupied & mask; twice != 0 {
			return chess.Board{}, fmt.Errorf("two men on %s", chess.Square(bits.TrailingZeros64(twice)))
		}
		occupied |= mask
	}
	fen := chess.AppendMen(make([]byte, 0, 96), func(sq chess.Square) byte {
		for k, mask := range m {
			if mask>>sq&1 != 0 {
				return letters[k]
			}
		}
		return 0
	})
	side := map[bool]string{false: "w", true: "b"}[black]
	b, err := chess.ParseFEN(fmt.Sprintf("%s %s %s %s %d 1", fen, side, cmp.Or(castling, "-"), ep, rule50))
	if err != nil {
		return b, fmt.Errorf("the planes are no position: %w", err)
	}
	return b, nil
}

// castlingField returns a record's rights as FEN letters, sorted: rook files from
// format 2 on, else those of the outermost rooks.
func castlingField(r *Record) string {
	var field []byte
	for i, c := range r.Castling {
		if c == 0 {
			continue
		}
		letter := "qk"[i&1]
		if r.InputFormat != formatClassical {
			letter = 'a' + byte(bits.TrailingZeros8(c))
		}
		if (i < 2) != r.blackToMove() {
			letter -= 'a' - 'A'
		}
		field = append(field, letter)
	}
	slices.Sort(field)
	return string(field)
}

// castlingOf returns a board's rights as rook files, sorted; "" for none.
func castlingOf(b *chess.Board) string {
	field := []byte(strings.Trim(strings.Fields(b.ShredderFEN())[2], "-"))
	slices.Sort(field)
	return string(field)
}

// lostRights returns the rights of standard chess that the men allow and
// castling (rook files) does not hold.
func lostRights(m *men, black bool, castling string) string {
	lost := ""
	for k, white := range [2]bool{!black, black} { // ours, theirs
		kings, rooks, home := m[6*k+int(chess.King)], m[6*k+int(chess.Rook)], 56*k
		if kings != 1<<(home+4) {
			continue
		}
		for i, file := range [2]int{0, 7} {
			letter := "ah"[i : i+1]
			if white {
				letter = "AH"[i : i+1]
			}
			if rooks>>(home+file)&1 == 1 && !strings.Contains(castling, letter) {
				lost += letter
			}
		}
	}
	return lost
}

// enPassant returns the field behind an enemy pawn that has just made a double
// step, seen by the mover: formats 3 up say it, the others show it in the
// history. NoSquare if there is none, or nobody can take it.
func enPassant(r *Record) chess.Square {
	behind := uint64(0)
	if r.canonical() {
		behind = r.transform().Inverse().Mask(uint64(r.SideOrEP)<<56) >> 16
	} else if r.Rule50 == 0 {
		now, before := r.Planes[6], r.Planes[encoding.PlanesPerBoard+6]
		const home = uint64(0xff) << 48
		if left := before &^ now; left&home == left && left>>16 == now&^before {
			behind = left >> 8
		}
	}
	if bits.OnesCount64(behind) != 1 {
		return chess.NoSquare
	}
	sq := chess.Square(bits.TrailingZeros64(behind))
	if pawns := menOf(r, 0); pawns[6]>>(sq-8)&1 == 0 || pawns[0]&(neighbours(sq-8)) == 0 {
		return chess.NoSquare
	}
	return sq
}

// neighbours returns the fields beside a field in its rank.
func neighbours(sq chess.Square) (m uint64) {
	const fileA, fileH = 0x0101010101010101, 0x8080808080808080
	m = 1 << sq
	return m>>1&^fileH | m<<1&^fileA
}
