package train

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// pacer decides when a run over rows may train, and when it saves and exports:
// training must not run ahead of the games. One method is called at a time; only
// Before may be called by another goroutine than the one that trains, which waits
// for it.
type pacer interface {
	// Before waits until the next step may be done. It takes up newer rows where
	// there are any. done ends the training; the reason is in the log then. ctx ends
	// the wait.
	Before(ctx context.Context) (done bool, err error)

	// After is called after each step and says whether the state is saved now, and
	// whether the net is exported then. An export implies a save.
	After(ctx context.Context) (save, export bool, err error)

	// Section is its state in the checkpoint. A checkpoint may lack it: then it
	// begins a new one.
	Section() stage.Section

	// Page is what the status page shows of it: a fresh map at each call.
	Page() map[string]any
}

// endsRows is a pacer that knows what to do when the rows end: Ended returns
// whether the training goes on, with what the next Before waits for.
type endsRows interface{ Ended() bool }

// openRows opens what the configuration trains on, and the pace that goes with it;
// without one it saves by steps, as training.checkpoint says.
func (r *training) openRows(ctx context.Context) error {
	t := r.cfg.GetTraining()
	switch t.GetSource() {
	case config.Training_SHUFFLED:
		rows, err := r.openShuffled(ctx)
		if err != nil {
			return err
		}
		r.rows = rows
		if t.GetSamplesPerEpoch() > 0 {
			r.pace = newBucketPacer(r, rows)
		}
	case config.Training_LOADER:
		rows, err := r.openLoader(ctx)
		if err != nil {
			return err
		}
		r.rows = rows
		if t.GetSchedule().GetStepsPerNetwork() > 0 {
			r.pace = newSchedulePacer(r, rows)
		}
	default:
		r.rows = r.openGameRows()
	}
	return nil
}

// refreshEvery is how often a run without a pacer looks for newer rows.
const refreshEvery = 10 * time.Second

// rowSteps does steps until everything is done or the rows end. context.Canceled
// means that a stop was asked for.
func (r *training) rowSteps(ctx context.Context) error {
	for !r.done() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if done, err := r.mayStep(ctx); done || err != nil {
			return err
		}
		r.bounds.serve()
		err := r.step(ctx)
		switch {
		case errors.Is(err, io.EOF) && r.goesOn():
			continue
		case errors.Is(err, io.EOF):
			r.log.Info("all rows were trained on")
			return nil
		case err != nil && ctx.Err() != nil, r.pace == nil && ctx.Err() != nil:
			return context.Canceled
		case err != nil:
			return err
		}
		if err := r.afterRowStep(ctx); err != nil {
			return err
		}
	}
	return nil
}

// goesOn says whether training goes on where the rows have ended.
func (r *training) goesOn() bool {
	p, ok := r.pace.(endsRows)
	return ok && p.Ended()
}

// mayStep waits until the next step may be done; meanwhile stages can be
// exchanged. done: there is none.
func (r *training) mayStep(ctx context.Context) (done bool, err error) {
	if r.pace == nil {
		if time.Since(r.refreshed) > refreshEvery {
			r.refreshed = time.Now()
			err = r.rows.Refresh()
		}
	} else {
		ready := make(chan struct{})
		go func() { // ends with the wait below
			defer close(ready)
			done, err = r.pace.Before(ctx)
		}()
		r.bounds.wait(ready)
		if ctx.Err() != nil {
			return false, context.Canceled
		}
		r.paced = done
	}
	_, generated := r.rows.Size()
	r.state.Rows = max(r.state.Rows, generated)
	r.page.set(func(p *Page) { p.Stage = "training" })
	return done, err
}

// afterRowStep saves and exports when it is time.
func (r *training) afterRowStep(ctx context.Context) error {
	if r.pace == nil {
		return r.saveIfDue(ctx)
	}
	whole := context.WithoutCancel(ctx) // a step that was done counts, also when a stop was asked for meanwhile
	save, export, err := r.pace.After(whole)
	if err != nil {
		return err
	}
	page := r.pace.Page()
	r.page.set(func(p *Page) { p.Pace = page })
	if !save && !export {
		return r.saveIfDue(whole)
	}
	if err := r.validate(whole); err != nil {
		return err
	}
	r.state.ExportOwed = export && r.cfg.GetTraining().GetExportMode() != config.Training_TRAINONLY // a process that is killed after the save leaves it to the next one
	if err := r.save(whole); err != nil {
		return err
	}
	return r.payExport(whole)
}

// waits tells everybody that the training waits, and for what.
func (r *training) waits(why string) {
	r.log.Info("waiting", "for", why)
	page := r.pace.Page()
	r.page.set(func(p *Page) { p.Stage, p.Pace = "waiting", page })
	r.bus.Publish(&monitor.Stage{Name: "wait", State: "started", Detail: why})
}

// restorable are the sections that a checkpoint is to give back: one written
// without a pacer has none of its state.
func (r *training) restorable(c *checkpoint.Checkpoint, all []stage.Section) []stage.Section {
	if r.pace == nil {
		return all
	}
	name := r.pace.Section().Name
	for _, f := range c.Manifest.Files {
		if f.Section == name {
			return all
		}
	}
	r.log.Info("the checkpoint was written by a training of another pace: this one begins its counts anew", "section", name)
	kept := all[:0]
	for _, s := range all {
		if s.Name != name {
			kept = append(kept, s)
		}
	}
	return kept
}
