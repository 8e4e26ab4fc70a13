package follow

import (
	"sort"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Rows are the rows of one game of a window that slides, at least one. Their starts run on
// over all games that entered, so that a game that leaves changes nothing in the others.
type Rows[T any] struct {
	Game T // that they are of
	Seq  uint64

	Plies                 []int32  // ascending
	Sums                  []uint64 // weights up to and with each row
	StartRow, StartWeight uint64
}

// Weight is that of all rows.
func (r *Rows[T]) Weight() uint64 { return r.Sums[len(r.Sums)-1] }

// EndRow and EndWeight are the starts of the game behind this one.
func (r *Rows[T]) EndRow() uint64    { return r.StartRow + uint64(len(r.Sums)) }
func (r *Rows[T]) EndWeight() uint64 { return r.StartWeight + r.Weight() }

// Games answer for the rows of consecutive games, oldest first, what a stage.Index is asked.
type Games[T any] []*Rows[T]

func (g Games[T]) NumGames() int { return len(g) }

func (g Games[T]) NumRows() int {
	if len(g) == 0 {
		return 0
	}
	return int(g[len(g)-1].EndRow() - g[0].StartRow)
}

func (g Games[T]) WeightSum() uint64 {
	if len(g) == 0 {
		return 0
	}
	return g[len(g)-1].EndWeight() - g[0].StartWeight
}

func (g Games[T]) Row(i, k int) stage.RowInfo {
	weight := g[i].Sums[k]
	if k > 0 {
		weight -= g[i].Sums[k-1]
	}
	return stage.RowInfo{Ply: g[i].Plies[k], Weight: weight}
}

func (g Games[T]) RowAt(u uint64) (game uint64, ply int32) {
	u += g[0].StartWeight
	r := g[sort.Search(len(g), func(i int) bool { return g[i].EndWeight() > u })]
	return r.Seq, r.Plies[sort.Search(len(r.Sums), func(k int) bool { return r.StartWeight+r.Sums[k] > u })]
}

func (g Games[T]) NthRow(n int) (game uint64, ply int32) {
	row := g[0].StartRow + uint64(n)
	r := g[sort.Search(len(g), func(i int) bool { return g[i].EndRow() > row })]
	return r.Seq, r.Plies[row-r.StartRow]
}
