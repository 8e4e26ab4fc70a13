package train

import (
	"context"
	"math"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
)

// cursor delivers batches and says where it stands, as of the batches taken.
type cursor interface {
	trainer.BatchSource
	Section() stage.Section
}

// rowSource delivers training rows that another program, or the data loader,
// made of games: no game enters the run, which then counts steps alone.
type rowSource interface {
	// Ahead returns the rows with batches prepared in advance, and what ends that:
	// it leaves the source where the consumer is.
	// ctx ends the wait for rows.
	Ahead(ctx context.Context) (cursor, func() error)

	// Section is where the source stands while Ahead is not under way.
	Section() stage.Section

	// HeldOut returns a pass over at most so many rows that are never trained on;
	// nil where there are none.
	HeldOut(ctx context.Context, rows int) (trainer.BatchSource, error)

	// Sample returns some training rows, at most so many, without taking them:
	// batch-norm statistics of averaged weights are measured on them. nil where
	// there are none.
	Sample(rows int) (trainer.BatchSource, error)

	NumRows() int64   // of the window that the rows come from; 0 = not known
	Generated() int64 // rows that self-play has made until then, as net names count them; 0 = not known

	// Refresh goes on with newer rows where there are any.
	Refresh() error

	Close() error
}

// hasGames says whether games enter the run, its own or those of other
// processes; else it has a rowSource.
func (r *training) hasGames() bool { return setup.HasGames(r.cfg) }

// openSource opens what the rows come from: the windows of games, or a
// rowSource.
func (r *training) openSource(ctx context.Context) (err error) {
	t := r.cfg.GetTraining()
	size, share := t.GetReplaySize(), t.GetValidation().GetShare()
	r.games = replay.NewSplit(int(size), heldOutSize(size, share), share)
	switch t.GetSource() {
	case config.Training_SHUFFLED:
		r.rows, err = r.openShuffled(ctx)
	case config.Training_LOADER:
		r.rows, err = r.openLoader(ctx)
	default:
		r.source = replay.NewSource(r.games.Train, r.stages.Sampler, r.cfg.GetSeed(), streamSampler)
		r.source.SetShortTerm(t.GetStTheta())
		if t.GetSymmetries() {
			r.source.ShowSymmetries()
		}
		if wanted := setup.DeviceWindow(r.cfg); wanted > 0 {
			r.nameRows(wanted)
		}
		r.cursor = r.source.Section
		return nil
	}
	if err == nil {
		r.cursor = r.rows.Section
	}
	return err
}

// nameRows lets batches name the rows of a window that the trainer's device keeps.
func (r *training) nameRows(wanted int) {
	kept := r.trainer.KeptRows()
	if kept < wanted {
		r.log.Info("the device has no room for the rows of the window: each batch is copied whole", "rows", wanted)
		return
	}
	r.log.Info("the device keeps the rows of the window", "rows", kept)
	r.source.NameRows(kept)
}

// heldOutSize is how many rows the validation window holds: as many as are held
// out while the training window fills, so that both cover the same games. Older
// games would measure how far the net has come from those that played them.
func heldOutSize(size int64, share float64) int {
	return max(1, int(math.Round(float64(size)*share/(1-share))))
}

// openBatches prepares batches in advance, and returns what ends that: it
// leaves the source where the consumer is.
func (r *training) openBatches(ctx context.Context) (cursor, func() error) {
	if r.rows != nil {
		return r.rows.Ahead(ctx)
	}
	p := replay.Prefetch(r.source, prefetchDepth)
	return p, p.Close
}

// windowRows is the number of rows that training draws from.
func (r *training) windowRows() int64 {
	if r.rows != nil {
		return r.rows.NumRows()
	}
	return int64(r.games.Train.Rows())
}

// sampleRows returns training rows, at most so many, that nobody takes thereby.
func (r *training) sampleRows(rows int) (trainer.BatchSource, error) {
	if r.rows != nil {
		return r.rows.Sample(rows)
	}
	return r.pass(r.games.Train, rows), nil
}

// heldOut returns a pass over at most so many rows that are never trained on,
// nil where there are none.
func (r *training) heldOut(ctx context.Context, rows int) (trainer.BatchSource, error) {
	if r.rows != nil {
		return r.rows.HeldOut(ctx, rows)
	}
	if r.games.Validation.Rows() == 0 {
		return nil, nil
	}
	return r.pass(r.games.Validation, rows), nil
}

// pass returns a pass over the rows of a window, at most so many.
func (r *training) pass(w *replay.Window, rows int) *replay.Pass {
	p := replay.NewPass(w, rows)
	p.SetShortTerm(r.cfg.GetTraining().GetStTheta())
	return p
}
