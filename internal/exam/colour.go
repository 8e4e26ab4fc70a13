package exam

import (
	"math/bits"

	"github.com/chessbrain/chessbrain/chess"
)

// strongToMove says whether the side with the third man is to move.
func strongToMove(b *chess.Board) bool { return bits.OnesCount64(b.OurMen()) == 2 }

// recolour exchanges the colours: the same position for the side to move, with
// the other colour.
func recolour(b *chess.Board) chess.Board {
	o, err := chess.ParseFEN(swapColours(b.FEN()))
	if err != nil {
		panic("exam: a legal position has no mirror: " + err.Error())
	}
	return o
}

// alternate gives black the third man of every second board.
func alternate(boards []chess.Board) {
	for i := 1; i < len(boards); i += 2 {
		boards[i] = recolour(&boards[i])
	}
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
