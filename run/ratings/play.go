package ratings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Options start the rating of a run.
type Options struct {
	Effective *setup.Effective // section loop.rating; games 0 plays nothing
	LockWait  time.Duration    // how long to wait for another rater
	Poll      time.Duration    // how often to look for new nets, until ctx ends; 0 = once
	Command   string           // for the lock
	Version   string           // of the program
	Log       *slog.Logger
	Publish   func(monitor.Event) // takes alarms; nil = they are only logged
	Rebuild   bool                // see UpdateOptions

	maxPlies int // of a game, for tests; 0 = the usual number
}

// Summary is what Play did.
type Summary struct {
	Matches   int // that it played to their end
	Games     int // that it played
	Catalogue *catalogue.Catalogue
	Alarms    []*monitor.Alarm
}

// Page is one page of a rater's state.
type Page struct {
	State    string `json:"state"`             // playing or waiting
	Player1  string `json:"player1,omitempty"` // of the match under way
	Player2  string `json:"player2,omitempty"`
	Finished int    `json:"finished,omitempty"` // games of that match
	Of       int    `json:"of,omitempty"`
	Matches  int    `json:"matches"` // played to their end by this process
	Games    int    `json:"games"`
}

// rater plays rating matches. One goroutine uses it.
type rater struct {
	opt     Options
	want    setup.Rating
	log     *slog.Logger
	dir     run.Dir
	process *run.Process
	seed    uint64             // of the run
	engines []*opponent        // that answered
	players []*setup.NetPlayer // of the match under way
	done    Summary
	page    run.Shared[Page]
}

// Play plays the rating matches that are missing, the newest net's first, and
// brings the catalogue up to date. With run.ErrInterrupted, when ctx ended first,
// all finished games are on disk and the next call goes on with the match.
//
// It takes no lock but the rater's: it reads accepted nets and writes only its own
// matches and the catalogue, whoever else works in the run.
func Play(ctx context.Context, opt Options) (*Summary, error) {
	r := &rater{opt: opt, log: opt.Log}
	r.page.Set(func(p *Page) { p.State = "waiting" })
	var err error
	if r.want, err = setup.RatingOf(opt.Effective); err != nil {
		return nil, err
	}
	dir, info, err := setup.Layout(opt.Effective.Config)
	if err != nil {
		return nil, err
	}
	r.dir, r.seed = dir, info.Seed
	r.process, err = run.Open(ctx, dir, run.Rater, run.Options{LockWait: opt.LockWait, Command: opt.Command, Log: r.log,
		Commands: &run.Commands{Status: func() any { return r.page.Get() }}})
	if err != nil {
		return nil, err
	}
	return &r.done, r.process.Close(r.rounds(r.process.Context()))
}

// rounds works once, or, with Options.Poll, until ctx ends.
func (r *rater) rounds(ctx context.Context) error {
	for {
		if err := r.work(ctx); err != nil {
			return err
		}
		if r.opt.Poll == 0 {
			return ctx.Err() // interrupted work may have left a match out
		}
		r.page.Set(func(p *Page) { *p = Page{State: "waiting", Matches: r.done.Matches, Games: r.done.Games} })
		if err := run.Sleep(ctx, r.opt.Poll); err != nil {
			return err
		}
	}
}

// work plays what is missing and rates everybody, also when it is interrupted.
func (r *rater) work(ctx context.Context) error {
	c, err := Update(ctx, r.dir.Root, UpdateOptions{Rebuild: r.opt.Rebuild, Log: r.log})
	if err != nil {
		return err
	}
	before := r.done.Games
	err = r.matches(ctx, c)
	if r.done.Games > before {
		var updateErr error
		if c, updateErr = Update(context.WithoutCancel(ctx), r.dir.Root, UpdateOptions{Log: r.log}); updateErr != nil {
			return errors.Join(err, updateErr)
		}
	}
	told := r.done.Alarms
	r.done.Catalogue, r.done.Alarms = c, Alarms(c)
	for _, a := range r.done.Alarms {
		if slices.ContainsFunc(told, func(o *monitor.Alarm) bool { return o.Message == a.Message }) {
			continue
		}
		r.log.Warn(a.Message, "alarm", a.Code, "remedy", a.Remedy)
		if r.opt.Publish != nil {
			r.opt.Publish(a)
		}
	}
	return err
}

func (r *rater) matches(ctx context.Context, c *catalogue.Catalogue) error {
	if r.want.Games == 0 {
		return nil
	}
	nets, dir := r.nets(c), r.dir.Matches()
	if len(nets) == 0 {
		return nil
	}
	if err := gate.PrepareDir(dir); err != nil {
		return fmt.Errorf("ratings: %w", err)
	}
	if r.engines == nil {
		r.openEngines()
	}
	for _, p := range r.pairs(nets) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.complete(c, p) {
			continue
		}
		if err := r.match(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
