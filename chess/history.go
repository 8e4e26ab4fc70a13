package chess

// History is a game line: the start board and every board since, with the
// repetition count of each. Push allocates only while the line grows beyond its
// longest length so far. It is not safe for concurrent use.
type History struct {
	line []position
}

// position is a board of a line.
type position struct {
	board Board
	move  Move  // played from it; not of the newest
	last  int32 // index of the most recent earlier occurrence, -1 if none
	reps  int32 // number of earlier occurrences
}

// historyRoom is the capacity that NewHistory starts with; most games fit.
const historyRoom = 256

// NewHistory returns a line of one board.
func NewHistory(start Board) *History {
	h := &History{line: make([]position, 0, historyRoom)}
	h.Reset(start)
	return h
}

// Reset starts a new line at start and keeps the memory.
func (h *History) Reset(start Board) { h.line = append(h.line[:0], position{board: start, last: -1}) }

// CopyFrom makes h equal to o, in h's own memory.
func (h *History) CopyFrom(o *History) { h.line = append(h.line[:0], o.line...) }

// Push plays a legal move from the newest board.
func (h *History) Push(m Move) {
	n := len(h.line)
	h.line[n-1].move = m
	h.line = append(h.line, position{board: h.line[n-1].board, last: -1})
	p := &h.line[n]
	p.board.Make(m)
	// Only boards since the last capture or pawn move, with the same side to
	// move, can be equal; two plies back is never equal.
	for i := n - 4; i >= 0 && i >= n-int(p.board.rule50); i -= 2 {
		if o := &h.line[i]; o.board.key == p.board.key && p.board.samePosition(&o.board) {
			p.last, p.reps = int32(i), o.reps+1
			break
		}
	}
}

// Truncate keeps the first n boards (1 <= n <= Len) and forgets the rest.
func (h *History) Truncate(n int) { h.line = h.line[:n] }

// Len returns the number of boards, at least 1.
func (h *History) Len() int { return len(h.line) }

// Board returns the newest board; it aliases the line and is valid until the next change.
func (h *History) Board() *Board { return &h.line[len(h.line)-1].board }

// At returns board i, 0 being the start; it aliases the line.
func (h *History) At(i int) *Board { return &h.line[i].board }

// MoveAt returns the move played from board i, 0 <= i < Len-1.
func (h *History) MoveAt(i int) Move { return h.line[i].move }

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
	names := [...]string{"not over", "checkmate", "stalemate", "repetition", "fifty moves", "material"}
	if int(t) < len(names) {
		return names[t]
	}
	return "unknown"
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
