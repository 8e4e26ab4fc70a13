package train

import (
	"bytes"
	"context"
	"iter"
	"log/slog"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/trainer"
)

// gameRows draws rows from the window of games.
type gameRows struct {
	plainRows
	ahead
	games   *replay.Split
	source  *replay.Source
	extra   record.Extra
	sampler func() string // the name of the one in use
	log     *slog.Logger
}

// openGameRows draws from the windows of the run.
func (r *training) openGameRows() *gameRows {
	w := &r.cfg.Window
	source := replay.NewSource(r.ledger.games.Train, r.stages.Sampler, r.cfg.Seed, streamSampler)
	source.Extra, source.Symmetries = w.Extra, w.Symmetries
	if kept, wanted := r.trainer.KeptRows(), r.cfg.DeviceRows(); wanted > 0 && kept >= wanted {
		r.log.Info("the device keeps the rows of the window", "rows", kept)
		source.Keep = kept // lets batches name them
	} else if wanted > 0 {
		r.log.Info("the device has no room for the rows of the window: each batch is copied whole", "rows", wanted)
	}
	return &gameRows{ahead: ahead{of: source}, games: r.ledger.games, source: source, extra: w.Extra,
		sampler: func() string { return r.stages.Sampler.Name() }, log: r.log}
}

func (g *gameRows) Restored(ctx context.Context) error {
	if err := g.source.Check(ctx); err != nil {
		return err
	}
	if foreign := g.source.Foreign(); foreign != "" {
		g.log.Warn("the checkpoint has the state of another sampler: this one begins a state of its own", "checkpoint", foreign, "sampler", g.sampler())
	}
	return nil
}

func (g *gameRows) Size() (window, generated int64) { return int64(g.games.Train.Rows()), 0 }

func (g *gameRows) HeldOut(_ context.Context, rows int) (trainer.BatchSource, error) {
	if g.games.Validation.Rows() == 0 {
		return nil, nil
	}
	return replay.NewPass(g.games.Validation, rows, g.extra), nil
}

func (g *gameRows) Sample(batch int) (trainer.BatchSource, int, error) {
	rows := wholeBatches(min(g.games.Train.Rows(), max(swaRows, batch)), batch)
	if rows == 0 {
		return nil, 0, nil
	}
	return replay.NewPass(g.games.Train, rows, g.extra), rows, nil
}

// wholeBatches is the most rows that make whole batches, of which each counts the
// same; fewer rows than a batch are one.
func wholeBatches(rows, batch int) int {
	if rows > batch {
		rows -= rows % batch
	}
	return rows
}

// replace has sampler draw from the next batch on, from the position of the last one
// that was taken: what the old sampler prepared is thrown away whole, so that no row is
// lost or counted twice. began says why it could not go on from the state of the old
// one. After an error all is as before.
func (g *gameRows) replace(ctx context.Context, sampler stage.Sampler) (began string, err error) {
	var position bytes.Buffer
	if err := g.Section().Save(&position); err != nil {
		return "", err
	}
	next, began, err := g.source.With(ctx, sampler, position.Bytes())
	if err != nil {
		return "", err
	}
	g.Close()
	g.source, g.ahead = next, ahead{of: next}
	g.Ahead(ctx)
	return began, nil
}

// Games are those of the training window, as it is now.
func (g *gameRows) Games(context.Context) iter.Seq2[*record.Game, error] {
	view := g.games.Train.View()
	return func(yield func(*record.Game, error) bool) {
		for i := range view.NumGames() {
			if !yield(view.GameRecord(i), nil) {
				return
			}
		}
	}
}
