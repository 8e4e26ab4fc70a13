package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"syscall"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
)

// Train plays and learns until the asked number of episodes (or steps) is
// reached, or until ctx ends: then it finishes the step under way, saves, and
// returns ErrInterrupted. A run that is finished already only sums up.
func Train(ctx context.Context, opt Options) (summary *Summary, err error) {
	r := newTraining(opt)
	if err = r.open(ctx); err == nil {
		err = run.Beside(r.process.Context(), opt.Beside, func(ctx context.Context) (err error) {
			summary, err = r.train(ctx)
			return err
		})
	} else if ctx.Err() != nil && play.Stopped(err) {
		err = run.ErrInterrupted // nothing was begun that would have to be saved
	}
	return summary, r.close(err)
}

// train is the main loop: a game enters, its steps follow, and so on.
func (r *training) train(ctx context.Context) (*Summary, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer r.bounds.end()
	if err := r.listen(); err != nil {
		return nil, err
	}
	r.announce()
	// What must be saved is saved with ctx over, too.
	whole := context.WithoutCancel(ctx)
	if err := r.firstCheckpoint(whole); err != nil {
		return nil, err
	}
	r.rows.Ahead(ctx)
	endWatch := r.watchPlugins(ctx)
	err := r.trainSteps(ctx)
	r.bounds.end()
	endWatch()
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return nil, r.fail(whole, err)
	}
	if err := r.process.Held(); err != nil {
		return nil, err // the metrics are another process's now, too
	}
	if err := r.finishState(whole); err != nil {
		return nil, err
	}
	phase, err := monitor.RunDone, error(nil)
	if interrupted {
		phase, err = monitor.RunStopped, run.ErrInterrupted
	}
	summary := r.summarize(phase)
	r.tellEnd(phase, "")
	return summary, err
}

// tellEnd tells everybody how the training ended.
func (r *training) tellEnd(phase, message string) {
	e := &monitor.Run{Phase: phase, Message: message, Step: r.trainer.NumSteps(), Episode: r.state.Episodes}
	if message == "" {
		e.Episodes = r.players.target
	}
	r.process.Publish(e)
}

// saveFailing saves the state of a run that fails with err between two steps.
func (r *training) saveFailing(ctx context.Context, err error) error {
	if !r.saver.unsaved() || r.saver.failed {
		return err
	}
	if saveErr := r.saver.save(ctx); saveErr != nil {
		return errors.Join(err, saveErr)
	}
	return fmt.Errorf("%w; the state is saved, the same command goes on", err)
}

// fail reports what ended the run. On a full disk it saves the state, for which
// room was kept, and so it does where a rescorer failed; else the last checkpoint
// stands.
func (r *training) fail(ctx context.Context, err error) error {
	var space *fsx.SpaceError
	var plugin *host.Error
	switch {
	case errors.Is(err, trainer.ErrNonFinite):
		r.alarm("non_finite", err.Error(), "lower --lr or raise the warm-up; the last good checkpoint stands")
	case errors.Is(err, ErrGradients):
		r.alarm("gradients", err.Error(), "lower --lr or raise the warm-up; the last checkpoint stands")
	case errors.Is(err, fsx.ErrSync):
		r.alarm("sync", err.Error(), "look at the disk; the last checkpoint stands")
	case errors.As(err, &space) || errors.Is(err, syscall.ENOSPC):
		r.alarm("disk_low", err.Error(), "make room and start the same command again")
		err = r.saveFailing(ctx, err)
	case errors.As(err, &plugin):
		r.alarm("plugin", err.Error(), "mend or replace the plugin, or take --on-plugin-failure continue, and start the same command again")
		if plugin.Kind == stage.KindRescorer && errors.Is(err, errGame) {
			err = r.saveFailing(ctx, err)
		}
	}
	r.tellEnd(monitor.RunFailed, err.Error())
	return err
}

