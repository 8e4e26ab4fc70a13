package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chessbrain/chessbrain/config"
	"github.com/chessbrain/chessbrain/monitor"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/trainer"
)

// prefetchDepth is how many micro-batches are prepared in advance.
const prefetchDepth = 2

// Train plays and learns until the asked number of episodes (or steps) is
// reached, or until ctx ends: then it finishes the step under way, saves, and
// returns ErrInterrupted. A run that is finished already only sums up.
func Train(ctx context.Context, opt Options) (*Summary, error) {
	r, err := openRun(ctx, opt)
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	summary, err := r.train(ctx)
	return summary, errors.Join(err, r.close())
}

// train is the main loop: a game enters, its steps follow, and so on.
func (r *run) train(ctx context.Context) (*Summary, error) {
	ctx, r.stop = context.WithCancel(ctx)
	defer r.stop()
	if err := r.openControl(); err != nil {
		return nil, err
	}
	r.announce()
	if err := r.firstCheckpoint(); err != nil {
		return nil, err
	}
	batches := replay.Prefetch(r.source, prefetchDepth)
	defer batches.Close()
	err := r.episodes(ctx, batches)
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		if errors.Is(err, trainer.ErrNonFinite) {
			r.alarm("non_finite", "ten steps in a row had numbers that are not finite", "lower --lr or raise the warm-up; the last good checkpoint stands")
		}
		r.bus.Publish(&monitor.Run{Phase: monitor.RunFailed, Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Message: err.Error()})
		return nil, err
	}
	// The state is saved whatever ended the loop, and with ctx over.
	if err := r.finishState(context.WithoutCancel(ctx), batches); err != nil {
		return nil, err
	}
	phase := monitor.RunDone
	if interrupted {
		phase = monitor.RunStopped
	}
	r.bus.Publish(&monitor.Run{Phase: phase, Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Episodes: r.target()})
	summary := r.summarize(phase)
	if interrupted {
		return summary, ErrInterrupted
	}
	return summary, nil
}

// target is the number of episodes asked for, 0 where the source sets none.
func (r *run) target() int64 {
	if r.cfg.GetTraining().GetSource() != config.Training_SELFPLAY {
		return 0
	}
	return r.cfg.GetSelfplay().GetEpisodes()
}

// done says whether everything asked for is done.
func (r *run) done() bool {
	if steps := r.cfg.GetTraining().GetSteps(); steps > 0 && r.trainer.NumSteps() >= steps {
		return true
	}
	return r.target() > 0 && r.state.Episodes >= r.target() && r.state.StepsLeft == 0
}

// episodes runs until everything is done. context.Canceled means that a stop was
// asked for.
func (r *run) episodes(ctx context.Context, batches *replay.Prefetcher) error {
	for !r.done() {
		if r.state.StepsLeft == 0 {
			if err := r.nextGame(ctx); err != nil {
				if errors.Is(err, errNoMoreGames) {
					return nil
				}
				return err
			}
		}
		for r.state.StepsLeft > 0 && !r.done() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := r.step(ctx, batches); err != nil {
				return err
			}
			if err := r.saveIfAsked(batches); err != nil {
				return err
			}
		}
		if err := r.afterEpisode(ctx, batches); err != nil {
			return err
		}
	}
	return nil
}

// nextGame waits for a game, writes it into the journal and puts it into its
// window.
func (r *run) nextGame(ctx context.Context) error {
	g, err := r.feed.Next(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return context.Canceled
		}
		return err
	}
	if err := r.enter(g); err != nil {
		return err
	}
	r.state.StepsLeft = 0
	if r.games.Train.Rows() > 0 {
		r.state.StepsLeft = int(r.cfg.GetTraining().GetStepsPerEpisode())
	}
	return nil
}

