package uci

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
)

func TestInfoLines(t *testing.T) {
	start := chess.StartBoard()
	move := func(text string) chess.Move {
		m, err := start.ParseUCI(text)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	e4 := []chess.Move{move("e2e4")}
	for _, c := range []struct {
		name, lines string
		want        Info
	}{
		{"all", "depth 20 seldepth 31 multipv 1 score cp 34 wdl 80 870 50 nodes 123456 nps 1000000 hashfull 17 tbhits 3 time 123 pv e2e4",
			Info{Depth: 20, SelDepth: 31, Scored: true, ScoreCP: 34, WDL: [3]int{80, 870, 50}, Nodes: 123456, NPS: 1000000, HashFull: 17, TBHits: 3,
				Time: 123 * time.Millisecond, PV: e4}},
		{"a line leaves what it does not name", "depth 5 score cp -7 pv e2e4\nnodes 9\ndepth 6 currmove d2d4 currmovenumber 2",
			Info{Depth: 6, Scored: true, ScoreCP: -7, Nodes: 9, PV: e4}},
		{"other variations", "depth 5 multipv 1 score cp 3 pv e2e4\ndepth 5 multipv 2 score cp 1 pv d2d4", Info{Depth: 5, Scored: true, ScoreCP: 3, PV: e4}},
		{"mate", "score mate 3", Info{Scored: true, Mate: 3, ScoreCP: 31997}},
		{"mated", "score mate -3", Info{Scored: true, Mate: -3, ScoreCP: -31997}},
		{"mate on the board", "score mate 0", Info{Scored: true, ScoreCP: -32000}},
		{"a score after a mate", "score mate 3\nscore cp 12", Info{Scored: true, ScoreCP: 12}},
		{"chances of another score", "score cp 1 wdl 1 2 997\nscore cp 5", Info{Scored: true, ScoreCP: 5}},
		{"lower bound", "score cp 50 lowerbound nodes 4", Info{Scored: true, ScoreCP: 50, Bound: 1, Nodes: 4}},
		{"upper bound, then exact", "score cp 50 upperbound\nscore cp 45", Info{Scored: true, ScoreCP: 45}},
		{"upper bound", "score cp 50 upperbound nodes 4", Info{Scored: true, ScoreCP: 50, Bound: -1, Nodes: 4}},
		{"the line ends at an illegal move", "pv e2e4 e2e4 e7e5", Info{PV: e4}},
		{"an illegal line", "pv e2e5", Info{}},
		{"a line of nothing", "depth 1 pv", Info{Depth: 1}},
		{"text", "string depth 7 is not read\ndepth 3 string nor score cp 9", Info{Depth: 3, Text: "nor score cp 9"}},
		{"wrong numbers", "depth -4 seldepth x nodes 99999999999999999999 nps score cp", Info{}},
		{"wrong scores", "score\nscore cp\nscore cp x\nscore points 3\nscore wdl 1 2 3", Info{WDL: [3]int{1, 2, 3}}},
		{"wrong chances", "wdl 1 2\nwdl 1 2 x\nwdl -1 2 3\nwdl 1 2 1001", Info{}},
		{"bounds of numbers", "score cp 999999 depth 9999999999", Info{Scored: true, ScoreCP: 32000, Depth: 1 << 30}},
	} {
		var r infoReader
		for line := range strings.SplitSeq(c.lines, "\n") {
			r.take(line)
		}
		if got := r.finish(&start); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestParseOption(t *testing.T) {
	for text, want := range map[string]Option{
		"name Skill Level type spin default 20 min 0 max 20": {Name: "Skill Level", Type: "spin", Default: "20", Min: 0, Max: 20},
		"name A type combo default b var b var c d":          {Name: "A", Type: "combo", Default: "b", Min: -1 << 62, Max: 1 << 62, Vars: []string{"b", "c d"}},
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
// legal, messages are bounded.
func FuzzClientLines(f *testing.F) {
	f.Add("depth 3 score cp 5 lowerbound wdl 1 2 3 pv e2e4 e7e5")
	f.Add("e2e4 ponder e7e5")
	f.Add("name Skill Level type spin default 20 min 0 max 20 var x")
	f.Add("score mate -9223372036854775808 string \x1b\xff")
	board := chess.StartBoard()
	c := &Client{name: "x"}
	f.Fuzz(func(t *testing.T, text string) {
		var r infoReader
		r.take(text)
		info := r.finish(&board)
		b := board
		var legal chess.MoveList
		for _, m := range info.PV {
			if b.GenerateMoves(&legal); legal.Index(m) < 0 {
				t.Fatalf("illegal %s in %s", m, b.FEN())
			}
			b.Make(m)
		}
		if len(info.Text) > maxWords || info.ScoreCP > MateScore || info.ScoreCP < -MateScore || info.Depth < 0 || info.Nodes < 0 {
			t.Fatalf("%+v", info)
		}
		var a Answer
		err := c.bestMove(&a, &board, text)
		if board.GenerateMoves(&legal); (legal.Index(a.Move) >= 0) != (err == nil) {
			t.Fatalf("move %s, error %v", a.Move, err)
		}
		if o, ok := parseOption(text); ok {
			if o.Name == "" || len(o.Name) > maxWords {
				t.Fatalf("%+v", o)
			}
			if line, err := o.command(o.Default); err == nil && strings.ContainsAny(line, "\r\n") {
				t.Fatalf("%q", line)
			}
		}
	})
}
