package syzygy

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/chess"
)

// Cell values of a table besides distances. A win in n plies is n (odd), a loss
// in n plies is -n-1 (n even, so a mated side is -1).
const (
	cellDraw    int16 = 0
	cellIllegal int16 = -32768
)

// tableSize is the number of cells: side to move x strong king x weak king x
// third man.
const tableSize = 2 * 64 * 64 * 64

// Table holds the value of every position with two kings and one more man, the
// strong side's.
type Table struct {
	Piece chess.PieceType // the third man
	cells []int16         // [tableSize], by index
}

// Position is one cell of a Table as a board with its value.
type Position struct {
	Board chess.Board
	WDL   int // +1 win, 0 draw, -1 loss of the side to move
	Plies int // distance to mate in plies, 0 for a draw and for a mated side
}

// SolveWinning computes the tables that have wins, KQK, KRK and KPK, in the
// time of two of them on two cores.
func SolveWinning() map[chess.PieceType]*Table {
	var rook *Table
	var wait sync.WaitGroup
	wait.Go(func() { rook = solve(chess.Rook) })
	queen := solve(chess.Queen)
	wait.Wait()
	return map[chess.PieceType]*Table{chess.Queen: queen, chess.Rook: rook, chess.Pawn: solve(chess.Pawn, queen, rook)}
}

// solve computes the table of one piece. promoted are those that a pawn may turn
// into; a knight or a bishop alone cannot win, so that their tables are not needed.
func solve(piece chess.PieceType, promoted ...*Table) *Table {
	s := solver{table: &Table{Piece: piece, cells: make([]int16, tableSize)}, promoted: promoted}
	s.build()
	s.propagate()
	return s.table
}

// Probe returns the value of b for its side to move. ok is false where b is
// not a position of this table.
func (t *Table) Probe(b *chess.Board) (wdl, plies int, ok bool) {
	i, ok := t.index(b)
	if !ok || t.cells[i] == cellIllegal {
		return 0, 0, false
	}
	wdl, plies = value(t.cells[i])
	return wdl, plies, true
}

// All calls yield with every legal position, in index order, until it returns
// false. The strong side is white.
func (t *Table) All(yield func(Position) bool) {
	for i, c := range t.cells {
		if c == cellIllegal {
			continue
		}
		b, err := chess.ParseFEN(cellFEN(t.Piece, i))
		if err != nil {
			panic(fmt.Sprintf("syzygy: cell %d: %v", i, err)) // build accepted it
		}
		wdl, plies := value(c)
		if !yield(Position{b, wdl, plies}) {
			return
		}
	}
}

// Longest returns the longest win in plies.
func (t *Table) Longest() int {
	return int(slices.Max(t.cells))
}

// value splits a cell into result and distance.
func value(c int16) (wdl, plies int) {
	switch {
	case c > 0:
		return 1, int(c)
	case c < 0:
		return -1, int(-c - 1)
	}
	return 0, 0
}

// index returns the cell of b, seen from the strong side.
func (t *Table) index(b *chess.Board) (int, bool) {
	if bits.OnesCount64(b.Occupied()) != 3 {
		return 0, false
	}
	ours, theirs := b.Ours(t.Piece), b.Theirs(t.Piece)
	if ours == 0 && theirs == 0 {
		return 0, false
	}
	ourKing := bits.TrailingZeros64(b.Ours(chess.King))
	theirKing := bits.TrailingZeros64(b.Theirs(chess.King))
	if ours != 0 {
		return cellIndex(0, ourKing, theirKing, bits.TrailingZeros64(ours)), true
	}
	return cellIndex(1, theirKing^56, ourKing^56, bits.TrailingZeros64(theirs)^56), true
}

// cellIndex numbers a cell: weak is 1 where the weak side is to move.
func cellIndex(weak, strongKing, weakKing, man int) int {
	return ((weak*64+strongKing)*64+weakKing)*64 + man
}

// cellFEN writes a cell with white as the strong side.
func cellFEN(piece chess.PieceType, i int) string {
	man, weakKing, strongKing, weak := i%64, i/64%64, i/4096%64, i/262144
	fen := chess.AppendMen(nil, func(sq chess.Square) byte {
		switch int(sq) {
		case man:
			return piece.Letter()
		case weakKing:
			return 'k'
		case strongKing:
			return 'K'
		}
		return 0
	})
	return string(fen) + " " + "wb"[weak:weak+1] + " - - 0 1"
}

// solver holds a table under construction.
type solver struct {
	table    *Table
	promoted []*Table // of a pawn's promotions to queen and rook

	open  []int32 // cells without a value yet
	first []int32 // [len(open)+1] successors of open[i] are next[first[i]:first[i+1]]
	next  []int32 // successor cells; of one outside the table: outside plus its value
	limit int16   // longest distance outside the table
}

// outside is below all cells, by more than any value.
const outside = -1 << 16

// build marks illegal cells, mates and stalemates and lists the successors of
// all others.
func (s *solver) build() {
	var list chess.MoveList
	s.first = append(s.first, 0)
	for i := range s.table.cells {
		b, err := chess.ParseFEN(cellFEN(s.table.Piece, i))
		if err != nil { // men on one field, kings adjacent, side not to move in check, pawn on the last rank
			s.table.cells[i] = cellIllegal
			continue
		}
		b.GenerateMoves(&list)
		if list.N == 0 {
			if b.InCheck() {
				s.table.cells[i] = -1
			}
			continue // stalemate: a draw
		}
		for _, m := range list.Slice() {
			child := b
			child.Make(m)
			s.next = append(s.next, s.successor(&child))
		}
		s.open = append(s.open, int32(i))
		s.first = append(s.first, int32(len(s.next)))
	}
}

// successor numbers a child position.
func (s *solver) successor(b *chess.Board) int32 {
	if i, ok := s.table.index(b); ok {
		return int32(i)
	}
	for _, t := range s.promoted {
		if i, ok := t.index(b); ok {
			v := t.cells[i]
			s.limit = max(s.limit, v, -v)
			return outside + int32(v)
		}
	}
	return outside // a draw: the third man was taken, or is a knight or a bishop
}

// propagate finds wins and losses by increasing distance until nothing more is
// decided; what remains open is drawn.
func (s *solver) propagate() {
	quiet := 0
	for plies := int16(1); quiet < 2 || plies <= s.limit+1; plies++ {
		changed := false
		for k, cell := range s.open {
			if s.table.cells[cell] != cellDraw {
				continue
			}
			if v, ok := s.decide(k, plies); ok {
				s.table.cells[cell], changed = v, true
			}
		}
		if quiet++; changed {
			quiet = 0
		}
	}
}

// decide values open cell k if its distance is exactly plies: a win needs one
// successor lost in plies-1, a loss all successors won in at most plies-1.
func (s *solver) decide(k int, plies int16) (int16, bool) {
	allWon := true
	for _, n := range s.next[s.first[k]:s.first[k+1]] {
		var v int16
		if n < 0 {
			v = int16(n - outside)
		} else {
			v = s.table.cells[n]
		}
		if v == -plies { // lost in plies-1
			return plies, true
		}
		if v <= 0 || v > plies-1 {
			allWon = false
		}
	}
	if allWon {
		return -plies - 1, true
	}
	return 0, false
}
