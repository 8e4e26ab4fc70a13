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

// HeldOut says whether a position belongs to the exam and is therefore never a
// start: one in ten, by a hash of its Zobrist key.
func HeldOut(b *chess.Board) bool {
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
		rng.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		for i := range min(len(open), (n+len(Pieces)-1-k)/len(Pieces)) {
			all = append(all, asColour(&open[i], i%2 == 1))
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Question is a held-out position with its value for the side to move.
type Question struct {
	Piece  chess.PieceType
	Board  chess.Board
	WDL    int  // +1 win, 0 draw, -1 loss
	Strong bool // the side with the third man is to move
}

// HeldOutSet returns n held-out positions: a third wins, a third draws, a
// third losses; half of each from the pawn ending and the rest from the others
// where they have such positions; the draws half with the strong side to move
// (from the pawn ending, which alone has them in number).
func (t Tables) HeldOutSet(n int, seed uint64) []Question {
	rng := rand.New(rand.NewPCG(seed, 2))
	type cell struct {
		piece  chess.PieceType
		wdl    int
		strong bool
	}
	pools := map[cell][]Question{}
	for _, p := range Pieces {
		for pos := range t[p].All {
			if !HeldOut(&pos.Board) || over(&pos.Board) {
				continue
			}
			strong := pos.Board.SideToMove() == chess.White
			c := cell{p, pos.WDL, strong}
			pools[c] = append(pools[c], Question{p, pos.Board, pos.WDL, strong})
		}
	}
	var set []Question
	for _, want := range []struct {
		cell
		share float64
	}{
		{cell{chess.Pawn, 1, true}, 1. / 6}, {cell{chess.Queen, 1, true}, 1. / 12}, {cell{chess.Rook, 1, true}, 1. / 12},
		{cell{chess.Pawn, -1, false}, 1. / 6}, {cell{chess.Queen, -1, false}, 1. / 12}, {cell{chess.Rook, -1, false}, 1. / 12},
		{cell{chess.Pawn, 0, true}, 1. / 6}, {cell{chess.Pawn, 0, false}, 1. / 12}, {cell{chess.Queen, 0, false}, 1. / 24}, {cell{chess.Rook, 0, false}, 1. / 24},
	} {
		pool := pools[want.cell]
		rng.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		for i := range min(len(pool), int(want.share*float64(n)+.5)) {
			q := pool[i]
			if i%2 == 1 { // black as the strong side in half of them
				q.Board = recolour(&q.Board)
			}
			set = append(set, q)
		}
	}
	return set
}

// over says whether a position has no move or too little material.
func over(b *chess.Board) bool {
	var list chess.MoveList
	b.GenerateMoves(&list)
	return list.N == 0 || b.InsufficientMaterial()
}

// asColour writes b as a FEN, with the colours exchanged if other is set.
func asColour(b *chess.Board, other bool) string {
	if other {
		o := recolour(b)
		return o.FEN()
	}
	return b.FEN()
}

// recolour exchanges the colours: the same position for the side to move, with
// the other colour.
func recolour(b *chess.Board) chess.Board {
	o, err := chess.ParseFEN(swapColours(b.FEN()))
	if err != nil {
		panic("exam: a legal position has no mirror: " + err.Error())
	}
	return o
}

// swapColours mirrors the board of a FEN without castling rights or en-passant
// square and exchanges the colours.
func swapColours(fen string) string {
	ranks := [8][]byte{}
	rank, i := 0, 0
	for ; fen[i] != ' '; i++ {
		switch c := fen[i]; {
		case c == '/':
			rank++
		case c >= 'a':
			ranks[rank] = append(ranks[rank], c-'a'+'A')
		case c >= 'A':
			ranks[rank] = append(ranks[rank], c-'A'+'a')
		default:
			ranks[rank] = append(ranks[rank], c)
		}
	}
	out := make([]byte, 0, len(fen))
	for r := 7; r >= 0; r-- {
		out = append(out, ranks[r]...)
		if r > 0 {
			out = append(out, '/')
		}
	}
	side := byte('w')
	if fen[i+1] == 'w' {
		side = 'b'
	}
	return string(append(out, ' ', side)) + fen[i+2:]
}
