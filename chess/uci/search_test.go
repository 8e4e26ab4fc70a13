package uci

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// withoutTime cuts the part of an info line that depends on the clock.
func withoutTime(lines []string) (cut []string) {
	for _, line := range lines {
		before, rest, _ := strings.Cut(line, " nps ")
		_, after, _ := strings.Cut(rest, " pv ")
		cut = append(cut, before+" pv "+after)
	}
	return cut
}

// counting counts the positions that it is asked about, and fails from the one on that
// failsFrom names.
type counting struct {
	mcts.HashEvaluator
	positions atomic.Int64
	failsFrom int64 // 0 = never
}

func (c *counting) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if n := c.positions.Add(int64(b.N)); c.failsFrom > 0 && n >= c.failsFrom {
		return errBroken
	}
	return c.HashEvaluator.Evaluate(ctx, b)
}

// TestThreads: all threads search, all visits are one tree's, and there are not more
// of them than were wanted; with a thread whose net fails the others go on.
func TestThreads(t *testing.T) {
	for _, gumbel := range []string{"false", "true"} {
		for _, threads := range []int{1, 2, 6} {
			nets := []*counting{{}}
			e := &Engine{Name: "test", Net: nets[0], Search: mcts.DefaultConfig(), Another: func() mcts.Evaluator {
				nets = append(nets, &counting{})
				if len(nets) == 4 {
					nets[3].failsFrom = 5
				}
				return nets[len(nets)-1]
			}}
			g := playEngine(t.Context(), t, e)
			g.send(fmt.Sprintf("setoption name Threads value %d", threads), "setoption name NNCacheSize value 0", "setoption name Gumbel value "+gumbel,
				"position startpos moves e2e4", "go nodes 1000")
			_, before := g.expect("bestmove")
			if got := numberIn(t, before[len(before)-1], "nodes"); got != 1001 {
				t.Errorf("%d threads: %d nodes", threads, got)
			}
			g.send("go movetime 300")
			_, lines := g.expect("bestmove")
			lines = append(lines, before...)
			if failed := slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, "the net is broken") }); failed != (threads > 3) {
				t.Errorf("%d threads: %q", threads, lines)
			}
			for i, net := range nets {
				if net.positions.Load() == 0 {
					t.Errorf("thread %d of %d was never asked", i, threads)
				}
			}
		}
	}
}

// TestSetBeforeServe: an option of the command line holds, and the GUI sees it as
// the default.
func TestSetBeforeServe(t *testing.T) {
	e := &Engine{Name: "test", Net: &mcts.HashEvaluator{}, Search: mcts.DefaultConfig()}
	for _, c := range []struct {
		name, value string
		ok          bool
	}{{"nodes", "77", true}, {"NODES", "x", false}, {"Colour", "red", false}} {
		if err := e.Set(c.name, c.value); (err == nil) != c.ok {
			t.Errorf("%s = %s: %v", c.name, c.value, err)
		}
	}
	g := playEngine(t.Context(), t, e)
	g.send("uci")
	if _, lines := g.expect("uciok"); !slices.Contains(lines, "option name Nodes type spin default 77 min 1 max 1000000000") {
		t.Errorf("%q", lines)
	}
	g.send("go")
	_, before := g.expect("bestmove")
	if n := numberIn(t, before[len(before)-1], "nodes"); n != 78 {
		t.Errorf("a plain go has %d nodes, want 78", n)
	}
}

// TestOptionBounds sets every option to its bounds and beyond.
func TestOptionBounds(t *testing.T) {
	e := &Engine{Net: &mcts.HashEvaluator{}, Search: mcts.DefaultConfig(), Another: func() mcts.Evaluator { return nil }, line: chess.NewHistory(chess.StartBoard())}
	e.settings.fill(&e.Search)
	for i, o := range e.options() {
		now := func() string { return e.options()[i].now }
		switch o.kind {
		case "spin":
			var low, high int
			if _, err := fmt.Sscanf(o.span, " min %d max %d", &low, &high); err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{high, low} {
				if err := e.Set(o.name, fmt.Sprint(n)); err != nil || now() != fmt.Sprint(n) {
					t.Errorf("%s = %d: %v, is %s", o.name, n, err, now())
				}
			}
			for _, n := range []int{low - 1, high + 1} {
				if err := e.Set(o.name, fmt.Sprint(n)); err == nil || now() != fmt.Sprint(low) {
					t.Errorf("%s = %d: %v, is %s", o.name, n, err, now())
				}
			}
		case "check":
			for _, v := range []string{"true", "false"} {
				if err := e.Set(o.name, v); err != nil || now() != v {
					t.Errorf("%s = %s: %v, is %s", o.name, v, err, now())
				}
			}
		case "string":
			before := now()
			for _, v := range []string{"NaN", "-1e9", "1e99"} {
				if err := e.Set(o.name, v); err == nil || now() != before {
					t.Errorf("%s = %s: %v, is %s", o.name, v, err, now())
				}
			}
			if err := e.Set(o.name, before); err != nil || now() != before {
				t.Errorf("%s = %s: %v, is %s", o.name, before, err, now())
			}
		case "button":
			if err := e.Set(o.name, ""); err != nil {
				t.Errorf("%s: %v", o.name, err)
			}
		default:
			t.Errorf("%s is a %s", o.name, o.kind)
		}
	}
}

