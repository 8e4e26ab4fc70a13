package ladder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/arena/rating"
	"github.com/chessbrain/chessbrain/internal/fsx"
)

// openingPlies is how many random plies a pair of games begins with.
const openingPlies = 8

// pairing is a match that grows as its games are wanted. The players of a pair of
// games, their openings and their seeds do not depend on how it grew.
type pairing struct {
	config arena.Config // zero = not begun
	games  []arena.Game // the finished ones
	lock   *fsx.Lock    // of the games that are kept
}

// begin begins a match, or goes on with the one that is kept.
func (p *pairing) begin(o *Options, players [2]arena.Player, log [2]arena.LogPlayer) (err error) {
	c := &p.config
	*c = arena.Config{Players: players, Workers: o.Workers, Seed: arena.MatchSeed("ladder", o.Seed, log[1].Name)}
	if c.Openings, err = arena.Vary(nil, o.Games/2, openingPlies, c.Seed); err != nil || o.Keep == "" {
		return err
	}
	if err := fsx.MkdirAll(fsx.OS, o.Keep); err != nil {
		return fmt.Errorf("keep games: %w", err)
	}
	name := log[1].Name + ".jsonl"
	if p.lock, err = fsx.Acquire(filepath.Join(o.Keep, name+".lock"), fsx.LockOptions{Command: "chessbrain ladder"}); err != nil {
		if _, held := errors.AsType[*fsx.LockedError](err); held {
			err = fmt.Errorf("another ladder plays them, wait for its end or name another directory with --keep: %w", err)
		}
		return fmt.Errorf("keep games: %w", err)
	}
	header := arena.LogHeader{Players: log, Openings: fmt.Sprintf("start position, %d random plies", openingPlies)}
	err = c.OpenLog(header, filepath.Join(o.Keep, name), func(*arena.OtherMatchError) error { return arena.PutAside(o.Keep, name) })
	for _, g := range c.Done {
		if g.Number < o.Games { // fewer are wanted than were played
			p.games = append(p.games, g)
		}
	}
	return err
}

// play has all games below a number finished. It returns ctx's error where that
// ended it.
func (p *pairing) play(ctx context.Context, games int) error {
	cfg := p.config
	for _, g := range p.games { // those of a longer match, too
		games = max(games, (g.Number|1)+1)
	}
	cfg.Openings, cfg.Done = p.config.Openings[:games/2], p.games
	r, err := arena.Play(ctx, cfg)
	if r != nil {
		p.games = r.Games
	}
	if errors.Is(err, arena.ErrStopped) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// result counts the games for a rating.
func (p *pairing) result(a, b string) rating.Result {
	s := arena.Summarise(p.games)
	return rating.Result{A: a, B: b, Wins: s.Wins, Draws: s.Draws, Losses: s.Losses}
}

// close closes the log.
func (p *pairing) close() (err error) {
	if p.config.Log != nil {
		err = p.config.Log.Close()
	}
	if p.lock != nil {
		err = errors.Join(err, p.lock.Remove())
	}
	return err
}
