package ratings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run/setup"
)

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
		r.players = nil
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
