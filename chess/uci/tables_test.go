package uci

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/syzygy"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/mcts"
)

// TestTables: in a position of the tables only moves that keep its result are
// played, by a net that knows nothing; where a capture leads into them the search
// asks them.
func TestTables(t *testing.T) {
	dir := golden.Path(t, "syzygy")
	truth, err := syzygy.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	g.send("setoption name SyzygyPath value " + dir)
	for _, c := range []struct {
		fen  string
		hits bool
	}{
		{"8/8/8/8/3k4/8/4P3/4K3 w - - 0 1", true},
		{"8/8/8/3k4/8/8/4P3/4K3 b - - 0 1", true},
		{"8/8/8/8/1k6/8/1K2Q3/8 w - - 3 9", true},
		{"8/8/8/4k3/3q4/8/3R4/3K4 w - - 0 1", true},
		{"r3k2r/8/8/8/8/8/8/4K3 b kq - 0 1", false}, // castling: not in the tables
	} {
		g.send("position fen "+c.fen, "go nodes 40")
		last, before := g.expect("bestmove")
		b := chesstest.Board(t, c.fen)
		checkBest(t, &b, last)
		if hits := numberIn(t, before[len(before)-1], "tbhits"); (hits > 0) != c.hits {
			t.Errorf("%s: %d hits", c.fen, hits)
		}
		if !c.hits {
			continue
		}
		move, err := b.ParseUCI(strings.Fields(last)[1])
		if err != nil {
			t.Fatal(err)
		}
		ranked, ok := truth.RankRoot(chess.NewHistory(b))
		if k := slices.IndexFunc(ranked, func(m syzygy.RootMove) bool { return m.Move == move }); !ok || !ranked[k].Kept {
			t.Errorf("%s: %q spoils the result", c.fen, last)
		}
	}
	// A wanted move is searched even where the tables have better ones.
	if move := g.bestMove("position fen 8/8/8/4k3/3q4/8/3R4/3K4 w - - 0 1", "go nodes 40 searchmoves d1e1"); move != "d1e1" {
		t.Errorf("bestmove %s, want d1e1", move)
	}
	g.send("setoption name SyzygyPath value <empty>", "position fen 8/8/8/8/3k4/8/4P3/4K3 w - - 0 1", "go nodes 40")
	if _, before := g.expect("bestmove"); numberIn(t, before[len(before)-1], "tbhits") != 0 {
		t.Errorf("%q without tables", before)
	}
}

// TestBrokenTable: a file that is none is named once, and the search goes on.
func TestBrokenTable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "KQvK.rtbw"), []byte("no table"), 0o666); err != nil {
		t.Fatal(err)
	}
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	g.send("setoption name SyzygyPath value " + dir)
	faults := 0
	for range 2 {
		g.send("position fen 8/8/8/8/1k6/8/1K2Q3/8 w - - 0 1", "go nodes 10")
		_, before := g.expect("bestmove")
		for _, line := range before {
			if strings.HasPrefix(line, "info string error: ") && strings.Contains(line, "KQvK.rtbw") {
				faults++
			}
		}
	}
	if faults != 1 {
		t.Errorf("the broken table was named %d times", faults)
	}
}
