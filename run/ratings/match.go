package ratings

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run/setup"
)

const (
	openingPlies = 8   // random plies that each opening begins with
	maxPlies     = 450 // of a game, which is then a draw
)

// match plays a pair's match, or goes on with it.
func (r *rater) match(ctx context.Context, p pair) (err error) {
	cfg := arena.Config{Seed: r.matchSeed(p), Workers: runtime.GOMAXPROCS(0), MaxPlies: r.opt.maxPlies, OnGame: func(*arena.Game) {
		r.done.Games++
		r.page.Set(func(p *Page) { p.Finished++; p.Games++ })
	}}
	if cfg.Openings, err = arena.Vary(nil, int(r.want.GetGames())/2, openingPlies, cfg.Seed); err != nil {
		return fmt.Errorf("rating match: %w", err)
	}
	defer func() { err = errors.Join(err, r.closePlayers()) }()
	for i, o := range p {
		if cfg.Players[i], err = o.open(); err != nil {
			return fmt.Errorf("rating match of %s: %w", o.log.Name, err)
		}
	}
	path := r.path(p)
	if err := fsx.CheckSpace(fsx.OS, filepath.Dir(path), 0); err != nil {
		return err
	}
	if cfg.Log, cfg.Done, err = r.openLog(path, p, cfg.Seed); err != nil {
		return err
	}
	if len(cfg.Done) > 2*len(cfg.Openings) { // the configuration asks for fewer games now
		return cfg.Log.Close()
	}
	device, precision := setup.DescribePlayers(r.cfg)
	r.log.Info("rating match", "player1", p[0].log.Name, "player2", p[1].log.Name, "games", 2*len(cfg.Openings), "finished_before", len(cfg.Done),
		"device", device, "precision", precision)
	r.page.Set(func(page *Page) {
		*page = Page{State: "playing", Player1: p[0].log.Name, Player2: p[1].log.Name, Finished: len(cfg.Done), Of: 2 * len(cfg.Openings),
			Matches: r.done.Matches, Games: r.done.Games}
	})
	began := time.Now()
	result, err := arena.Play(ctx, cfg)
	err = errors.Join(err, cfg.Log.Close())
	if err != nil {
		if errors.Is(err, arena.ErrStopped) && ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("rating match of %s against %s: %w", p[0].log.Name, p[1].log.Name, err)
	}
	if err := fsx.WriteFileFunc(fsx.OS, path+pgnSuffix, result.WritePGN); err != nil {
		return fmt.Errorf("write games of a rating match: %w", err)
	}
	r.done.Matches++
	s := arena.Summarise(result.Games)
	r.log.Info("rating match played", "player1", p[0].log.Name, "player2", p[1].log.Name, "score", fmt.Sprintf("+%d =%d -%d", s.Wins, s.Draws, s.Losses),
		"elo", fmt.Sprintf("%+.0f (95 %%: %+.0f to %+.0f)", s.Estimate.Elo, s.Estimate.Low, s.Estimate.High), "ends", endCounts(s.Ends),
		"took", time.Since(began).Round(time.Second))
	return nil
}

// closePlayers ends the nets of a match.
func (r *rater) closePlayers() error {
	var errs []error
	for _, p := range r.players {
		errs = append(errs, p.Close())
	}
	r.players = nil
	return errors.Join(errs...)
}

// openLog opens the log of a match. One of other nets or settings is put aside.
func (r *rater) openLog(path string, p pair, seed uint64) (*arena.Log, []arena.Game, error) {
	// More games of the same match may be asked for later: the first openings stay
	// the same, so the log names how they are drawn and not how many there are.
	h := arena.LogHeader{Players: [2]arena.LogPlayer{p[0].log, p[1].log}, Seed: seed, Openings: fmt.Sprintf("%d random plies", openingPlies),
		MaxPlies: r.opt.maxPlies, Program: "chessbrain " + r.opt.Version, Began: time.Now().UTC()}
	log, games, err := arena.OpenLog(fsx.OS, path+logSuffix, h)
	if other, ok := errors.AsType[*arena.OtherMatchError](err); ok {
		r.log.Warn("another match of this name is put aside; its games go on counting", "log", path+logSuffix, "differences", other.Differences)
		if err := putAside(path); err != nil {
			return nil, nil, err
		}
		log, games, err = arena.OpenLog(fsx.OS, path+logSuffix, h)
	}
	return log, games, err
}

// matchSeed is the match's own: each pair plays other openings.
func (r *rater) matchSeed(p pair) uint64 {
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint64([]byte("chessbrain rating\x00"), r.seed))
	for _, o := range p {
		h.Write([]byte(o.log.Name + "\x00" + o.log.SHA256 + "\x00"))
	}
	return binary.LittleEndian.Uint64(h.Sum(nil))
}
