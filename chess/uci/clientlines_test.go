package uci

import (
	"reflect"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

func TestScores(t *testing.T) {
	for _, c := range []struct {
		name, lines string
		want        Answer
	}{
		{"all", "depth 20 seldepth 31 multipv 1 score cp 34 wdl 80 870 50 nodes 123456 nps 1000000 hashfull 17 tbhits 3 time 123 pv e2e4", Answer{Scored: true, Score: 34, WDL: [3]int{80, 870, 50}, Nodes: 123456, Depth: 20}},
		{"a line without one leaves it", "depth 5 score cp -7 pv e2e4\nnodes 9\ndepth 6 currmove d2d4 currmovenumber 2", Answer{Scored: true, Score: -7, Nodes: 9, Depth: 6}},
		{"other variations", "depth 5 multipv 1 score cp 3 pv e2e4\ndepth 5 multipv 2 score cp 1 pv d2d4", Answer{Scored: true, Score: 3, Depth: 5}},
		{"other variations, said last", "score cp 3\nscore cp 1 multipv 2", Answer{Scored: true, Score: 3}},
		{"mate", "score mate 3", Answer{Scored: true, Score: 31997}},
		{"mated", "score mate -3", Answer{Scored: true, Score: -31997}},
		{"mate on the board", "score mate 0", Answer{Scored: true, Score: -32000}},
		{"a score after a mate", "score mate 3\nscore cp 12", Answer{Scored: true, Score: 12}},
		{"lower bound", "score cp 50 lowerbound nodes 4", Answer{Scored: true, Score: 50, Nodes: 4}},
		{"upper bound, then exact", "score cp 50 upperbound\nscore cp 45", Answer{Scored: true, Score: 45}},
		{"exact, then upper bound", "score cp 45 wdl 78 921 1\nscore cp -88 wdl 0 579 421 upperbound nodes 9", Answer{Scored: true, Score: 45, WDL: [3]int{78, 921, 1}, Nodes: 9}},
		{"text", "string score cp 7\ndepth 3 string nor score cp 9", Answer{Depth: 3}},
		{"wrong scores", "wdl 500 500 500\nwdl x\nscore\nscore cp\nscore cp x\nscore points 3\nscore wdl 1 2 3", Answer{}},
		{"bounds of numbers", "score cp 999999 depth 99999999999999999999 nodes -1 wdl 1 2", Answer{Scored: true, Score: 32000}},
	} {
		var got Answer
		for line := range strings.SplitSeq(c.lines, "\n") {
			got.read(line)
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestParseOption(t *testing.T) {
	for text, want := range map[string]Option{
		"name Skill Level type spin default 20 min 0 max 20": {Name: "Skill Level", Type: "spin", Min: 0, Max: 20},
		"name A type combo default b var b var c d":          {Name: "A", Type: "combo", Min: -1 << 62, Max: 1 << 62, Vars: []string{"b", "c d"}},
		"name P type string default <empty>":                 {Name: "P", Type: "string", Min: -1 << 62, Max: 1 << 62},
		"name S type spin min x max":                         {Name: "S", Type: "spin", Min: -1 << 62, Max: 1 << 62},
	} {
		if got, ok := parseOption(text); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "name", "name x", "type check", "name x type", "name x type slider", "x type check"} {
		if got, ok := parseOption(text); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// FuzzClientLines reads whatever an engine may say: nothing panics, moves are
// legal, scores and messages are bounded.
func FuzzClientLines(f *testing.F) {
	f.Add("depth 3 score cp 5 lowerbound wdl 1 2 3 pv e2e4 e7e5")
	f.Add("e2e4 ponder e7e5")
	f.Add("name Skill Level type spin default 20 min 0 max 20 var x")
	f.Add("score mate -9223372036854775808 string \x1b\xff")
	board := chess.StartBoard()
	c := &Client{Name: "x"}
	f.Fuzz(func(t *testing.T, text string) {
		var a Answer
		a.read(text)
		if a.Score > mateScore || a.Score < -mateScore {
			t.Fatalf("%+v", a)
		}
		err := c.bestMove(&a, &board, text)
		var legal chess.MoveList
		if board.GenerateMoves(&legal); (legal.Index(a.Move) >= 0) != (err == nil) {
			t.Fatalf("move %s, error %v", a.Move, err)
		}
		if o, ok := parseOption(text); ok {
			if o.Name == "" || len(o.Name) > maxWords {
				t.Fatalf("%+v", o)
			}
			if line, err := o.command(text); err == nil && strings.ContainsAny(line, "\r\n") {
				t.Fatalf("%q", line)
			}
		}
	})
}
