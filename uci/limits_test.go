package uci

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
)

func TestParseGo(t *testing.T) {
	for _, c := range []struct {
		args string
		side chess.Color
		want limits
	}{
		{"", chess.White, limits{}},
		{"infinite", chess.White, limits{infinite: true}},
		{"nodes 100", chess.White, limits{nodes: 100}},
		{"nodes -100", chess.White, limits{}},
		{"nodes 99999999999", chess.White, limits{nodes: maxNodes}},
		{"movetime 0", chess.White, limits{moveTime: time.Millisecond}},
		{"movetime 9223372036854775807", chess.White, limits{moveTime: maxNumber * time.Millisecond}},
		{"wtime 30000 btime 90000", chess.Black, limits{moveTime: 3 * time.Second}},
		{"wtime 30000 btime 90000 winc 1000", chess.White, limits{moveTime: 1750 * time.Millisecond}},
		{"wtime 30000", chess.Black, limits{}}, // no clock of ours
		{"wtime 1000 winc 5000", chess.White, limits{moveTime: 950 * time.Millisecond}},
		{"wtime 1000 movestogo 1", chess.White, limits{moveTime: 950 * time.Millisecond}},
		{"wtime 1000 movestogo 0", chess.White, limits{moveTime: 33 * time.Millisecond}},
		{"nonsense nodes 3 more", chess.White, limits{nodes: 3}},
	} {
		got, err := parseGo(strings.Fields(c.args), c.side)
		if err != nil || got != c.want {
			t.Errorf("go %s: %+v, %v; want %+v", c.args, got, err, c.want)
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
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		var out bytes.Buffer
		e := &Engine{Name: "fuzz", Net: &mcts.HashEvaluator{}, Search: mcts.DefaultConfig()}
		if err := e.Serve(t.Context(), strings.NewReader("isready\n"+text), &out); err != nil {
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
