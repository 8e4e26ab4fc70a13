package api

import (
	"context"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// slots bound the calls that a stage works on at a time, over all streams: a call
// whose stream was cancelled may go on for a while beside the next stream's.
type slots chan struct{}

// take waits for a slot. nil means that give has to follow.
func (s slots) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slots) give() { <-s }

// limitRescorer returns r, or where n > 0 a rescorer that works on n calls of r at
// a time.
func limitRescorer(r stage.Rescorer, n int) stage.Rescorer {
	if r == nil || n <= 0 {
		return r
	}
	limited := &limitedRescorer{r, make(slots, n)}
	if batch, ok := r.(stage.BatchRescorer); ok {
		return &limitedBatch{limited, batch}
	}
	return limited
}

type limitedRescorer struct {
	stage.Rescorer
	slots slots
}

var _ stage.Faulty = (*limitedRescorer)(nil)

func (l *limitedRescorer) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	if err := l.slots.take(ctx); err != nil {
		return nil, err
	}
	defer l.slots.give()
	return l.Rescorer.Rescore(ctx, g)
}

// Err is that of the rescorer.
func (l *limitedRescorer) Err() error {
	if f, ok := l.Rescorer.(stage.Faulty); ok {
		return f.Err()
	}
	return nil
}

type limitedBatch struct {
	*limitedRescorer
	batch stage.BatchRescorer
}

func (l *limitedBatch) RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	if err := l.slots.take(ctx); err != nil {
		return nil, err
	}
	defer l.slots.give()
	return l.batch.RescoreBatch(ctx, games)
}

// limitExporter is limitRescorer of an exporter.
func limitExporter(e stage.Exporter, n int) stage.Exporter {
	if e == nil || n <= 0 {
		return e
	}
	return &limitedExporter{e, make(slots, n)}
}

type limitedExporter struct {
	stage.Exporter
	slots slots
}

func (l *limitedExporter) Export(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	if err := l.slots.take(ctx); err != nil {
		return nil, err
	}
	defer l.slots.give()
	return l.Exporter.Export(ctx, c, dst)
}