// TestMultiPV wants different moves, the best first, each with a legal line.
func TestMultiPV(t *testing.T) {
	for _, c := range []struct {
		position, command string
		asked, want       int
	}{
		{"startpos", "go nodes 600", 4, 4},
		{"fen 8/8/4k3/3p4/3P4/4K3/8/8 w - - 0 1", "go nodes 300", 256, 5},
		{"fen k7/8/8/8/8/8/1r6/K7 w - - 0 1", "go nodes 20", 3, 1},
		{"startpos", "go nodes 300 searchmoves a2a3 h2h4", 5, 2},
	} {
		g := play(t.Context(), t, &mcts.HashEvaluator{})
		g.send(fmt.Sprintf("setoption name MultiPV value %d", c.asked), "position "+c.position, c.command)
		last, before := g.expect("bestmove")
		lines := infos(before)
		lines = lines[max(0, len(lines)-c.want):]
		seen := map[string]bool{}
		for i, line := range lines {
			if n := numberIn(t, line, "multipv"); n != i+1 {
				t.Errorf("%q is line %d", line, i+1)
			}
			_, pv, _ := strings.Cut(line, " pv ")
			b := boardOf(t, "position "+c.position)
			pvOf(t, b, strings.Fields(pv)...)
			seen[strings.Fields(pv)[0]] = true
			if i == 0 && strings.Fields(pv)[0] != strings.Fields(last)[1] {
				t.Errorf("%q does not lead to %q", line, last)
			}
			if sel := numberIn(t, line, "seldepth"); sel < len(strings.Fields(pv)) || sel < numberIn(t, line, "depth") {
				t.Errorf("seldepth: %q", line)
			}
		}
		if len(lines) != c.want || len(seen) != c.want {
			t.Errorf("%s: %d lines, %d moves, want %d: %q", c.command, len(lines), len(seen), c.want, lines)
		}
	}
}

// TestSearchMoves restricts the search, also where it knows other moves already
// and where a move that is left out mates.
func TestSearchMoves(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	const mate = "position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
	for _, c := range []struct{ position, moves string }{
		{"position startpos", "a2a3 h2h4"}, {"position startpos", "g1h3"}, {mate, "g1f1 a1a7"}, {mate, "a1a8 g1f1"},
		{"position fen 6k1/8/8/8/8/8/1R6/R5K1 b - - 0 1", "g8f8"}, // it loses
		{"position fen 8/8/8/8/8/2k5/8/K1N5 w - - 0 1", "c1a2"},   // drawn by the rules
	} {
		g.bestMove(c.position, "go nodes 300")
		move := g.bestMove(c.position, "go nodes 300 searchmoves "+c.moves)
		if !slices.Contains(strings.Fields(c.moves), move) {
			t.Errorf("%s: %s is not one of %s", c.position, move, c.moves)
		}
		if c.position == mate && strings.Contains(c.moves, "a1a8") && move != "a1a8" {
			t.Errorf("%s instead of the mate", move)
		}
	}
	if move := g.bestMove(mate, "go nodes 300"); move != "a1a8" { // the restriction is gone
		t.Errorf("%s instead of the mate", move)
	}
}

// TestDepthAndMate: the two limits end a search, and so does a tree that is full.
func TestDepthAndMate(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	g.send("position startpos", "go depth 3")
	_, before := g.expect("bestmove")
	if line := before[len(before)-1]; numberIn(t, line, "depth") != 3 {
		t.Errorf("go depth 3: %q", line)
	}
	g.send("position fen 6k1/8/8/8/8/8/1R6/R5K1 w - - 0 1", "go mate 2")
	_, before = g.expect("bestmove")
	if line := before[len(before)-1]; !strings.Contains(line, " score mate 2 ") {
		t.Errorf("go mate 2: %q", line)
	}
	g.send("setoption name RamLimitMb value 1", "position startpos", "go depth 60")
	_, before = g.expect("bestmove")
	if n := numberIn(t, before[len(before)-1], "nodes"); n < 1000 || n > 3000 { // 1024 nodes; some leaves were visited again
		t.Errorf("a tree of 1 MiB: %d visits", n)
	}
}

