package uci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/mcts"
)

func TestHandshake(t *testing.T) {
	g := playEngine(t.Context(), t, &Engine{Name: "test", Net: &mcts.HashEvaluator{}, Search: mcts.DefaultConfig()})
	g.send("", "   ", "uci")
	_, lines := g.expect("uciok")
	for _, want := range []string{"id name test", "option name Nodes type spin default 32 min 1 max 1000000000",
		"option name Threads type spin default 1 min 1 max 1", "option name Hash type spin default 64 min 1 max 16384",
		"option name Clear Hash type button", "option name MultiPV type spin default 1 min 1 max 256",
		"option name Move Overhead type spin default 50 min 0 max 10000", "option name CPuct type string default 1.5", "option name LCB type string default 0",
		"option name SyzygyPath type string default <empty>", "option name Ponder type check default false",
		"option name UCI_Chess960 type check default false"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in %q", want, lines)
		}
	}
	g.send("isready")
	g.expect("readyok")
	if err := g.quit(); err != nil {
		t.Error(err)
	}
}

// TestMoves asks for moves that can be only one, of a net that knows nothing.
func TestMoves(t *testing.T) {
	for _, c := range []struct{ name, position, command, want string }{
		{"mate in one", "fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "go nodes 100", "a1a8"},
		{"mate in one, black", "fen r5k1/8/8/8/8/8/5PPP/6K1 b - - 0 1", "go", "a8a1"},
		{"mate in one, few nodes", "fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "go nodes 2", "a1a8"},
		{"only move", "fen k7/8/8/8/8/8/1r6/K7 w - - 0 1", "go movetime 1", "a1b2"},
		{"checkmated", "startpos moves f2f3 e7e5 g2g4 d8h4", "go nodes 10", "0000"},
		{"checkmated on the clock", "fen 7k/8/8/8/8/8/r7/1r5K w - - 0 1", "go wtime 1000 btime 1000", "0000"},
		{"stalemate", "fen k7/2Q5/1K6/8/8/8/8/8 b - - 0 1", "go depth 3", "0000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := play(t.Context(), t, &mcts.HashEvaluator{})
			if got := g.bestMove("position "+c.position, c.command); got != c.want {
				t.Errorf("bestmove %s, want %s", got, c.want)
			}
		})
	}
}

// TestDrawnPosition asks for a move where the rules say draw but moves exist: a
// GUI that goes on gets the net's favourite.
func TestDrawnPosition(t *testing.T) {
	b := chess.StartBoard()
	m, err := b.ParseUCI("d2d4")
	if err != nil {
		t.Fatal(err)
	}
	for _, position := range []string{
		"startpos moves g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8",          // third occurrence
		"fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 100 90", // 50 moves
		"fen 8/8/8/8/8/2k5/8/K1N5 w - - 0 1",                              // material
	} {
		g := play(t.Context(), t, liking{m})
		got := g.bestMove("position "+position, "go nodes 50")
		if board := boardOf(t, "position "+position); board.Ours(chess.Pawn) != 0 && got != "d2d4" {
			t.Errorf("%s: bestmove %s, want the net's favourite", position, got)
		} else if got == "0000" {
			t.Errorf("%s: no move", position)
		}
	}
}

// TestCastlingNotation lets a net castle in both notations.
func TestCastlingNotation(t *testing.T) {
	for _, c := range []struct{ chess960, fen, want string }{
		{"false", "4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1"},
		{"true", "4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1h1"},
		{"true", "4k3/8/8/8/8/8/8/1R2K3 w B - 0 1", "e1b1"},
	} {
		b := chesstest.Board(t, c.fen)
		m, err := b.ParseUCI(c.want)
		if err != nil {
			t.Fatal(err)
		}
		g := play(t.Context(), t, liking{m})
		g.send("setoption name UCI_Chess960 value " + c.chess960)
		if got := g.bestMove("position fen "+c.fen, "go nodes 20"); got != c.want {
			t.Errorf("%s: bestmove %s, want %s", c.fen, got, c.want)
		}
		after := c.want + " e8e7"
		g.bestMove("position fen "+c.fen+" moves "+after, "go nodes 5")
	}
}

// TestWrongInput sends what is wrong: one info line, nothing changed, no end.
func TestWrongInput(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	g.send("position startpos moves e2e4")
	for _, line := range []string{
		"position", "position fen", "position fen 8/8/8/8 w - - 0 1", "position startpos moves e2e5", "position startpos e2e4",
		"position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 moves e7e5 \"", "position startpos moves e2e4 x",
		"setoption", "setoption name", "setoption name Nodes", "setoption name Nodes value 0", "setoption name Nodes value NaN",
		"setoption name Cpuct value NaN", "setoption name Cpuct value -1", "setoption name MinibatchSize value 257",
		"setoption name UCI_Chess960 value yes", "setoption name Hash value 0", "setoption name Threads value 2",
		"setoption Nodes value 3", "setoption name SyzygyPath value /no/such/directory",
		"go perft 0", "go perft 21", "go perft many", "hello", "xboard", "\x00\xff",
	} {
		g.send(line, "isready")
		_, before := g.expect("readyok")
		if len(before) != 1 || !strings.HasPrefix(before[0], "info string error: ") {
			t.Errorf("%q was answered with %q", line, before)
		}
	}
	for _, line := range []string{"", "stop", "ponderhit", "register later", "debug on", "setoption name clear hash"} {
		g.send(line, "isready")
		if _, before := g.expect("readyok"); len(before) != 0 {
			t.Errorf("%q was answered with %q", line, before)
		}
	}
	if got := g.bestMove("go nodes 5"); got[1] < '6' { // still after 1.e4: black moves
		t.Errorf("bestmove %s: the position was lost", got)
	}
}

// TestWrongGo sends a go that is wrong in part: one info line, and a move all the same.
func TestWrongGo(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	g.send("setoption name Nodes value 5", "position startpos moves e2e4")
	for _, line := range []string{
		"go movetime abc", "go movetime 1e3", "go movetime", "go depth x", "go nodes many", "go nodes", "go nodes -1", "go mate -1",
		"go wtime abc", "go btime abc wtime 100", "go wtime", "go btime 50 movestogo x",
		"go searchmoves", "go searchmoves e2e4", "go searchmoves e7e5 e2e4", "go searchmoves nodes 3",
	} {
		g.send(line)
		best, before := g.expect("bestmove ")
		if len(before) == 0 || !strings.HasPrefix(before[0], "info string error: go ") {
			t.Errorf("%q was answered with %q", line, before)
		}
		if slices.ContainsFunc(before[1:], func(s string) bool { return strings.HasPrefix(s, "info string") }) {
			t.Errorf("%q was answered twice: %q", line, before)
		}
		b := boardOf(t, "position startpos moves e2e4")
		checkBest(t, &b, best)
	}
	g.send("go ponder btime abc", "ponderhit") // pondering without any limit ends with it
	g.expect("bestmove ")
}

// TestGame plays a game against itself. Each position continues the last, so that
// the tree is kept; each move must be legal.
func TestGame(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	g.send("ucinewgame", "setoption name MinibatchSize value 3")
	line := "position startpos moves"
	for ply := range 120 {
		move := g.bestMove(line, fmt.Sprintf("go nodes %d", 5+ply%40))
		if move == "0000" {
			return
		}
		line += " " + move
	}
}

// TestFollow holds what is kept of the tree: all of it for the same position, the
// subtree for the next one, nothing for another game.
func TestFollow(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	nodes := func(lines ...string) int {
		g.send(lines...)
		_, before := g.expect("bestmove")
		return numberIn(t, before[len(before)-1], "nodes")
	}
	if n := nodes("position startpos", "go nodes 200"); n != 201 {
		t.Errorf("%d nodes, want 201", n)
	}
	if n := nodes("go nodes 2"); n != 201 {
		t.Errorf("the same position: %d nodes, want the 201 of before", n)
	}
	next := g.bestMove("go nodes 200")
	if n := nodes("position startpos moves "+next, "go nodes 1"); n < 5 || n >= 201 {
		t.Errorf("the next position: %d nodes, want those of the subtree", n)
	}
	if n := nodes("position fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "go nodes 1"); n != 2 {
		t.Errorf("another game: %d nodes, want 2", n)
	}
	for _, forgets := range []string{"ucinewgame", "setoption name Clear Hash", "setoption name CPuct value 2", "setoption name Hash value 1"} {
		if n := nodes("position startpos", "go nodes 200"); n != 201 {
			t.Errorf("before %s: %d nodes, want 201", forgets, n)
		}
		if n := nodes(forgets, "position startpos", "go nodes 1"); n != 2 {
			t.Errorf("after %s: %d nodes, want 2", forgets, n)
		}
	}
	nodes("position startpos", "go nodes 200")
	if n := nodes("setoption name MultiPV value 2", "go nodes 1"); n != 201 {
		t.Errorf("MultiPV dropped the tree: %d nodes, want 201", n)
	}
}

// TestStopHangingNet stops a search whose evaluation does not come back: the
// evaluation is cancelled, its leaves are forgotten, the move comes.
func TestStopHangingNet(t *testing.T) {
	net := &hanging{entered: make(chan struct{}, 100)}
	g := play(t.Context(), t, net)
	for _, command := range []string{"go infinite", "go nodes 100000", "go wtime 3600000 btime 3600000", "go ponder", "go depth 99", "go mate 3"} {
		g.send("position startpos", command)
		<-net.entered
		g.send("isready") // is answered while the search runs
		g.expect("readyok")
		g.bestMove("stop")
	}
	g.send("go infinite")
	<-net.entered
	if err := g.quit(); err != nil {
		t.Error(err)
	}
	g.expect("bestmove")
}

// TestStopRunningSearch stops searches of a net that answers at once.
func TestStopRunningSearch(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	g.bestMove("position startpos", "go infinite", "stop")
	g.bestMove("position fen 8/8/8/8/8/8/1r6/K1k5 w - - 0 1", "go infinite", "stop")
	g.send("go infinite", "go nodes 3") // a second go ends the first
	g.expect("bestmove")
	g.expect("bestmove")
	g.send("ucinewgame", "go nodes 300", "position startpos moves d2d4", "go nodes 3") // unless that ends by itself
	if _, infos := g.expect("bestmove"); !strings.Contains(strings.Join(infos, "\n"), " nodes 30") {
		t.Errorf("the first search was cut: %s", infos)
	}
	g.expect("bestmove")
	g.send("go infinite", "position startpos moves e2e4", "isready")
	if _, before := g.expect("readyok"); !strings.HasPrefix(before[len(before)-1], "bestmove") {
		t.Errorf("position did not end the search: %q", before)
	}
}

// TestEnd ends the engine in three ways in the middle of a search; the move still
// comes.
func TestEnd(t *testing.T) {
	for name, end := range map[string]func(g *gui, cancel func()){
		"quit":          func(g *gui, _ func()) { g.send("quit") },
		"end of input":  func(g *gui, _ func()) { g.in.Close() },
		"context's end": func(_ *gui, cancel func()) { cancel() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		net := &hanging{entered: make(chan struct{}, 100)}
		g := play(ctx, t, net)
		g.send("go infinite")
		<-net.entered
		end(g, cancel)
		g.expect("bestmove")
		if err := <-g.done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	g.in.CloseWithError(io.ErrUnexpectedEOF)
	if err := <-g.done; err != io.ErrUnexpectedEOF {
		t.Errorf("Serve returned %v, want the reader's error", err)
	}
}

// TestPipedCommands ends the input right after go: what has limits is let finish,
// unless the context ends.
func TestPipedCommands(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	g.send("go nodes 3000")
	g.in.Close()
	if _, before := g.expect("bestmove"); numberIn(t, before[len(before)-1], "nodes") != 3001 {
		t.Errorf("a search of 3000 nodes ended with %q", before)
	}
	g = play(t.Context(), t, &mcts.HashEvaluator{})
	g.send("go perft 4")
	g.in.Close()
	g.expect("Nodes searched: 197281")

	ctx, cancel := context.WithCancel(t.Context())
	net := &hanging{entered: make(chan struct{}, 100)}
	g = play(ctx, t, net)
	g.send("go nodes 3000")
	<-net.entered
	g.in.Close()
	cancel()
	g.expect("bestmove")
	if err := <-g.done; err != nil {
		t.Error(err)
	}
}

// TestWarm: uciok does not wait for the net, readyok does, and it is made ready once.
func TestWarm(t *testing.T) {
	for _, broken := range []bool{false, true} {
		started, done := make(chan struct{}), make(chan struct{})
		calls := 0
		e := &Engine{Name: "test", Net: &mcts.HashEvaluator{}, Search: mcts.DefaultConfig(), Warm: func() error {
			calls++
			close(started)
			<-done
			if broken {
				return errors.New("the net is cold")
			}
			return nil
		}}
		if err := e.Set("Hash", "1"); err != nil {
			t.Fatal(err)
		}
		g := playEngine(t.Context(), t, e)
		g.send("uci")
		g.expect("uciok")
		g.send("isready")
		<-started
		if len(g.lines) > 0 {
			t.Errorf("said before the net was ready: %q", <-g.lines)
		}
		close(done)
		if _, before := g.expect("readyok"); slices.Contains(before, "info string error: the net is cold") != broken {
			t.Errorf("broken %v: %q", broken, before)
		}
		g.bestMove("position startpos moves e2e4", "go nodes 10")
		g.bestMove("setoption name Hash value 2", "isready", "position startpos", "go nodes 10")
		g.in.Close()
		if err := <-g.done; err != nil || calls != 1 {
			t.Errorf("made ready %d times, %v", calls, err)
		}
	}
}

// TestFailingNet lets the net fail at its first and at a later call: one info
// line, a legal move, and the search goes on with a net that is mended.
func TestFailingNet(t *testing.T) {
	for _, from := range []int64{1, 2, 5} {
		net := &failing{}
		net.from.Store(from)
		g := play(t.Context(), t, net)
		g.send("position startpos", "go nodes 100")
		line, before := g.expect("bestmove")
		if !slices.Contains(before, "info string error: the net is broken") || strings.Contains(line, "0000") {
			t.Errorf("from call %d: %q, %q", from, before, line)
		}
		net.from.Store(1 << 40)
		g.send("go nodes 100")
		if _, before := g.expect("bestmove"); numberIn(t, before[len(before)-1], "nodes") != 101 {
			t.Errorf("from call %d: after the failure %q", from, before)
		}
	}
}
