package uci

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/mcts"
)

// pvOf reads moves from a position.
func pvOf(t *testing.T, b chess.Board, texts ...string) (pv []chess.Move) {
	t.Helper()
	for _, text := range texts {
		m, err := b.ParseUCI(text)
		if err != nil {
			t.Fatal(err)
		}
		pv = append(pv, m)
		b.Make(m)
	}
	return pv
}

func TestReport(t *testing.T) {
	ladder := chesstest.Board(t, "6k1/8/8/8/8/8/1R6/R5K1 w - - 0 1")
	defence := ladder
	defence.Make(pvOf(t, ladder, "b2b7")[0])
	for _, c := range []struct {
		board  chess.Board
		report report
		want   []string
	}{
		{chess.StartBoard(), report{depth: 3, selDepth: 9, nodes: 1201, newNodes: 800, elapsed: 2 * time.Second, hashFull: 7, lines: []reportLine{
			{number: 1, value: encoding.QDM{Q: 0.1, D: 0.5}, pv: pvOf(t, chess.StartBoard(), "e2e4", "e7e5")},
			{number: 2, value: encoding.QDM{Q: -0.536, D: 0.2}, pv: pvOf(t, chess.StartBoard(), "d2d4")}}},
			[]string{"info depth 3 seldepth 9 multipv 1 score cp 14 nodes 1201 nps 400 hashfull 7 tbhits 0 time 2000 pv e2e4 e7e5",
				"info depth 3 seldepth 9 multipv 2 score cp -100 nodes 1201 nps 400 hashfull 7 tbhits 0 time 2000 pv d2d4"}},
		{chess.StartBoard(), report{depth: 1, nodes: 1, newNodes: 1, tableHits: 5, wdl: true, lines: []reportLine{{number: 1, value: encoding.QDM{Q: 0.25, D: 0.5}}}},
			[]string{"info depth 1 seldepth 1 multipv 1 score cp 37 wdl 375 500 125 nodes 1 nps 1000 hashfull 0 tbhits 5 time 0"}},
		{ladder, report{depth: 2, selDepth: 3, nodes: 50, wdl: true, lines: []reportLine{
			{number: 1, value: encoding.QDM{Q: 1}, proven: mcts.ProvenWin, pv: pvOf(t, ladder, "b2b7", "g8h8", "a1a8")}}},
			[]string{"info depth 2 seldepth 3 multipv 1 score mate 2 wdl 1000 0 0 nodes 50 nps 0 hashfull 0 tbhits 0 time 0 pv b2b7 g8h8 a1a8"}},
		{defence, report{depth: 2, selDepth: 2, nodes: 50, lines: []reportLine{
			{number: 1, value: encoding.QDM{Q: -1}, proven: mcts.ProvenLoss, pv: pvOf(t, defence, "g8h8", "a1a8")}}},
			[]string{"info depth 2 seldepth 2 multipv 1 score mate -1 nodes 50 nps 0 hashfull 0 tbhits 0 time 0 pv g8h8 a1a8"}},
		{ladder, report{depth: 2, selDepth: 2, nodes: 50, lines: []reportLine{ // won by the tables: no mate in sight
			{number: 1, value: encoding.QDM{Q: 1}, proven: mcts.ProvenWin, pv: pvOf(t, ladder, "b2b7", "g8h8")}}},
			[]string{"info depth 2 seldepth 2 multipv 1 score cp 12780 nodes 50 nps 0 hashfull 0 tbhits 0 time 0 pv b2b7 g8h8"}},
	} {
		if got := c.report.format(&c.board, false); !slices.Equal(got, c.want) {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

func TestCentipawns(t *testing.T) {
	for q, want := range map[float64]int{0: 0, 0.536: 100, -0.536: -100, 1: 12780, 7: 12780} {
		if got := Centipawns(q); got < want-1 || got > want+1 {
			t.Errorf("Centipawns(%g) = %d, want %d", q, got, want)
		}
	}
}

// TestPerMille: three shares of 1000, whatever the net's rounding.
func TestPerMille(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 10000 {
		d := rng.Float32()
		v := encoding.QDM{Q: (2*rng.Float32() - 1) * (1 - d), D: d}
		w, draw, l := perMille(v)
		wantW, wantD, wantL := v.WDL()
		if w < 0 || draw < 0 || l < 0 || w+draw+l != 1000 || max(far(w, wantW), far(draw, wantD), far(l, wantL)) > 1 {
			t.Fatalf("seed %d: %+v: %d %d %d", seed, v, w, draw, l)
		}
	}
}

// far returns how far per mille are from a share, less what rounding may do.
func far(n int, share float32) float32 {
	return max(float32(n)-1000*share, 1000*share-float32(n)) - 0.5
}
