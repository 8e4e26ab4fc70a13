package exam

import (
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/syzygy"
)

// Pieces are the third men of the exam.
var Pieces = []chess.PieceType{chess.Queen, chess.Rook, chess.Pawn}

// Tables holds the solved endings.
type Tables map[chess.PieceType]*syzygy.Table

// Solve computes the endings of Pieces, some seconds.
func Solve() Tables { return syzygy.SolveWinning() }

// Probe returns the value of b for its side to move from the table that has it.
func (t Tables) Probe(b *chess.Board) (wdl, plies int, ok bool) {
	for _, p := range Pieces {
		if t[p] == nil {
			continue
		}
		if wdl, plies, ok = t[p].Probe(b); ok {
			return wdl, plies, true
		}
	}
	return 0, 0, false
}

// HeldOut says whether a position of an ending belongs to the exam and is
// therefore never a start: one in ten, by a hash of its Zobrist key. A position
// and the same one with the colours exchanged belong to one side.
func HeldOut(b *chess.Board) bool {
	if strongToMove(b) != (b.SideToMove() == chess.White) {
		o := recolour(b)
		b = &o
	}
	x := b.Key()
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return (x^x>>33)%10 == 0
}

// Starts returns n different positions as FENs, not held out and not over:
// a third from each ending, either side to move, drawn uniformly with the
// seed. Both colours are the strong side equally often.
func (t Tables) Starts(n int, seed uint64) []string {
	rng := rand.New(rand.NewPCG(seed, 1))
	var all []string
	for k, p := range Pieces {
		var open []chess.Board
		for pos := range t[p].All {
			if !HeldOut(&pos.Board) && !over(&pos.Board) {
				open = append(open, pos.Board)
			}
		}
		for _, b := range draw(rng, open, (n+len(Pieces)-1-k)/len(Pieces)) {
			all = append(all, b.FEN())
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// draw returns n of the boards, or all where there are fewer, with black as the
// strong side in every second one. boards is shuffled.
func draw(rng *rand.Rand, boards []chess.Board, n int) []chess.Board {
	rng.Shuffle(len(boards), func(i, j int) { boards[i], boards[j] = boards[j], boards[i] })
	boards = boards[:min(n, len(boards))]
	alternate(boards)
	return boards
}

// over says whether a position has no move or too little material.
func over(b *chess.Board) bool {
	var list chess.MoveList
	b.GenerateMoves(&list)
	return list.N == 0 || b.InsufficientMaterial()
}

// Question is a held-out position with its value for the side to move.
type Question struct {
	Piece  chess.PieceType
	Board  chess.Board
	WDL    int  // +1 win, 0 draw, -1 loss
	Strong bool // the side with the third man is to move
}

// cell is a kind of question.
type cell struct {
	piece  chess.PieceType
	wdl    int
	strong bool // to move
}

// quotas are how many of 24 questions are of a kind. A side with a third man
// never loses and one without never wins, so that wins are the strong side's and
// losses the weak side's.
var quotas = []struct {
	cell
	of24 int
}{
	{cell{chess.Pawn, 1, true}, 4}, {cell{chess.Queen, 1, true}, 2}, {cell{chess.Rook, 1, true}, 2},
	{cell{chess.Pawn, -1, false}, 4}, {cell{chess.Queen, -1, false}, 2}, {cell{chess.Rook, -1, false}, 2},
	{cell{chess.Pawn, 0, true}, 4}, {cell{chess.Pawn, 0, false}, 2}, {cell{chess.Queen, 0, false}, 1}, {cell{chess.Rook, 0, false}, 1},
}

// HeldOutSet returns n held-out positions, n at least 24 and exact in multiples
// of 24, else rounded by kind: a third wins, a third draws, a third losses; half
// with either side to move; half of the wins and losses and three quarters of the
// draws from the pawn ending. (The draws of queen and rook have the weak side to
// move, which takes the piece: the strong side to move always wins there.)
func (t Tables) HeldOutSet(n int, seed uint64) []Question {
	rng := rand.New(rand.NewPCG(seed, 2))
	pools := map[cell][]chess.Board{}
	for _, p := range Pieces {
		for pos := range t[p].All {
			if HeldOut(&pos.Board) && !over(&pos.Board) {
				c := cell{p, pos.WDL, strongToMove(&pos.Board)}
				pools[c] = append(pools[c], pos.Board)
			}
		}
	}
	var set []Question
	before := 0
	for _, q := range quotas {
		upTo := before + q.of24
		for _, b := range draw(rng, pools[q.cell], upTo*n/24-before*n/24) {
			set = append(set, Question{q.piece, b, q.wdl, q.strong})
		}
		before = upTo
	}
	return set
}
