package chess

import "slices"

// History is a game line: the start board and every board since, with the
// repetition count of each. Push allocates only while the line grows beyond its
// longest length so far. It is not safe for concurrent use.
type History struct {
	line []entry // never empty
}

// entry is a board of a line.
type entry struct {
	board Board
	move  Move  // that led to it
	last  int32 // index of the most recent earlier occurrence, -1 if none
	reps  int32 // number of earlier occurrences
}

// historyRoom is the capacity that NewHistory starts with; most games fit.
const historyRoom = 256

// NewHistory returns a line of one board.
func NewHistory(start Board) *History {
	h := &History{make([]entry, 0, historyRoom)}
	h.Reset(start)
	return h
}

// Reset starts a new line at start and keeps the memory.
func (h *History) Reset(start Board) {
	h.line = append(h.line[:0], entry{board: start, last: -1})
}

// CopyFrom makes h equal to o, in h's own memory.
func (h *History) CopyFrom(o *History) { h.line = append(h.line[:0], o.line...) }

// Push plays a legal move from the newest board.
func (h *History) Push(m Move) {
	n := len(h.line)
	h.line = slices.Grow(h.line, 1)[:n+1]
	e := &h.line[n]
	b := &e.board
	h.line[n-1].board.makeIn(b, m)
	e.move, e.last, e.reps = m, -1, 0
	// Only boards since the last capture or pawn move, with the same side to
	// move, can be equal; two plies back is never equal.
	for i := n - 4; i >= 0 && i >= n-int(b.rule50); i -= 2 {
		if old := &h.line[i]; old.board.key == b.key && b.samePosition(&old.board) {
			e.last, e.reps = int32(i), old.reps+1
			break
		}
	}
}

// Truncate keeps the first n boards (1 <= n <= Len) and forgets the rest.
func (h *History) Truncate(n int) { h.line = h.line[:n] }

// Len returns the number of boards, at least 1.
func (h *History) Len() int { return len(h.line) }

// Board returns the newest board; it aliases the line and is valid until the next change.
func (h *History) Board() *Board { return h.At(len(h.line) - 1) }

// At returns board i, 0 being the start; it aliases the line.
func (h *History) At(i int) *Board { return &h.line[i].board }

// MoveAt returns the move played from board i, 0 <= i < Len-1.
func (h *History) MoveAt(i int) Move { return h.line[i+1].move }

// Moves appends the moves of the line to dst.
func (h *History) Moves(dst []Move) []Move {
	for i := range h.line[1:] {
		dst = append(dst, h.line[i+1].move)
	}
	return dst
}

// Repetitions returns how often the position of board i occurred earlier in the
// line: same men, castling rights, en-passant flag and side to move.
func (h *History) Repetitions(i int) int { return int(h.line[i].reps) }

// RepetitionAt returns the index of the most recent earlier occurrence of the
// position of board i, -1 if there is none.
func (h *History) RepetitionAt(i int) int { return int(h.line[i].last) }

// Terminal says whether and why a game is over.
type Terminal uint8

// The ends of a game by rule.
const (
	NotOver    Terminal = iota
	Checkmate           // the mover is mated
	Stalemate           // the mover has no legal move and is not in check
	Repetition          // the position occurred for the third time
	FiftyMoves          // 100 plies without capture or pawn move
	Material            // nobody can mate
)

// String returns the name of the end.
func (t Terminal) String() string {
	names := [...]string{"not over", "checkmate", "stalemate", "repetition", "fifty moves", "material", "unknown"}
	return names[min(int(t), len(names)-1)]
}

// Terminal returns the state of the newest board, given its number of legal
// moves. Mate and stalemate come before the draws by rule, which are tested in
// the order material, fifty moves, repetition.
func (h *History) Terminal(numLegal int) Terminal {
	b := h.Board()
	switch {
	case numLegal == 0 && b.InCheck():
		return Checkmate
	case numLegal == 0:
		return Stalemate
	case b.InsufficientMaterial():
		return Material
	case b.rule50 >= 100:
		return FiftyMoves
	case h.Repetitions(h.Len()-1) >= 2:
		return Repetition
	}
	return NotOver
}
