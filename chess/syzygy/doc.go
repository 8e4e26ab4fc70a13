// Package syzygy knows the truth about positions with few men, from two sources:
//
//   - Tables reads Syzygy table files, of up to seven men: results (.rtbw) and
//     distances to the next capture or pawn move (.rtbz), and ranks the moves of a
//     position by them.
//   - SolveWinning computes the distance to mate of every position with two kings and one
//     man, without the 50-move rule: the examiner of nets that learn such endings.
//     The longest wins are 19 plies (10 moves) for KQK, 31 (16) for KRK and 55 (28)
//     for KPK.
//
// Tables answer as seen by the side to move:
//
//	tables, err := syzygy.Open("/tables/345", "/tables/6") // err: nothing there
//	wdl, ok := tables.WDL(&board)                          // Loss -2 ... Win 2
//	dtz, ok := tables.DTZ(&board)                          // plies, < 0 for losses
//	moves, ok := tables.RankRoot(history)                  // those Kept spoil nothing
//	err = tables.Err()                                     // names broken files
//
// The tests hold the tables of three and four men against a solver of their own, which
// knows the endings from the rules alone (endgamesolver_test.go).
//
// The file format is Ronald de Man's, as engines read it: positions are numbered up
// to symmetry (squares.go, layout.go), values compressed by recursive pairing with
// Huffman coded symbols (pairs.go). The checksum at the end of a file is not checked;
// whatever is read is checked against the file's bounds.
package syzygy
