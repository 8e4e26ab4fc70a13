package replay

import (
	"context"
	"fmt"
	"io"
	"sort"
	"sync"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// View is a Window at one moment. It does not change and is safe for
// concurrent use. It is the stage.Index that samplers see.
type View struct {
	entries
	version uint64
}

var _ stage.Index = (*View)(nil)

// Game describes game i, 0 = oldest.
func (v *View) Game(i int) stage.GameInfo {
	e := v.entries[i]
	return stage.GameInfo{Seq: e.Seq, ID: e.Game.ID, Ordinal: e.Game.Ordinal, NumRows: len(e.Plies), Plies: len(e.Game.Plies), Weight: e.Weight(),
		Age: len(v.entries) - 1 - i}
}

// Stats says how the search of that row went. A Q that is not known leaves QDiff
// 0; a KLD that rounding made negative is 0.
func (v *View) Stats(i, k int) stage.RowStats {
	p := &v.entries[i].Game.Plies[v.entries[i].Plies[k]]
	s := stage.RowStats{KLD: max(0, p.KLD), Visits: p.Visits}
	if d := p.Best.Q - p.Orig.Q; d == d {
		s.QDiff = max(d, -d)
	}
	return s
}

// Find returns the position of the game with the given number.
func (v *View) Find(game uint64) (i int, ok bool) {
	if len(v.entries) == 0 {
		return 0, false
	}
	first := v.entries[0].Seq // numbers have no gaps
	if game < first || game-first >= uint64(len(v.entries)) {
		return 0, false
	}
	return int(game - first), true
}

// GameRecord returns game i itself, which must not be changed.
func (v *View) GameRecord(i int) *record.Game { return v.entries[i].Game }

// viewRows reads the rows of a view by number; it is the encoding.RowReader of named
// rows. Numbers stay those of the window: the same row has the same in each view.
type viewRows struct {
	view  *View
	extra record.Extra // as Source.Extra
}

// replayers are lent to a call of ReadRows.
var replayers = sync.Pool{New: func() any { return new(record.Replayer) }}

// Range implements encoding.RowReader.
func (v *viewRows) Range() (from, to uint64) {
	e := v.view.entries // not none: Source.Next names no rows then
	return e[0].StartRow, e[len(e)-1].EndRow()
}

// ReadRows implements encoding.RowReader.
func (v *viewRows) ReadRows(b *encoding.TrainBatch, from uint64) (next uint64, err error) {
	if first, end := v.Range(); from < first || from >= end {
		return from, fmt.Errorf("row %d is not among those from %d to %d", from, first, end)
	}
	entries := v.view.entries
	e := entries[sort.Search(len(entries), func(i int) bool { return entries[i].EndRow() > from })]
	var plies []int
	for _, ply := range e.Plies[from-e.StartRow:] {
		plies = append(plies, int(ply))
	}
	r := replayers.Get().(*record.Replayer)
	defer replayers.Put(r)
	r.Extra = v.extra
	if err := r.AppendRows(b, e.Game, plies); err != nil {
		return from, fmt.Errorf("rows of game %x: %w", e.Game.ID, err)
	}
	return e.EndRow(), nil
}

// Pass goes once through the rows of a window, for validation: the same window
// always gives the same rows. Used by one goroutine.
type Pass struct {
	view     *View
	replayer record.Replayer
	next     int // rows handed out
	total    int // rows to hand out
}

// NewPass returns a pass over w as it is now. Of more than maxRows rows it
// takes maxRows that lie evenly spread; maxRows <= 0 means all.
func NewPass(w *Window, maxRows int, extra record.Extra) *Pass {
	view := w.View()
	total := view.NumRows()
	if maxRows > 0 {
		total = min(total, maxRows)
	}
	return &Pass{view: view, total: total, replayer: record.Replayer{Extra: extra}}
}

// Next fills b, which comes empty, with the next len(b.Masks) rows or what is
// left; io.EOF when nothing is left. A row's weight is its position's.
func (p *Pass) Next(ctx context.Context, b *encoding.TrainBatch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.next == p.total {
		return io.EOF
	}
	for n := min(len(b.Masks), p.total-p.next); n > 0; n-- {
		row := int(uint64(p.next) * uint64(p.view.NumRows()) / uint64(p.total))
		game, ply := p.view.NthRow(row)
		i, _ := p.view.Find(game)
		if err := appendRow(b, &p.replayer, p.view.GameRecord(i), ply); err != nil {
			return fmt.Errorf("validation: %w", err)
		}
		p.next++
	}
	return nil
}
