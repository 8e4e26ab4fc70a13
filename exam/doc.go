// Package exam examines what a net has learnt, against the exact values that
// the retrograde solver gives: three-men endings with a queen, rook or pawn.
//
// A fixed hash of the position splits the endings into starts, from which
// games may begin, and held-out positions, which are asked in the exam and are
// never a start.
//
//	tables := exam.Solve()
//	set := tables.HeldOutSet(600, 1)             // balanced over win, draw, loss
//	values, err := exam.Values(ctx, net, set)    // does the value head agree?
//	mates, err := tables.Mates(ctx, net, chess.Rook, 100, exam.MateOptions{Visits: 100, Moves: 50})
package exam
