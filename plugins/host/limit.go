package host

import (
	"context"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// limited is a built-in rescorer that works on a bounded number of calls at a
// time. (Programs bound their calls themselves; see package api.)
type limited struct {
	stage.Rescorer
	room chan struct{}
}

var (
	_ stage.BatchRescorer = (*limited)(nil)
	_ stage.Faulty        = (*limited)(nil)
)

// limit returns r itself where its definition sets no bound.
func limit(r stage.Rescorer, d *stage.Definition) stage.Rescorer {
	if r == nil || d.Concurrency == 0 {
		return r
	}
	return &limited{r, make(chan struct{}, d.Concurrency)}
}

// Rescore waits for room.
func (l *limited) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	select {
	case l.room <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.room }()
	return l.Rescorer.Rescore(ctx, g)
}

// RescoreBatch is one call, or one for each game of a rescorer that takes no
// batches.
func (l *limited) RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	if batch, ok := l.Rescorer.(stage.BatchRescorer); ok {
		select {
		case l.room <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		defer func() { <-l.room }()
		return batch.RescoreBatch(ctx, games)
	}
	out := make([]*record.Game, len(games))
	for i, g := range games {
		var err error
		if out[i], err = l.Rescore(ctx, g); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Err is that of the rescorer.
func (l *limited) Err() error {
	if f, ok := l.Rescorer.(stage.Faulty); ok {
		return f.Err()
	}
	return nil
}
