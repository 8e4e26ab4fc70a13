package trainer

import (
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/device"
)

// KeptRows is how many rows the trainer's device keeps: batches from windows of at
// most so many may name their rows (encoding.KeptRows), all of them by the numbers of
// one window. 0 = they must have contents.
func (t *Trainer) KeptRows() int {
	if t.dev.window == nil {
		return 0
	}
	return len(t.dev.window.rows)
}

// keptWindow is the trainer's side of the rows that a device keeps. Row number n lies
// in slot n modulo the number of slots; a new row takes the place of the oldest.
type keptWindow struct {
	l        *link
	from, to uint64     // the numbers of the rows that are kept
	rows     []rowFacts // by slot
	game     *encoding.TrainBatch
	names    []device.KeptRow
}

// openWindow asks the device to keep so many rows; it may have no room for them.
func (l *link) openWindow(numRows int) error {
	if numRows < 1 || numRows > device.MaxWindow {
		return nil
	}
	ok, err := l.OpenWindow(numRows)
	if err != nil {
		return fmt.Errorf("trainer: room for %d rows on the device: %w", numRows, err)
	}
	if ok {
		l.window = &keptWindow{l: l, rows: make([]rowFacts, numRows), game: encoding.NewTrainBatch(0)}
	}
	return nil
}

// row returns what is known of a row that is kept.
func (w *keptWindow) row(number uint64) *rowFacts { return &w.rows[number%uint64(len(w.rows))] }

// stage sees to it that the device has the rows of b's window and names b's to it.
func (w *keptWindow) stage(b *encoding.TrainBatch) error {
	if err := w.fill(b.Kept.Of); err != nil {
		return fmt.Errorf("rows for the device: %w", err)
	}
	w.names = w.names[:0]
	for i, number := range b.Kept.Number[:b.N] {
		as := encoding.Transform(0)
		if len(b.Kept.Draw) > 0 {
			as = encoding.DrawTransform(b.Kept.Draw[i], w.row(number).symmetries)
		}
		w.names = append(w.names, device.Kept(int(number%uint64(len(w.rows))), as))
	}
	return w.l.StageKept(w.names, b.Weight[:b.N])
}

// fill sends the rows of a window that the device does not have.
func (w *keptWindow) fill(of encoding.RowReader) error {
	first, end := of.Range()
	if first > w.to || first < w.from {
		w.from, w.to = first, first // nothing that is kept joins on to it
	}
	for w.to < end {
		w.game.Reset()
		next, err := of.ReadRows(w.game, w.to)
		if err != nil {
			return err
		}
		if err := w.keep(next); err != nil {
			return err
		}
	}
	return nil
}

// keep sends the rows of a game, those from w.to to next.
func (w *keptWindow) keep(next uint64) error {
	b, slots := w.game, uint64(len(w.rows))
	if err := checkContents(b, b.N); err != nil {
		return err
	}
	if uint64(b.N) != next-w.to {
		return fmt.Errorf("%d rows were read for those from %d to %d", b.N, w.to, next)
	}
	if next > slots {
		w.from = max(w.from, next-slots)
	}
	if err := w.l.Keep(int(w.to%slots), b); err != nil {
		return err
	}
	for i := range b.N {
		*w.row(w.to + uint64(i)) = w.l.factsOf(b, i)
	}
	w.to = next
	return nil
}

// check refuses a batch whose rows the device cannot have.
func (w *keptWindow) check(b *encoding.TrainBatch) error {
	first, end := b.Kept.Of.Range()
	switch {
	case w == nil:
		return fmt.Errorf("it names rows, and nobody keeps any")
	case end-first > uint64(len(w.rows)):
		return fmt.Errorf("it names rows of a window of %d, and %d are kept", end-first, len(w.rows))
	case len(b.Kept.Number) < b.N || len(b.Weight) < b.N || len(b.Kept.Draw) != 0 && len(b.Kept.Draw) < b.N:
		return fmt.Errorf("it names less than its %d rows", b.N)
	}
	for _, number := range b.Kept.Number[:b.N] {
		if number < first || number >= end {
			return fmt.Errorf("row %d is not in its window, %d to %d", number, first, end)
		}
	}
	return nil
}
