package api

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// newRescorer returns the plugin's rescorer as a stage that is not supervised: an
// error of the plugin is that of the call. It is also a stage.Faulty.
func newRescorer(c *Conn, d *stage.Definition) stage.BatchRescorer {
	return &rescorer{conn: c, definition: d}
}

type rescorer struct {
	conn       *Conn
	definition *stage.Definition

	mu     sync.Mutex
	faults string
}

var _ stage.Faulty = (*rescorer)(nil)

// Name returns the stage's name.
func (r *rescorer) Name() string { return r.definition.Name }

// Err is what the plugin said of broken things in its last answer.
func (r *rescorer) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.faults == "" {
		return nil
	}
	return errors.New(r.faults)
}

// Rescore returns what the plugin makes of one game.
func (r *rescorer) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	return stage.RescoreOne(ctx, r, g)
}

// RescoreBatch sends the games in messages of BatchBytes without waiting for
// answers in between.
func (r *rescorer) RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	if err := ctx.Err(); err != nil || len(games) == 0 {
		return nil, err
	}
	s, err := r.conn.OpenRescore(ctx, r.definition)
	if err != nil {
		return nil, err
	}
	runs := split(games)
	sent := make(chan error, 1)
	go func() { sent <- sendAll(s, runs) }()
	out, err := r.receive(s, games, len(runs))
	s.Close()
	if sendErr := <-sent; sendErr != nil && !errors.Is(sendErr, ErrEnded) && !errors.Is(sendErr, context.Canceled) {
		return nil, sendErr
	}
	return out, err
}

// sendAll sends runs of games as batches 0, 1, ... It ends the stream where a
// game cannot be sent.
func sendAll(s *RescoreStream, runs [][]*record.Game) error {
	for _, run := range runs {
		if err := s.Send(run); err != nil {
			s.Close()
			return err
		}
	}
	return s.stream.CloseSend()
}

// receive returns the games that the answers to some batches make of games.
func (r *rescorer) receive(s *RescoreStream, games []*record.Game, batches int) ([]*record.Game, error) {
	out := make([]*record.Game, 0, len(games))
	for range batches {
		result, err := s.Recv()
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		r.faults = result.Faults
		r.mu.Unlock()
		for i, g := range result.Games {
			if result.Errs[i] != nil {
				return nil, fmt.Errorf("game %x: %w", games[len(out)].ID, result.Errs[i])
			}
			out = append(out, g)
		}
	}
	return out, nil
}

// split cuts games into runs whose messages have about BatchBytes; a bigger game
// is alone in its run. The runs alias games.
func split(games []*record.Game) [][]*record.Game {
	var runs [][]*record.Game
	from, bytes := 0, 0
	for i, g := range games {
		size := GameSize(g)
		if i > from && bytes+size > BatchBytes {
			runs = append(runs, games[from:i:i])
			from, bytes = i, 0
		}
		bytes += size
	}
	if from < len(games) {
		runs = append(runs, games[from:len(games):len(games)])
	}
	return runs
}
