package uci

import (
	"bytes"
	"reflect"
	"slices"
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
		{"nodes 99999999999", &start, limits{nodes: maxNumber}},
		{"nodes 18446744073709551615 depth 0", &start, limits{nodes: maxNumber}},
		{"depth 5 mate 3", &start, limits{depth: 5, mate: 3}},
		{"movetime 0", &start, limits{moveTime: ms}},
		{"movetime 9223372036854775807", &start, limits{moveTime: maxNumber * ms}},
		{"movetime 7 wtime 9", &start, limits{moveTime: 7 * ms}},
		{"wtime 30000 btime 90000", &black, limits{onClock: true, clock: clock{left: 90 * time.Second}}},
		{"wtime 30000 btime 90000 winc 1000 movestogo 7", &start, limits{onClock: true, clock: clock{left: 30 * time.Second, increment: time.Second, movesToGo: 7}}},
		{"wtime 30000", &black, limits{}}, // no clock of ours
		{"wtime -5 winc -5 movestogo 0", &start, limits{onClock: true, clock: clock{left: -5 * ms}}},
		{"ponder wtime 5", &start, limits{ponder: true, onClock: true, clock: clock{left: 5 * ms}}},
		{"searchmoves e2e4 g1f3 nodes 3", &start, limits{nodes: 3, only: []chess.Move{move("e2e4"), move("g1f3")}}},
		{"perft 6", &start, limits{perft: 6}},
		{"nonsense nodes 3 more", &start, limits{nodes: 3}},
	} {
		got, wrong := parseGo(strings.Fields(c.args), c.board)
		if wrong != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("go %s: %+v, %v; want %+v", c.args, got, wrong, c.want)
		}
	}
}

// TestParseWrongGo holds what is said of wrong arguments, and the limits that stand beside them.
func TestParseWrongGo(t *testing.T) {
	start := chess.StartBoard()
	e2e4, err := start.ParseUCI("e2e4")
	if err != nil {
		t.Fatal(err)
	}
	const number, count = "wants a number", "wants a number, 0 or more"
	for _, c := range []struct {
		args string
		want limits
		says []string
	}{
		{"movetime abc", limits{}, []string{`go movetime ` + number + `, not "abc"`}},
		{"movetime 1e3 nodes 5", limits{nodes: 5}, []string{`go movetime ` + number + `, not "1e3"`}},
		{"depth x", limits{}, []string{`go depth ` + count + `, not "x"`}},
		{"nodes -1", limits{}, []string{`go nodes ` + count + `, not "-1"`}},
		{"mate -3 movestogo -1 wtime 9", limits{onClock: true, clock: clock{left: 9 * time.Millisecond}},
			[]string{`go mate ` + count + `, not "-3"`, `go movestogo ` + count + `, not "-1"`}},
		{"wtime abc btime 100", limits{}, []string{`go wtime ` + number + `, not "abc"`}},
		{"wtime 100 winc abc", limits{onClock: true, clock: clock{left: 100 * time.Millisecond}}, []string{`go winc ` + number + `, not "abc"`}},
		{"movetime wtime 50", limits{onClock: true, clock: clock{left: 50 * time.Millisecond}}, []string{"go movetime " + number}},
		{"nodes", limits{}, []string{"go nodes " + count}},
		{"infinite depth 0x3", limits{infinite: true}, []string{`go depth ` + count + `, not "0x3"`}},
		{"searchmoves e2e5 e2e4 nodes 3", limits{nodes: 3, only: []chess.Move{e2e4}}, []string{"go searchmoves: "}},
		{"searchmoves nodes 3", limits{nodes: 3}, []string{"go searchmoves wants moves"}},
		{"perft 21", limits{perft: noPerft}, []string{`go perft wants plies, 1 to 20, not "21"`}},
		{"perft", limits{perft: noPerft}, []string{"go perft wants plies, 1 to 20"}},
	} {
		got, wrong := parseGo(strings.Fields(c.args), &start)
		same := slices.EqualFunc(wrong, c.says, func(err error, says string) bool { return strings.HasPrefix(err.Error(), says) })
		if !same || !reflect.DeepEqual(got, c.want) {
			t.Errorf("go %s: %+v, %q; want %+v, %q", c.args, got, wrong, c.want, c.says)
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
		l, wrong := parseGo(strings.Fields(args), &b)
		if got := l.visits(800); wrong != nil || got != want {
			t.Errorf("go %s: %d visits, %v; want %d", args, got, wrong, want)
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
		"go movetime x\ngo depth -1 wtime\ngo perft z\ngo searchmoves e2e5 nodes\nstop",
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
