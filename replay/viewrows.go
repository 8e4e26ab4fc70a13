package replay

import (
	"fmt"
	"sort"
	"sync"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// viewRows reads the rows of a view by number; it is the encoding.RowReader of named
// rows. Numbers stay those of the window: the same row has the same in each view.
type viewRows struct {
	view      *View
	shortTerm float64 // as Source.SetShortTerm
}

// replayers are lent to a call of ReadRows.
var replayers = sync.Pool{New: func() any { return new(record.Replayer) }}

// Range implements encoding.RowReader.
func (v *viewRows) Range() (from, to uint64) {
	e := v.view.entries
	if len(e) == 0 {
		return 0, 0
	}
	return e[0].startRow, e[len(e)-1].endRow()
}

// ReadRows implements encoding.RowReader.
func (v *viewRows) ReadRows(b *encoding.TrainBatch, from uint64) (next uint64, err error) {
	if first, end := v.Range(); from < first || from >= end {
		return from, fmt.Errorf("row %d is not among those from %d to %d", from, first, end)
	}
	entries := v.view.entries
	e := entries[sort.Search(len(entries), func(i int) bool { return entries[i].endRow() > from })]
	var plies []int
	for _, ply := range e.plies[from-e.startRow:] {
		plies = append(plies, int(ply))
	}
	r := replayers.Get().(*record.Replayer)
	defer replayers.Put(r)
	r.ShortTerm = v.shortTerm
	if err := r.AppendRows(b, e.game, plies); err != nil {
		return from, fmt.Errorf("rows of game %x: %w", e.game.ID, err)
	}
	return e.endRow(), nil
}
