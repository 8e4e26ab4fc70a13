package ratings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/record"
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
	Share     setup.ShareMatch    // games of matches of two nets with other machines

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
	if err = r.matches(ctx, c); err == nil {
		err = r.ladder(ctx, c)
	}
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

const (
	openingPlies = 8   // random plies that each opening begins with
	maxPlies     = 450 // of a game, which is then a draw
)

// match plays a pair's match, or goes on with it. One whose player cannot be opened, such
// as a net that a disk damaged, is left out.
func (r *rater) match(ctx context.Context, p pair) (err error) {
	a, b := &p[0].log, &p[1].log
	cfg := arena.Config{Seed: arena.MatchSeed("chessbrain rating", r.seed, a.Name, a.SHA256, b.Name, b.SHA256),
		Workers: runtime.GOMAXPROCS(0), MaxPlies: cmp.Or(r.opt.maxPlies, maxPlies), OnGame: func(*arena.Game, arena.Progress) {
			r.done.Games++
			r.page.Set(func(p *Page) { p.Finished++; p.Games++ })
		}}
	defer func() {
		for _, player := range r.players {
			err = errors.Join(err, player.Close())
		}
		r.players, p[0].net, p[1].net = nil, nil, nil
	}()
	for i, o := range p {
		if cfg.Players[i], err = o.open(); err != nil {
			r.log.Warn("a rating match is left out: one of its players cannot play", "player", o.log.Name, "match", r.path(p), "error", err)
			return nil
		}
	}
	path := r.path(p)
	if err := fsx.DefaultReserve.Check(fsx.OS, filepath.Dir(path), 0); err != nil {
		return err
	}
	if err := r.openLog(&cfg, p); err != nil {
		return err
	}
	games := r.want.Games
	for _, g := range cfg.Done { // the configuration may have asked for more before
		games = max(games, (g.Number|1)+1)
	}
	if cfg.Openings, err = arena.Vary(nil, games/2, openingPlies, cfg.Seed); err != nil {
		return errors.Join(fmt.Errorf("rating match: %w", err), cfg.Log.Close())
	}
	if p[0].net != nil && p[1].net != nil {
		m := &setup.NetMatch{Names: [2]string{a.Name, b.Name}, Nets: [2]*nn.Net{p[0].net, p[1].net}, Search: r.want.Search,
			Seed: cfg.Seed, Games: games, OpeningPlies: openingPlies, MaxPlies: cfg.MaxPlies}
		cfg.Share = r.opt.Share.With(m, r.opt.Effective.Config)
	}
	device, precision := setup.DescribePlayers(r.opt.Effective.Config)
	r.log.Info("rating match", "player1", a.Name, "player2", b.Name, "games", 2*len(cfg.Openings), "finished_before", len(cfg.Done),
		"device", device, "precision", precision)
	r.page.Set(func(page *Page) {
		*page = Page{State: "playing", Player1: a.Name, Player2: b.Name, Finished: len(cfg.Done), Of: 2 * len(cfg.Openings),
			Matches: r.done.Matches, Games: r.done.Games}
	})
	began := time.Now()
	result, err := arena.PlayLogged(ctx, cfg, path+pgnSuffix)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("rating %w", err)
	}
	if err != nil {
		return err
	}
	r.done.Matches++
	s := arena.Summarise(result.Games)
	r.log.Info("rating match played", "player1", a.Name, "player2", b.Name, "score", fmt.Sprintf("+%d =%d -%d", s.Wins, s.Draws, s.Losses),
		"elo", fmt.Sprintf("%+.0f (95 %%: %+.0f to %+.0f)", s.Estimate.Elo, s.Estimate.Low, s.Estimate.High), "ends", record.EndCounts(s.Ends),
		"took", time.Since(began).Round(time.Second))
	return nil
}

// openLog opens the log of a match. One of other nets or settings is put aside.
func (r *rater) openLog(cfg *arena.Config, p pair) error {
	// More games of the same match may be asked for later: the first openings stay
	// the same, so the log names how they are drawn and not how many there are.
	h := arena.LogHeader{Players: [2]arena.LogPlayer{p[0].log, p[1].log}, Openings: fmt.Sprintf("%d random plies", openingPlies),
		Program: "chessbrain " + r.opt.Version}
	log := r.path(p) + logSuffix
	return cfg.OpenLog(h, log, func(other *arena.OtherMatchError) error {
		r.log.Warn("another match of this name is put aside; its games go on counting", "log", log, "differences", other.Differences)
		name := filepath.Base(r.path(p))
		return arena.PutAside(r.dir.Matches(), name+pgnSuffix, name+logSuffix)
	})
}
