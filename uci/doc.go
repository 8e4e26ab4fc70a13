// Package uci speaks the Universal Chess Interface: the engine side, with which
// a chess GUI plays a net.
//
//	e := uci.Engine{Name: "chessbrain", Net: evaluator, Search: mcts.DefaultConfig()}
//	err := e.Serve(ctx, os.Stdin, os.Stdout)
//
// Commands: uci, isready, setoption, ucinewgame, position, go (nodes, movetime,
// wtime/btime/winc/binc/movestogo, infinite; depth and mate, which this search
// does not have, think one second), stop, ponderhit, quit. Unknown commands
// are ignored, as the protocol asks; a wrong one is answered with info string
// and changes nothing.
//
// One goroutine reads commands and one, while a search runs, thinks; a command
// that touches the search ends it first and waits for its bestmove. The tree is
// kept from move to move where the new position continues the old line.
package uci
