// Package syzygy knows the truth about positions with few men.
//
// Solve computes, by retrograde analysis from the rules alone, the distance to
// mate of every position with two kings and one queen, rook, pawn, bishop or
// knight. It needs no files and a second or so a table, and serves as the
// examiner of nets that learn such endings and as the oracle of tests.
//
//	t := syzygy.Solve(chess.Rook)
//	wdl, plies, ok := t.Probe(&board)
//
// Distances are in plies to mate under best play without the 50-move rule; the
// longest wins are 19 plies (10 moves) for KQK, 31 (16) for KRK and 55 (28) for
// KPK.
package syzygy
