package uci

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
)

func TestParseGo(t *testing.T) {
	const ms = time.Millisecond
	start := chess.StartBoard()
	move := func(text string) chess.Move {
		m, err := start.ParseUCI(text)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	black := start
	black.Make(move("e2e4"))
	for _, c := range []struct {
		args  string
		board *chess.Board
		want  limits
	}{
		{"", &start, limits{}},
		{"infinite", &start, limits{infinite: true}},
		{"nodes 100", &start, limits{nodes: 100}},
		{"nodes -100", &start, limits{}},
		{"nodes 99999999999", &start, limits{nodes: maxNumber}},
		{"depth 5 mate 3", &start, limits{depth: 5, mate: 3}},
		{"movetime 0", &start, limits{moveTime: ms}},
		{"movetime 9223372036854775807", &start, limits{moveTime: maxNumber * ms}},
		{"movetime 7 wtime 9", &start, limits{moveTime: 7 * ms}},
		{"wtime 30000 btime 90000", &black, limits{onClock: true, clock: clock{left: 90 * time.Second}}},
		{"wtime 30000 btime 90000 winc 1000 movestogo 7", &start, limits{onClock: true, clock: clock{left: 30 * time.Second, increment: time.Second, movesToGo: 7}}},
		{"wtime 30000", &black, limits{}}, // no clock of ours
		{"wtime -5 winc -5 movestogo -5", &start, limits{onClock: true, clock: clock{left: -5 * ms}}},
		{"ponder wtime 5", &start, limits{ponder: true, onClock: true, clock: clock{left: 5 * ms}}},
		{"searchmoves e2e4 g1f3 nodes 3", &start, limits{nodes: 3, only: []chess.Move{move("e2e4"), move("g1f3")}}},
		{"perft 6", &start, limits{perft: 6}},
		{"nonsense nodes 3 more", &start, limits{nodes: 3}},
	} {
		got, err := parseGo(strings.Fields(c.args), c.board)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("go %s: %+v, %v; want %+v", c.args, got, err, c.want)
		}
	}
}

// TestVisits: a limit of another kind lifts the visits of a plain go.
func TestVisits(t *testing.T) {
	for args, want := range map[string]int{
		"": 800, "nodes 3": 3, "infinite": 0, "ponder": 0, "depth 3": 0, "mate 1": 0, "movetime 1": 0, "wtime 1": 0,
		"wtime 1 nodes 4": 4, "infinite nodes 5": 5, "btime 3": 800,
	} {
		b := chess.StartBoard()
		l, err := parseGo(strings.Fields(args), &b)
		if got := l.visits(800); err != nil || got != want {
			t.Errorf("go %s: %d visits, %v; want %d", args, got, err, want)
		}
	}
}

// FuzzCommands sends arbitrary lines: no crash, one bestmove at most for each go,
// and the engine still answers.
func FuzzCommands(f *testing.F) {
	for _, s := range []string{
		"uci\nisready\nposition startpos moves e2e4\ngo nodes 10\nstop\nquit",
		"position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1 moves e1h1\ngo infinite\nposition startpos\ngo wtime 1 btime 1 winc -5",
		"setoption name Nodes value 3\nsetoption name UCI_Chess960 value true\ngo\ngo",
		"position startpos moves g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8\ngo movetime 1",
		"go searchmoves\nsetoption value name\nponderhit\n\x00",
		"go ponder wtime 9\nponderhit\nisready\ngo searchmoves e2e4 d2d4 infinite\nucinewgame\ngo mate 2\nstop\ngo depth 3\nstop",
		"setoption name MultiPV value 5\nsetoption name UCI_ShowWDL value true\nsetoption name PolicyTemperature value 2\ngo nodes 9\nstop",
		"position fen k7/2Q5/1K6/8/8/8/8/8 b - - 0 1\ngo infinite\nstop\ngo ponder\nponderhit\ngo perft 9\nstop",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if low := strings.ToLower(text); len(text) > 1<<12 || strings.Contains(low, "hash") || strings.Contains(low, "cache") {
			return // a cache of many GiB may be asked for
		}
		var out bytes.Buffer
		e := &Engine{Name: "fuzz", Net: &mcts.HashEvaluator{}, Search: mcts.DefaultConfig()}
		if err := e.Set("Hash", "1"); err != nil {
			t.Fatal(err)
		}
		if err := e.Serve(t.Context(), strings.NewReader("isready\n"+text+"\nquit\n"), &out); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), "readyok\n") {
			t.Fatalf("no answer: %q", out.String())
		}
		if moves, asked := strings.Count(out.String(), "\nbestmove "), strings.Count(text, "go"); moves > asked {
			t.Fatalf("%d moves for %d go", moves, asked)
		}
	})
}