// trainSteps does steps until all that was asked for are done, the pace ends the training
// or the rows end. context.Canceled means that a stop was asked for.
func (r *training) trainSteps(ctx context.Context) error {
	whole := context.WithoutCancel(ctx) // a step that was begun counts, also when a stop was asked for meanwhile
	for r.cfg.Steps == 0 || r.trainer.NumSteps() < r.cfg.Steps {
		err := r.pace.Wait(ctx)
		switch {
		case err == io.EOF: // not errors.Is: the failure of a program may wrap one
			return nil
		case ctx.Err() != nil:
			return context.Canceled // what else failed, Close says
		case err != nil:
			return err
		}
		_, generated := r.rows.Size()
		r.state.Rows = max(r.state.Rows, generated)
		r.page.Set(func(p *Page) { p.Stage = "training" })
		r.bounds.serve()
		r.reporter.goal = r.goal()
		s, err := r.trainer.Step(whole, r.rows)
		if errors.Is(err, io.EOF) {
			if err = r.pace.RowsEnded(err); err == nil {
				continue
			}
			if err == io.EOF {
				return nil
			}
		}
		if err == nil {
			err = r.afterStep(whole, &s)
		}
		if err != nil && ctx.Err() != nil && play.Stopped(err) {
			return context.Canceled
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// goal is the number of steps at which the training ends, as far as it is known before the
// next one; 0 = it is not.
func (c *core) goal() int64 {
	goal := c.cfg.Steps
	if left, ok := c.pace.Left(); ok && (goal == 0 || c.trainer.NumSteps()+left < goal) {
		goal = c.trainer.NumSteps() + left
	}
	return goal
}

// afterStep reports a step, and saves and exports when it is time.
func (r *training) afterStep(ctx context.Context, s *trainer.StepStats) error {
	if err := r.reporter.report(ctx, s); err != nil {
		return err
	}
	save, export := r.pace.After(s)
	page := r.pace.Status()
	r.page.Set(func(p *Page) { p.Pace = page })
	if !save && !export {
		return r.saver.ifDue(ctx)
	}
	if err := r.reporter.validate(ctx); err != nil {
		return err
	}
	r.state.ExportOwed = export && r.cfg.Export.Mode != setup.ExportNever // a process that is killed after the save leaves it to the next one
	if err := r.saver.save(ctx); err != nil {
		return err
	}
	return r.out.exportPending(ctx)
}

// enter counts one game: it writes it into the journal and puts it into its
// window. pays: there are rows to train on.
func (r *training) enter(g *record.Game) (pays bool, err error) {
	if err := r.process.Held(); err != nil {
		return false, err
	}
	episode := r.state.Episodes + 1
	validation, err := r.ledger.enter(g, episode, r.trainer.NumSteps())
	if err != nil {
		return false, err
	}
	r.state.count(g)
	r.players.watch(g)
	plies, draws := r.state.means()
	e := &monitor.Episode{
		Episode: episode, Episodes: r.players.target, Step: r.trainer.NumSteps(),
		GameID: fmt.Sprintf("%x", g.ID), NetID: g.NetID, Plies: len(g.Plies), End: g.End.String(),
		WhiteResult: int(g.WhiteResult), Validation: validation,
		Results: r.state.Results, Ends: maps.Clone(r.state.Ends), // readers may look at it later
		ResignTested: r.state.Resign.Tested, ResignFalse: r.state.Resign.False,
		MeanPlies: monitor.Number(plies), DrawShare: monitor.Number(draws),
		QueueDepth: r.pace.Queue(), WindowGames: int64(r.ledger.games.Train.Games()), WindowRows: int64(r.ledger.games.Train.Rows()),
		Totals: r.reporter.totals(),
	}
	e.Rates = r.reporter.meter.Observe(time.Now(), e.Totals)
	r.page.Set(func(p *Page) {
		p.Episode, p.Positions, p.WindowRows, p.Rates = episode, r.state.Rows, e.WindowRows, e.Rates
	})
	r.process.Publish(e)
	return r.ledger.games.Train.Rows() > 0, nil
}

// afterEpisode hands the new weights to the players and saves when it is time. After
// the last episode the last checkpoint follows at once.
func (r *training) afterEpisode(ctx context.Context) error {
	if err := r.players.refresh(); err != nil {
		return err
	}
	if r.state.Episodes-r.saver.episodes < r.cfg.Checkpoints.Episodes {
		return nil
	}
	return r.saver.save(ctx)
}
