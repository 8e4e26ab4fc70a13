package train

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/chessbrain/chessbrain/record"
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

// gameError says that no game came, between two steps: the state can be saved.
type gameError struct{ err error }

func (e *gameError) Error() string { return "wait for a game: " + e.err.Error() }
func (e *gameError) Unwrap() error { return e.err }

// episodes is the pace of a training on games: each game that enters pays for so many
// steps.
type episodes struct {
	freePace
	state  *State // holds the steps still owed
	steps  int    // that a game pays for
	target int64  // games asked for, 0 = no limit

	open   func() (Games, error)                       // begins to deliver
	during func(wait func() error) error               // lets stages be exchanged meanwhile
	enter  func(g *record.Game) (pays bool, err error) // pays: there are rows to train on
	turn   func(ctx context.Context) error             // follows an episode, unless it is the last
	stage  func(name string)                           // on the status page

	games Games // nil = not opened
	under bool  // an episode is under way, or was the latest thing done
}

func newEpisodes(r *training, open func() (Games, error), turn func(context.Context) error) *episodes {
	return &episodes{state: &r.state, steps: r.cfg.Episodes.Steps, target: r.players.target,
		open: open, during: r.bounds.during, enter: r.enter, turn: turn,
		stage: func(name string) { r.page.Set(func(p *Page) { p.Stage = name }) }}
}

// Wait takes games until one pays for steps. A game that pays for none, since no row
// is there yet, is an episode all the same.
func (p *episodes) Wait(ctx context.Context) (err error) {
	for {
		if p.state.StepsLeft == 0 && p.target > 0 && p.state.Episodes >= p.target {
			return io.EOF
		}
		if p.games == nil {
			if p.games, err = p.open(); err != nil {
				return err
			}
		}
		if p.state.StepsLeft > 0 {
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

// next waits for a game and counts it.
func (p *episodes) next(ctx context.Context) error {
	p.stage("self-play")
	defer p.stage("training")
	var g *record.Game
	err := p.during(func() (err error) {
		g, err = p.games.Next(ctx)
		return err
	})
	if err != nil {
		return &gameError{err}
	}
	pays, err := p.enter(g)
	if err == nil && pays {
		p.state.StepsLeft = p.steps
	}
	return err
}

func (p *episodes) After(*trainer.StepStats) (save, export bool) {
	p.state.StepsLeft = max(0, p.state.StepsLeft-1)
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
