package follow

import (
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// run is the games numbered from first up to end, each of one row; one may be another.
type run struct {
	stage.Index
	first, end, other uint64
}

func (r run) NumGames() int     { return int(r.end - r.first) }
func (r run) NumRows() int      { return r.NumGames() }
func (r run) WeightSum() uint64 { return uint64(r.NumGames()) }

func (r run) Game(i int) stage.GameInfo {
	g := stage.GameInfo{Seq: r.first + uint64(i), NumRows: 1, Weight: 1}
	if g.Seq == r.other {
		g.ID[0] = 1
	}
	return g
}

func (r run) Find(game uint64) (int, bool) {
	return int(game - r.first), game >= r.first && game < r.end
}

// A window that slides, jumps, grows at its old end and empties is told by what left and
// what stayed, and costs no more memory than twice its games.
func TestWindow(t *testing.T) {
	var w Window
	for i, c := range []struct {
		idx        run
		gone, kept int
	}{
		{run{first: 1, end: 1}, 0, 0},
		{run{first: 5, end: 9}, 0, 0},
		{run{first: 5, end: 9}, 0, 4},
		{run{first: 7, end: 12}, 2, 2},
		{run{first: 6, end: 12}, 5, 0},
		{run{first: 6, end: 12, other: 11}, 6, 0},
		{run{first: 6, end: 13, other: 6}, 6, 0},
		{run{first: 20, end: 22}, 7, 0},
		{run{first: 1, end: 1}, 2, 0},
	} {
		same := w.Holds(c.idx)
		gone, kept := w.Follow(c.idx)
		if gone != c.gone || kept != c.kept || same != (gone == 0 && kept == c.idx.NumGames()) || !w.Holds(c.idx) {
			t.Errorf("step %d: %d gone, %d kept, held before %v; want %d and %d", i, gone, kept, same, c.gone, c.kept)
		}
	}
	for first := range uint64(2000) {
		w.Follow(run{first: first, end: first + 300})
	}
	if len(w.games) > 700 {
		t.Errorf("%d entries are kept for windows of 300 games", len(w.games))
	}
}
