package api

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Index is the plugin's copy of the window's index. A value does not change:
// Update returns the next one, which shares the games that remain.
type Index struct {
	games []*indexedGame // ascending seq
}

var _ stage.Index = (*Index)(nil)

// indexedGame is one game of an index. Its columns alias the message that brought
// it. startRow and startWeight count from the last reset, so that a game that
// leaves changes nothing in the others.
type indexedGame struct {
	seq, ordinal          uint64
	id                    [16]byte
	plies                 int
	startRow, startWeight uint64

	rowPly []uint32  // [rows]
	sums   []uint64  // [rows] weights up to and with this row
	qDiff  []float32 // [rows]
	kld    []float32 // [rows]
	visits []uint32  // [rows]
}

func (g *indexedGame) weight() uint64    { return g.sums[len(g.sums)-1] }
func (g *indexedGame) endRow() uint64    { return g.startRow + uint64(len(g.sums)) }
func (g *indexedGame) endWeight() uint64 { return g.startWeight + g.weight() }

// Clone returns the index for another line of updates: each value takes one Update.
func (x *Index) Clone() *Index { return &Index{slices.Clone(x.games)} }

// Update returns the index after one message. The receiver stays as it is.
func (x *Index) Update(u *pluginpb.IndexUpdate) (*Index, error) {
	next := &Index{games: x.games}
	if u.GetReset_() {
		next.games = nil
	}
	gone := sort.Search(len(next.games), func(i int) bool { return next.games[i].seq >= u.GetOldest() })
	next.games = next.games[gone:]
	if err := checkUpdate(u); err != nil {
		return nil, err
	}
	var newest *indexedGame
	if n := len(next.games); n > 0 {
		newest = next.games[n-1]
	}
	added := make([]indexedGame, len(u.GetSeq()))
	row := 0
	for i := range added {
		g := &added[i]
		n := int(u.NumRows[i])
		g.seq, g.ordinal, g.plies = u.Seq[i], u.Ordinal[i], int(u.Plies[i])
		copy(g.id[:], u.Id[16*i:])
		g.rowPly, g.qDiff, g.kld = u.RowPly[row:row+n:row+n], u.RowQDiff[row:row+n], u.RowKld[row:row+n]
		g.visits, g.sums = u.RowVisits[row:row+n], u.RowWeight[row:row+n:row+n]
		row += n
		if newest != nil {
			g.startRow, g.startWeight = newest.endRow(), newest.endWeight()
			if g.seq <= newest.seq {
				return nil, fmt.Errorf("game %d after game %d: want a larger number", g.seq, newest.seq)
			}
		}
		if err := g.sum(); err != nil {
			return nil, fmt.Errorf("game %d: %w", g.seq, err)
		}
		newest = g
		next.games = append(next.games, g)
	}
	return next, nil
}

// checkUpdate checks the lengths of an update's columns.
func checkUpdate(u *pluginpb.IndexUpdate) error {
	games, rows := len(u.GetSeq()), uint64(0)
	for _, n := range u.GetNumRows() {
		if n == 0 {
			return fmt.Errorf("a game without rows")
		}
		rows += uint64(n)
	}
	for _, c := range [...]struct {
		name      string
		got, want uint64
	}{
		{"id", uint64(len(u.GetId())), 16 * uint64(games)},
		{"ordinal", uint64(len(u.GetOrdinal())), uint64(games)},
		{"plies", uint64(len(u.GetPlies())), uint64(games)},
		{"num_rows", uint64(len(u.GetNumRows())), uint64(games)},
		{"row_ply", uint64(len(u.GetRowPly())), rows},
		{"row_weight", uint64(len(u.GetRowWeight())), rows},
		{"row_q_diff", uint64(len(u.GetRowQDiff())), rows},
		{"row_kld", uint64(len(u.GetRowKld())), rows},
		{"row_visits", uint64(len(u.GetRowVisits())), rows},
	} {
		if c.got != c.want {
			return fmt.Errorf("column %s: %d entries, want %d for %d games with %d rows", c.name, c.got, c.want, games, rows)
		}
	}
	return nil
}

// sum checks the rows of a game and turns its weights into sums in place.
func (g *indexedGame) sum() error {
	total := uint64(0)
	for k, w := range g.sums {
		switch {
		case int64(g.rowPly[k]) >= int64(g.plies) || g.rowPly[k] > math.MaxInt32:
			return fmt.Errorf("row %d: ply %d in a game of %d plies", k, g.rowPly[k], g.plies)
		case k > 0 && g.rowPly[k] <= g.rowPly[k-1]:
			return fmt.Errorf("row %d: ply %d after ply %d", k, g.rowPly[k], g.rowPly[k-1])
		case w == 0 || w > math.MaxUint64-g.startWeight-total:
			return fmt.Errorf("row %d: weight %d, want one above 0 and sums below 2^64", k, w)
		case !isFinite(g.qDiff[k]) || !isFinite(g.kld[k]):
			return fmt.Errorf("row %d: q_diff %g, kld %g: want finite numbers", k, g.qDiff[k], g.kld[k])
		}
		total += w
		g.sums[k] = total
	}
	return nil
}

func isFinite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

func (x *Index) NumGames() int { return len(x.games) }

func (x *Index) NumRows() int {
	if len(x.games) == 0 {
		return 0
	}
	return int(x.games[len(x.games)-1].endRow() - x.games[0].startRow)
}

func (x *Index) WeightSum() uint64 {
	if len(x.games) == 0 {
		return 0
	}
	return x.games[len(x.games)-1].endWeight() - x.games[0].startWeight
}

func (x *Index) Game(i int) stage.GameInfo {
	g := x.games[i]
	return stage.GameInfo{Seq: g.seq, ID: g.id, Ordinal: g.ordinal, NumRows: len(g.sums), Plies: g.plies, Weight: g.weight(),
		Age: len(x.games) - 1 - i}
}

func (x *Index) Row(i, k int) stage.RowInfo {
	g := x.games[i]
	weight := g.sums[k]
	if k > 0 {
		weight -= g.sums[k-1]
	}
	return stage.RowInfo{Ply: int32(g.rowPly[k]), Weight: weight}
}

func (x *Index) Stats(i, k int) stage.RowStats {
	g := x.games[i]
	return stage.RowStats{QDiff: g.qDiff[k], KLD: g.kld[k], Visits: g.visits[k]}
}

func (x *Index) RowAt(u uint64) (game uint64, ply int32) {
	u += x.games[0].startWeight
	g := x.games[sort.Search(len(x.games), func(i int) bool { return x.games[i].endWeight() > u })]
	k := sort.Search(len(g.sums), func(k int) bool { return g.startWeight+g.sums[k] > u })
	return g.seq, int32(g.rowPly[k])
}

func (x *Index) NthRow(n int) (game uint64, ply int32) {
	row := x.games[0].startRow + uint64(n)
	g := x.games[sort.Search(len(x.games), func(i int) bool { return x.games[i].endRow() > row })]
	return g.seq, int32(g.rowPly[row-g.startRow])
}

func (x *Index) Find(game uint64) (i int, ok bool) {
	return slices.BinarySearchFunc(x.games, game, func(g *indexedGame, seq uint64) int {
		return cmp.Compare(g.seq, seq)
	})
}