// TestDecidedPosition: where every line is known, no simulation needs the net;
// stop ends such a search all the same.
func TestDecidedPosition(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	// Kings and blocked pawns; every move repeats or runs into the 50-move rule.
	g.bestMove("position fen 8/8/4k3/3p4/3P4/4K3/8/8 w - - 97 100", "go infinite", "isready", "stop")
	g.bestMove("position fen 8/8/4k3/3p4/3P4/4K3/8/8 w - - 99 100", "go infinite", "isready", "stop")
}

// TestWDL: the shares are shown when asked for, and sum to 1000.
func TestWDL(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	g.send("position startpos", "go nodes 20")
	if _, before := g.expect("bestmove"); strings.Contains(before[len(before)-1], " wdl ") {
		t.Errorf("not asked for: %q", before)
	}
	g.send("setoption name UCI_ShowWDL value true", "go nodes 50")
	_, before := g.expect("bestmove")
	var w, d, l int
	line := before[len(before)-1]
	if _, err := fmt.Sscanf(line[max(0, strings.Index(line, " wdl ")):], " wdl %d %d %d", &w, &d, &l); err != nil || w+d+l != 1000 {
		t.Errorf("%q: %d %d %d, %v", line, w, d, l, err)
	}
}

// TestPerft counts the known tree of the start position, and can be stopped.
func TestPerft(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	g.send("position startpos", "go perft 4")
	last, before := g.expect("Nodes searched")
	if last != "Nodes searched: 197281" || len(before) != 20 || !slices.Contains(before, "e2e4: 13160") {
		t.Errorf("%q, %q", before, last)
	}
	g.send("go perft 20", "isready", "stop", "isready")
	g.expect("readyok")
	if _, before := g.expect("readyok"); !slices.Contains(before, "info string perft was stopped") {
		t.Errorf("%q", before)
	}
}

// TestCommandsDuringSearch: what does not concern a search leaves it alone.
func TestCommandsDuringSearch(t *testing.T) {
	net := &hanging{entered: make(chan struct{}, 100)}
	g := play(t.Context(), t, net)
	g.send("position startpos", "go infinite")
	<-net.entered
	g.send("isready", "uci", "debug on", "nonsense", "ponderhit", "setoption name Colour value red", "", "isready")
	g.expect("readyok")
	_, before := g.expect("readyok")
	for _, line := range before {
		if strings.HasPrefix(line, "bestmove") {
			t.Errorf("the search was ended: %q", before)
		}
	}
	g.bestMove("stop")
}

// TestLongLine: a line without end is passed over, and said so.
func TestLongLine(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	if _, err := io.WriteString(g.in, "position startpos moves "+strings.Repeat("e2e4 ", maxCommand/5)+"\nisready\n"); err != nil {
		t.Fatal(err)
	}
	if _, before := g.expect("readyok"); len(before) != 1 || !strings.HasPrefix(before[0], "info string error: ") {
		t.Errorf("%q", before)
	}
	shuffle := strings.Repeat("g1f3 g8f6 f3g1 f6g8 ", 10000) // 200 000 bytes
	g.bestMove("position startpos moves "+shuffle, "go nodes 3")
	if _, err := io.WriteString(g.in, "isready"); err != nil { // without an end of line
		t.Fatal(err)
	}
	g.in.Close()
	g.expect("readyok")
}

// TestGumbelVisits: a search that ends by visits alone is Gumbel's up to mcts.GumbelVisits,
// and PUCT with more.
func TestGumbelVisits(t *testing.T) {
	said := func(gumbel bool, nodes int) []string {
		c := mcts.DefaultConfig()
		c.Gumbel.Enabled = gumbel
		g := playEngine(t.Context(), t, &Engine{Name: "test", Net: &mcts.HashEvaluator{}, Search: c})
		g.send("position startpos", fmt.Sprintf("go nodes %d", nodes))
		last, before := g.expect("bestmove")
		all := withoutTime(infos(before))
		return append(all[len(all)-1:], last)
	}
	for nodes, same := range map[int]bool{mcts.GumbelVisits: false, mcts.GumbelVisits + 1: true} {
		if with, without := said(true, nodes), said(false, nodes); slices.Equal(with, without) != same {
			t.Errorf("%d nodes: %q with Gumbel, %q without", nodes, with, without)
		}
	}
}
