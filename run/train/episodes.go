package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/trainer"
)

// errNoMoreGames ends the games: what was asked for has been handed out.
var errNoMoreGames = errors.New("no more games")

// Games hands the trainer one durable game after another.
type Games interface {
	// Next waits for the next game. errNoMoreGames ends it.
	Next(ctx context.Context) (*record.Game, error)
	// Waiting is the number of games that could be had at once.
	Waiting() int
	// Close stops what plays the games and waits for it.
	Close() error
}

// errGame says that no game came, between two steps: the state can be saved.
var errGame = errors.New("wait for a game")

// episodes is the pace of a training on games: each game that enters pays for so many
// steps.
type episodes struct {
	freePace
	r     *training
	open  func() (Games, error)           // begins to deliver
	turn  func(ctx context.Context) error // follows an episode, unless it is the last
	games Games                           // nil = not opened
	under bool                            // an episode is under way, or was the latest thing done
}

// Wait takes games until one pays for steps. A game that pays for none, since no row
// is there yet, is an episode all the same.
func (p *episodes) Wait(ctx context.Context) (err error) {
	for {
		if target := p.r.players.target; p.r.state.StepsLeft == 0 && target > 0 && p.r.state.Episodes >= target {
			return io.EOF
		}
		if p.games == nil {
			if p.games, err = p.open(); err != nil {
				return err
			}
		}
		if p.r.state.StepsLeft > 0 {
			p.under = true
			return nil
		}
		if p.under {
			if err := p.turn(context.WithoutCancel(ctx)); err != nil {
				return err
			}
		}
		if err := p.next(ctx); err != nil {
			return err
		}
		p.under = true
	}
}

// next waits for a game and counts it. Stages may be exchanged meanwhile.
func (p *episodes) next(ctx context.Context) error {
	p.r.page.Set(func(page *Page) { page.Stage = "self-play" })
	defer p.r.page.Set(func(page *Page) { page.Stage = "training" })
	var g *record.Game
	err := p.r.bounds.during(func() (err error) {
		g, err = p.games.Next(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errGame, err)
	}
	pays, err := p.r.enter(g)
	if err == nil && pays {
		p.r.state.StepsLeft = p.r.cfg.Episodes.Steps
	}
	return err
}

func (p *episodes) After(*trainer.StepStats) (save, export bool) {
	p.r.state.StepsLeft = max(0, p.r.state.StepsLeft-1)
	return false, false
}

// RowsEnded is an error: a window does not end, its sampler does.
func (p *episodes) RowsEnded(err error) error { return fmt.Errorf("no rows of the window: %v", err) }

func (p *episodes) Queue() int {
	if p.games == nil {
		return 0
	}
	return p.games.Waiting()
}

func (p *episodes) Close() error {
	if p.games == nil {
		return nil
	}
	return p.games.Close()
}

// others are the games that other processes write into a directory.
type others struct {
	dir   *replay.DirSource
	found []*record.Game
	log   *slog.Logger
}

// others watches the directory of the games. Those of the backlog, and those that entered
// before the start, are not found again, nor is what a process of the name own writes.
func (l *ledger) others(own string) others {
	o := others{dir: replay.NewDirSource(fsx.OS, l.root), log: l.log}
	o.dir.LeaveOut(own)
	for id := range l.seen {
		o.dir.MarkSeen(id)
	}
	for _, g := range l.back.games {
		o.dir.MarkSeen(g.ID)
	}
	return o
}

// look takes in what is new.
func (o *others) look(ctx context.Context) error {
	found, err := o.dir.Poll(ctx)
	if err != nil {
		return fmt.Errorf("look for games: %w", err)
	}
	for _, p := range found.Problems {
		o.log.Error("damaged games were left out", "error", p)
	}
	o.found = found.Games
	return nil
}

// watchedGames are those of others alone.
type watchedGames struct {
	back *backlog
	others
	waits func(why string) // says so
}

const (
	// pollEvery is how often a directory is looked at while no game waits.
	pollEvery = 2 * time.Second
	// After so many looks without a game, and again after so many more, that is said.
	firstWords, moreWords = 5, 150
)

// watchGames delivers what other processes write. The games of the backlog come first.
func (r *training) watchGames() (Games, error) {
	return &watchedGames{back: r.ledger.back, others: r.ledger.others(""), waits: func(why string) { r.waits(why + " in " + placeOf(r.ledger.root)) }}, nil
}

// placeOf is a directory that is waited for, as people read it.
func placeOf(dir string) string {
	if there, err := fsx.Exists(dir); err == nil && !there {
		return dir + ", a directory that is not there"
	}
	return dir
}

func (f *watchedGames) Next(ctx context.Context) (*record.Game, error) {
	if g := f.back.pop(); g != nil {
		return g, nil
	}
	for looks := 0; len(f.found) == 0; looks++ {
		if looks%moreWords == firstWords {
			f.waits("games of other processes, which chessbrain selfplay plays,")
		}
		if err := f.look(ctx); err != nil {
			return nil, err
		}
		if len(f.found) > 0 {
			break
		}
		if err := run.Sleep(ctx, pollEvery); err != nil {
			return nil, err
		}
	}
	return pop(&f.found), nil
}

func (f *watchedGames) Waiting() int { return f.back.Len() + len(f.found) }

func (f *watchedGames) Close() error { return nil }

// mixedGames are those of this process's workers, and those of others. They take turns
// where games of both wait, so that neither keeps the other out.
type mixedGames struct {
	*producedGames
	others
	looked time.Time // for games of others, without finding any
	turn   bool      // of others
}

func (f *mixedGames) Next(ctx context.Context) (*record.Game, error) {
	for f.back.Len() == 0 {
		if len(f.found) == 0 && time.Since(f.looked) >= pollEvery {
			if err := f.look(ctx); err != nil {
				return nil, err
			}
			if len(f.found) == 0 {
				f.looked = time.Now()
			}
		}
		f.turn = !f.turn
		if len(f.found) > 0 && (f.turn || f.producedGames.Waiting() == 0) {
			return pop(&f.found), nil
		}
		wait, cancel := context.WithTimeout(ctx, pollEvery)
		g, err := f.producedGames.Next(wait)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return g, err
		}
	}
	return f.producedGames.Next(ctx)
}

func (f *mixedGames) Waiting() int { return f.producedGames.Waiting() + len(f.found) }
