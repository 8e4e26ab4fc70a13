// Package uci speaks the Universal Chess Interface, both ends of it: Engine, with
// which a chess GUI plays a net, and Client, which plays any engine.
//
//	e := uci.Engine{Name: "chessbrain", Net: evaluator, Search: mcts.DefaultConfig()}
//	err := e.Serve(ctx, os.Stdin, os.Stdout)
//
// The engine's commands: uci, isready, setoption (options.go), ucinewgame, position,
// go, stop, ponderhit, quit; go with nodes, depth, movetime, the clocks, mate,
// infinite, ponder, searchmoves, and perft. What is wrong or unknown is answered
// with info string and changes nothing; a go with a wrong argument finds a move by
// its other ones, by those of a plain go where there are none.
//
// Nodes are visits of the root, those of a kept tree included; depth is the mean
// plies of the simulations and seldepth those of the deepest one. Whatever the
// limits, a search ends where its outcome is proven (go mate waits for no shorter
// one) and where its tree has used its room; clock.go says how a clock is spent.
// The tree is kept from move to move where the new position continues the old
// line, and the net's answers until ucinewgame.
//
// One goroutine reads commands and one, while a search runs, thinks; a command
// that touches the search ends it first and waits for its bestmove. An infinite
// search sends its move after stop only, one that ponders after ponderhit or stop.
// The end of the input stops these two and lets any other finish.
package uci
