package replay

import (
	"context"
	"fmt"
	"io"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

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
func NewPass(w *Window, maxRows int) *Pass {
	view := w.View()
	total := view.NumRows()
	if maxRows > 0 {
		total = min(total, maxRows)
	}
	return &Pass{view: view, total: total}
}

// SetShortTerm gives rows a short-term value target (record.Replayer.ShortTerm).
func (p *Pass) SetShortTerm(theta float64) { p.replayer.ShortTerm = theta }

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
		ref := stage.RowRef{Game: game, Ply: ply, Weight: p.view.GameRecord(i).Plies[ply].Weight}
		if err := appendRow(b, &p.replayer, p.view, ref); err != nil {
			return fmt.Errorf("validation: %w", err)
		}
		p.next++
	}
	return nil
}
