package train

import (
	"context"
	"iter"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/trainer"
)

// prefetchDepth is how many micro-batches are prepared in advance.
const prefetchDepth = 2

// Rows is where training rows come from: the window of games, a shuffle, the data
// loader. io.EOF of Next says that all rows were trained on.
type Rows interface {
	trainer.BatchSource

	// Ahead lets batches be prepared in advance until Close. ctx ends the wait for rows.
	Ahead(ctx context.Context)

	// Section is where the rows stand, as of the batches taken.
	Section() stage.Section

	// Restored checks the position that Section loaded.
	Restored(ctx context.Context) error

	// HeldOut returns a pass over at most so many rows that are never trained on;
	// nil where there are none.
	HeldOut(ctx context.Context, rows int) (trainer.BatchSource, error)

	// Sample returns so many training rows without taking them: batch-norm statistics
	// of averaged weights are measured on them, in batches of the given size. nil where
	// there are none.
	Sample(batch int) (sample trainer.BatchSource, rows int, err error)

	// Size is the number of rows of the window that the rows come from, and of those
	// that self-play has made until then, as net names count them; 0 = not known.
	Size() (window, generated int64)

	// Games are the games that an exporter may ask for.
	Games(ctx context.Context) iter.Seq2[*record.Game, error]

	// Waiting is what Next waits for, "" = it does not wait. Safe for concurrent use.
	Waiting() string

	Close() error
}

// plainRows are rows that need nothing beyond batches, a size and a position.
type plainRows struct{}

func (plainRows) Restored(context.Context) error { return nil }
func (plainRows) Waiting() string                { return "" }

// dirGames are the games of a training whose rows come from elsewhere: the newest of
// the run's own directory, as many as a window holds.
type dirGames struct{ c *core }

func (d dirGames) Games(ctx context.Context) iter.Seq2[*record.Game, error] {
	w := &d.c.cfg.Window
	return replay.DirGames(ctx, d.c.dir.Selfplay(), w.Rows, w.HeldOut, d.c.log)
}

// ahead prepares batches of a source in advance. Before that was begun only the
// section can be used.
type ahead struct {
	*replay.Prefetcher // nil = not begun
	of                 replay.Cursor
}

func (a *ahead) Ahead(context.Context) { a.Prefetcher = replay.Prefetch(a.of, prefetchDepth) }

// Section is that of the consumer, which the source itself is ahead of.
func (a *ahead) Section() stage.Section {
	if a.Prefetcher == nil {
		return a.of.Section()
	}
	return a.Prefetcher.Section()
}

// Close ends the goroutine. That the source may not get back to the consumer's
// position is no error: nobody reads it again.
func (a *ahead) Close() error {
	if a.Prefetcher != nil {
		_ = a.Prefetcher.Close()
	}
	return nil
}