// enter counts one game.
func (r *run) enter(g *record.Game) error {
	episode := r.state.Episodes + 1
	if err := r.journal.Enter(Entry{Episode: episode, Game: fmt.Sprintf("%x", g.ID), Ordinal: g.Ordinal, Step: r.trainer.NumSteps()}); err != nil {
		return err
	}
	window := r.games.Window(g.ID)
	window.Add(g)
	r.state.count(g)
	plies, draws := r.state.means()
	e := &monitor.Episode{
		Episode: episode, Episodes: r.target(), Step: r.trainer.NumSteps(),
		GameID: fmt.Sprintf("%x", g.ID), NetID: g.NetID, Plies: len(g.Plies), End: g.End.String(),
		WhiteResult: int(g.WhiteResult), Validation: window == r.games.Validation,
		Results: r.state.Results, Ends: r.state.Ends,
		MeanPlies: monitor.Number(plies), DrawShare: monitor.Number(draws),
		QueueDepth: r.feed.Waiting(), WindowGames: int64(r.games.Train.Games()), WindowRows: int64(r.games.Train.Rows()),
		Totals: r.totals(),
	}
	e.Rates = r.meter.Observe(time.Now(), e.Totals)
	r.page.set(func(p *Page) {
		p.Episode, p.Positions, p.WindowRows, p.Rates = episode, r.state.Rows, e.WindowRows, e.Rates
	})
	r.bus.Publish(e)
	return nil
}

// step does one optimizer step and reports it.
func (r *run) step(ctx context.Context, batches *replay.Prefetcher) error {
	s, err := r.trainer.Step(context.WithoutCancel(ctx), batches)
	if err != nil {
		return err
	}
	r.state.StepsLeft--
	e := &monitor.Step{
		Step: s.Step, Episode: r.state.Episodes, Samples: s.Samples, Rows: s.Rows,
		Losses: lossNumbers(&s.Measures), Loss: monitor.Number(s.Objective),
		PolicyEntropy: monitor.Number(s.PolicyEntropy), TargetEntropy: monitor.Number(s.PolicyTargetEntropy),
		LegalEntropy: monitor.Number(s.LegalEntropy), PolicyAcc: monitor.Number(s.PolicyAccuracy), ValueAcc: monitor.Number(s.ValueAccuracy),
		LR: monitor.Number(s.LR), GradNorm: monitor.Number(s.GradNorm), Clipped: s.Clipped, LossScale: monitor.Number(s.LossScale),
		Skipped: s.Skipped, SkippedTotal: r.trainer.NumSkipped(), Seconds: monitor.Number(s.Time.Seconds()),
		QueueDepth: r.feed.Waiting(), WindowRows: int64(r.games.Train.Rows()), Totals: r.totals(),
	}
	e.Rates = r.meter.Observe(time.Now(), e.Totals)
	r.page.set(func(p *Page) { p.Step, p.Losses, p.Rates = s.Step, e.Losses, e.Rates })
	r.page.add(e.Losses)
	r.bus.Publish(e)
	if every := r.cfg.GetTraining().GetValidation().GetEvery(); every > 0 && s.Step%every == 0 && !s.Skipped {
		return r.validate(ctx)
	}
	return nil
}

// afterEpisode hands the new weights to the producers and saves when it is time.
func (r *run) afterEpisode(ctx context.Context, batches *replay.Prefetcher) error {
	if r.target() > 0 && !r.done() {
		if err := r.publishNet(r.netName(), r.trainer.Net()); err != nil {
			return err
		}
	}
	c := r.cfg.GetTraining().GetCheckpoint()
	episodesDue := c.GetInterval() > 0 && r.target() > 0 && r.state.Episodes-r.lastSaved >= c.GetInterval()
	stepsDue := c.GetIntervalSteps() > 0 && r.trainer.NumSteps()-r.lastStep >= c.GetIntervalSteps()
	if !episodesDue && !stepsDue {
		return nil
	}
	return r.save(ctx, batches)
}

// totals are the counts since the process started.
func (r *run) totals() monitor.Totals {
	s := &r.stats
	return monitor.Totals{
		Games: int64(s.GamesFinished.Load()), Positions: int64(s.Plies.Load()),
		Evaluations: int64(s.Evaluations.Load()), Batches: int64(s.Batches.Load()),
		CacheHits: int64(s.CacheHits.Load()), CacheProbes: int64(s.CacheHits.Load() + s.CacheMisses.Load()),
		Steps: r.trainer.NumSteps() - r.firstStep, Rows: r.trainer.NumSamples() - r.firstSample,
	}
}

// lossNumbers are losses by metric name.
func lossNumbers(m *trainer.Measures) monitor.Numbers {
	n := monitor.Numbers{}
	for _, l := range m.Losses {
		n[l.Metric] = monitor.Number(l.Mean)
	}
	return n
}

// alarm reports something that a person should look at.
func (r *run) alarm(code, message, remedy string) {
	r.bus.Publish(&monitor.Alarm{Code: code, Severity: "error", Message: message, Remedy: remedy,
		Step: r.trainer.NumSteps(), Episode: r.state.Episodes})
}
