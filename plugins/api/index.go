package api

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/plugins/stage/follow"
)

// Index is the plugin's copy of the window's index. A value does not change:
// Update returns the next one, which shares the games that remain.
type Index struct{ gameRows }

type gameRows = follow.Games[indexed]

var _ stage.Index = (*Index)(nil)

// indexed is what an index knows of a game beside its rows, whose starts count from the
// last reset. Its columns alias the message that brought it, as Sums do.
type indexed struct {
	ordinal    uint64
	id         [16]byte
	plies      int
	qDiff, kld []float32 // [rows]
	visits     []uint32  // [rows]
}

// Clone returns the index for another line of updates: each value takes one Update.
func (x *Index) Clone() *Index { return &Index{slices.Clone(x.gameRows)} }

// Update returns the index after one message. The receiver stays as it is.
func (x *Index) Update(u *pluginpb.IndexUpdate) (*Index, error) {
	next := &Index{x.gameRows}
	if u.GetReset_() {
		next.gameRows = nil
	}
	gone, _ := next.Find(u.GetOldest())
	next.gameRows = next.gameRows[gone:]
	if err := checkUpdate(u); err != nil {
		return nil, err
	}
	var newest *follow.Rows[indexed]
	if n := len(next.gameRows); n > 0 {
		newest = next.gameRows[n-1]
	}
	plies := make([]int32, len(u.GetRowPly()))
	for i, ply := range u.GetRowPly() {
		plies[i] = int32(ply) // below 0: sum refuses it
	}
	added := make([]follow.Rows[indexed], len(u.GetSeq()))
	row := 0
	for i := range added {
		g, from := &added[i], row
		row += int(u.NumRows[i])
		g.Seq, g.Plies, g.Sums = u.Seq[i], plies[from:row], u.RowWeight[from:row:row]
		g.Game = indexed{u.Ordinal[i], [16]byte(u.Id[16*i:]), int(u.Plies[i]), u.RowQDiff[from:row], u.RowKld[from:row], u.RowVisits[from:row]}
		if newest != nil {
			g.StartRow, g.StartWeight = newest.EndRow(), newest.EndWeight()
			if g.Seq <= newest.Seq {
				return nil, fmt.Errorf("game %d after game %d: want a larger number", g.Seq, newest.Seq)
			}
		}
		if err := sum(g); err != nil {
			return nil, fmt.Errorf("game %d: %w", g.Seq, err)
		}
		newest = g
		next.gameRows = append(next.gameRows, g)
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
func sum(g *follow.Rows[indexed]) error {
	total := uint64(0)
	for k, w := range g.Sums {
		ply, of := g.Plies[k], &g.Game
		switch {
		case ply < 0 || int(ply) >= of.plies:
			return fmt.Errorf("row %d: ply %d in a game of %d plies", k, uint32(ply), of.plies)
		case k > 0 && ply <= g.Plies[k-1]:
			return fmt.Errorf("row %d: ply %d after ply %d", k, ply, g.Plies[k-1])
		case w == 0 || w > math.MaxUint64-g.StartWeight-total:
			return fmt.Errorf("row %d: weight %d, want one above 0 and sums below 2^64", k, w)
		case !isFinite(of.qDiff[k]) || !isFinite(of.kld[k]):
			return fmt.Errorf("row %d: q_diff %g, kld %g: want finite numbers", k, of.qDiff[k], of.kld[k])
		}
		total += w
		g.Sums[k] = total
	}
	return nil
}

func isFinite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

func (x *Index) Game(i int) stage.GameInfo {
	g := x.gameRows[i]
	return stage.GameInfo{Seq: g.Seq, ID: g.Game.id, Ordinal: g.Game.ordinal, NumRows: len(g.Sums), Plies: g.Game.plies, Weight: g.Weight(),
		Age: len(x.gameRows) - 1 - i}
}

func (x *Index) Stats(i, k int) stage.RowStats {
	g := &x.gameRows[i].Game
	return stage.RowStats{QDiff: g.qDiff[k], KLD: g.kld[k], Visits: g.visits[k]}
}

func (x *Index) Find(game uint64) (i int, ok bool) {
	return slices.BinarySearchFunc(x.gameRows, game, func(g *follow.Rows[indexed], seq uint64) int { return cmp.Compare(g.Seq, seq) })
}

// indexSender knows which games a plugin's index holds and sends what is new.
type indexSender struct {
	synced bool // the plugin has the games of the window, and no others
	window follow.Window
}

// holds says whether the plugin has idx already.
func (s *indexSender) holds(idx stage.Index) bool { return s.synced && s.window.Holds(idx) }

// update returns how idx differs from what the plugin has, nil where it does not.
// Where that is large it is sent but for its last part. After an error, or where that
// part does not arrive, nothing is known of the plugin's index.
func (s *indexSender) update(idx stage.Index, send func(*pluginpb.IndexUpdate) error) (last *pluginpb.IndexUpdate, err error) {
	if s.holds(idx) {
		return nil, nil
	}
	_, from := s.window.Follow(idx)
	u := &pluginpb.IndexUpdate{}
	if s.synced && from > 0 {
		u.Oldest = idx.Game(0).Seq
	} else {
		u.Reset_, from = true, 0
	}
	s.synced = false
	bytes := 0
	for i := from; i < idx.NumGames(); i++ {
		g := idx.Game(i)
		size := 48 + 20*g.NumRows
		if bytes > 0 && bytes+size > BatchBytes {
			if err := send(u); err != nil {
				return nil, err
			}
			u, bytes = &pluginpb.IndexUpdate{}, 0
		}
		bytes += size
		appendGame(u, idx, i, g)
	}
	s.synced = true
	return u, nil
}

// appendGame adds game i of idx to the columns of u.
func appendGame(u *pluginpb.IndexUpdate, idx stage.Index, i int, g stage.GameInfo) {
	u.Seq, u.Id = append(u.Seq, g.Seq), append(u.Id, g.ID[:]...)
	u.Ordinal, u.Plies = append(u.Ordinal, g.Ordinal), append(u.Plies, uint32(g.Plies))
	u.NumRows = append(u.NumRows, uint32(g.NumRows))
	for k := range g.NumRows {
		row, stats := idx.Row(i, k), idx.Stats(i, k)
		u.RowPly, u.RowWeight = append(u.RowPly, uint32(row.Ply)), append(u.RowWeight, row.Weight)
		u.RowQDiff, u.RowKld = append(u.RowQDiff, stats.QDiff), append(u.RowKld, stats.KLD)
		u.RowVisits = append(u.RowVisits, stats.Visits)
	}
}
