package chess

// History is a game line: the start board and every board since, with the
// repetition count of each. Push allocates only while the line grows beyond its
// longest length so far. It is not safe for concurrent use.
type History struct {
	boards []Board
	moves  []Move  // moves[i] was played from boards[i]; one shorter than boards
	last   []int32 // index of the most recent earlier occurrence, -1 if none
	reps   []int32 // number of earlier occurrences
}

// historyRoom is the capacity that NewHistory starts with; most games fit.
const historyRoom = 256

// NewHistory returns a line of one board.
func NewHistory(start Board) *History {
	h := &History{
		boards: make([]Board, 0, historyRoom),
		moves:  make([]Move, 0, historyRoom),
		last:   make([]int32, 0, historyRoom),
		reps:   make([]int32, 0, historyRoom),
	}
	h.Reset(start)
	return h
}

// Reset starts a new line at start and keeps the memory.
func (h *History) Reset(start Board) {
	h.boards = append(h.boards[:0], start)
	h.moves = h.moves[:0]
	h.last = append(h.last[:0], -1)
	h.reps = append(h.reps[:0], 0)
}

// CopyFrom makes h equal to o, in h's own memory.
func (h *History) CopyFrom(o *History) {
	h.boards = append(h.boards[:0], o.boards...)
	h.moves = append(h.moves[:0], o.moves...)
	h.last = append(h.last[:0], o.last...)
	h.reps = append(h.reps[:0], o.reps...)
}

// Push plays a legal move from the newest board.
func (h *History) Push(m Move) {
	n := len(h.boards)
	h.boards = append(h.boards, h.boards[n-1])
	h.moves = append(h.moves, m)
	b := &h.boards[n]
	b.Make(m)
	last, reps := int32(-1), int32(0)
	// Only boards since the last capture or pawn move, with the same side to
	// move, can be equal; two plies back is never equal.
	for i := n - 4; i >= 0 && i >= n-int(b.rule50); i -= 2 {
		if h.boards[i].key == b.key && b.samePosition(&h.boards[i]) {
			last, reps = int32(i), h.reps[i]+1
			break
		}
	}
	h.last = append(h.last, last)
	h.reps = append(h.reps, reps)
}

// Truncate keeps the first n boards (1 <= n <= Len) and forgets the rest.
func (h *History) Truncate(n int) {
	h.boards = h.boards[:n]
	h.moves = h.moves[:n-1]
	h.last = h.last[:n]
	h.reps = h.reps[:n]
}

// Len returns the number of boards, at least 1.
func (h *History) Len() int { return len(h.boards) }

// Board returns the newest board; it aliases the line and is valid until the next change.
func (h *History) Board() *Board { return &h.boards[len(h.boards)-1] }

// At returns board i, 0 being the start; it aliases the line.
func (h *History) At(i int) *Board { return &h.boards[i] }

// MoveAt returns the move played from board i, 0 <= i < Len-1.
func (h *History) MoveAt(i int) Move { return h.moves[i] }

// Repetitions returns how often the position of board i occurred earlier in the
// line: same men, castling rights, en-passant flag and side to move.
func (h *History) Repetitions(i int) int { return int(h.reps[i]) }

// RepetitionAt returns the index of the most recent earlier occurrence of the
// position of board i, -1 if there is none.
func (h *History) RepetitionAt(i int) int { return int(h.last[i]) }

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
	case h.reps[len(h.reps)-1] >= 2:
		return Repetition
	}
	return NotOver
}
