package syzygy

import (
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// Tables and solved endings are what a search asks below its root.
var (
	_ interface {
		Probe(b *chess.Board) (wdl int, ok bool)
	} = (*Tables)(nil)
	_ interface {
		Probe(b *chess.Board) (wdl int, ok bool)
	} = (*Endgames)(nil)
)

// facts are results and distances that tables give. Where they count moves, the exact
// distance is one ply more: exactPlies.
var facts = []struct {
	fen      string
	wdl, dtz int
}{
	{"8/8/8/8/8/8/2Rk4/1K6 b - - 0 1", Loss, -32},
	{"5Qk1/8/8/8/8/8/8/4K3 b - - 0 1", Draw, 0},
	{"6k1/8/8/8/8/5p2/8/2K5 b - - 0 1", Win, 1},
	{"8/8/8/8/8/k1p5/8/3K4 b - - 0 1", Win, 3},
	{"8/2p5/8/8/8/5k2/8/2K5 w - - 0 1", Loss, -8},
	{"8/8/8/6B1/8/8/4k3/1K5N b - - 0 1", Loss, -65},
	{"8/8/8/8/8/2p5/3q2k1/4K3 w - - 0 1", Loss, -1}, // mated
	{"8/8/8/8/8/2k5/8/2K5 w - - 0 1", Draw, 0},
}

// exactPlies are the distances of facts that the tables round.
var exactPlies = map[string]int{"8/8/8/6B1/8/8/4k3/1K5N b - - 0 1": -66}

func TestFactsFromTables(t *testing.T) {
	tables := openShared(t)
	if got := tables.men; got != 4 {
		t.Errorf("%d men, want 4", got)
	}
	for _, c := range facts {
		b := parse(t, c.fen)
		if wdl, ok := tables.WDL(b); wdl != c.wdl || !ok {
			t.Errorf("%s: WDL %d %v, want %d", c.fen, wdl, ok, c.wdl)
		}
		if dtz, ok := tables.DTZ(b); dtz != c.dtz || !ok {
			t.Errorf("%s: DTZ %d %v, want %d", c.fen, dtz, ok, c.dtz)
		}
		if wdl, ok := tables.Probe(b); wdl != c.wdl/2 || !ok {
			t.Errorf("%s: Probe %d %v, want %d", c.fen, wdl, ok, c.wdl/2)
		}
	}
	if err := tables.Err(); err != nil {
		t.Error(err)
	}
}

// BenchmarkProbe asks for results and distances of random positions.
func BenchmarkProbe(b *testing.B) {
	tables := openShared(b)
	var boards []chess.Board
	for s := range three().All("KRvK") {
		boards = append(boards, s.Board)
	}
	b.Run("WDL", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			tables.WDL(&boards[i*7919%len(boards)])
		}
	})
	b.Run("DTZ", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			tables.DTZ(&boards[i*7919%len(boards)])
		}
	})
}
