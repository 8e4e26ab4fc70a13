// Package chess holds the rules: positions, strictly legal moves, FEN, SAN, UCI
// moves, repetition and the other ends of a game, perft. Chess960 is supported
// throughout; standard chess is a case of it.
//
// Everything on a Board is seen by the side to move: its pawns walk up, a1 = 0 is
// its own queenside corner, and for black the ranks (not the files) are flipped.
// Make turns the board over. Castling is the king taking its own rook (e1h1).
// Boards are copied, never unmade; generating and making moves allocates nothing.
//
//	h := chess.NewHistory(chess.StartBoard())
//	var moves chess.MoveList
//	for {
//		h.Board().GenerateMoves(&moves)
//		if end := h.Terminal(moves.N); end != chess.NotOver {
//			fmt.Println(end)
//			break
//		}
//		m := moves.Moves[rand.IntN(moves.N)]
//		fmt.Println(h.Board().SAN(m))
//		h.Push(m)
//	}
//
// Legality comes from masks (fields that answer a check, lines of pins, fields
// safe for the king), so no move is tried out, en passant excepted. What sliders
// attack is computed line by line by subtraction (hyperbola quintessence): tables
// of all of it would take the caches from the nets.
//
// A Board may be read by any number of goroutines at once; a History belongs to one.
package chess
