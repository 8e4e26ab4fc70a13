// Package encoding turns chess positions into the network's input and moves
// into policy indices, and holds the two batch types that all rooms share.
//
// The input is 112 planes of 64 squares, Leela's format 1: eight history
// boards of thirteen planes each, then eight planes of rights, side, counters
// and constants. The first 104 are bit masks (bit i = square i, a1 = 0) and
// stay so until a backend expands them; the rest are the six small numbers of
// [Scalars]. Everything, history boards too, is from the side to move's view:
// for black the ranks are flipped, the files are not.
//
// The policy has 1858 entries: every queen line and knight jump between two
// squares in order, then the promotions to queen, rook and bishop. A promotion
// to a knight is the plain move; castling is king takes own rook.
//
//	h := chess.NewHistory(chess.StartBoard())
//	var moves chess.MoveList
//	h.Board().GenerateMoves(&moves)
//	b := encoding.NewBatch(256)
//	row := encoding.AppendPosition(b, h, &moves)
//	// ... an evaluator fills b ...
//	for j, p := range b.PriorOf(row) {
//		fmt.Println(moves.Moves[j], p)
//	}
//
// The other formats (castling planes, canonical orientation) are there for files
// and nets of others: [EncodeFormat], [Transform], [CanonicalTransform], and Format of a
// [Batch].
package encoding
