package chess_test

import (
	"fmt"

	"github.com/chessbrain/chessbrain/chess"
)

// A short game, move by move, to its end.
func ExampleHistory() {
	h := chess.NewHistory(chess.StartBoard())
	for _, san := range []string{"f3", "e5", "g4", "Qh4"} {
		m, err := h.Board().ParseSAN(san)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(h.Board().SideToMove(), m, h.Board().UCI(m, false), h.Board().SAN(m))
		h.Push(m)
	}
	var moves chess.MoveList
	h.Board().GenerateMoves(&moves)
	fmt.Println(moves.N, h.Terminal(moves.N))
	fmt.Println(h.Board().FEN())
	// Output:
	// white f2f3 f2f3 f3
	// black e2e4 e7e5 e5
	// white g2g4 g2g4 g4
	// black d1h5 d8h4 Qh4#
	// 0 checkmate
	// rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3
}

func ExampleParseFEN() {
	_, err := chess.ParseFEN("8/8/8/8/8/8/8/4K2R w K - 0 1")
	fmt.Println(err)
	// Output: FEN board "8/8/8/8/8/8/8/4K2R": a side has no king
}
