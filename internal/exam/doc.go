// Package exam examines what a net has learnt, against the exact values that
// the retrograde solver gives: three-men endings with a queen, rook or pawn.
//
// A fixed hash of the position splits the endings into starts, from which
// games may begin, and held-out positions, which are asked in the exam and are
// never a start.
//
//	tables := exam.Solve()
//	starts := tables.Starts(30000, 1)         // FENs for self-play
//	set := tables.HeldOutSet(1200, 1)         // balanced over win, draw, loss
//	values, err := exam.Values(ctx, net, set) // does the value head agree?
//	search := mcts.DefaultConfig()
//	search.Simulations = 100
//	mates, err := tables.Mates(ctx, net, chess.Rook, 200, exam.MateOptions{Search: search, Moves: 50})
package exam
