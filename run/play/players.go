package play

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/selfplay"
)

// Players are the worker goroutines of one process. They share the tickets.
type Players struct {
	workers []*selfplay.Worker
	Done    chan struct{} // closed when all have ended: the tickets are used up, the context ended, or one failed and stopped the others
	Err     error         // valid after done
}

// StartPlayers starts number workers, which go on with the unfinished games in
// equal shares. worker has tickets and sink; each worker gets its own view of
// nets.
func StartPlayers(ctx context.Context, nets *Nets, worker selfplay.WorkerConfig, number int, unfinished []selfplay.Unfinished) (*Players, error) {
	shares := make([][]selfplay.Unfinished, number)
	for i, g := range unfinished {
		shares[i%number] = append(shares[i%number], g)
	}
	p := &Players{Done: make(chan struct{})}
	for i := range number {
		worker.Nets, worker.Unfinished = nets.ForWorker(worker.Parallel), shares[i]
		w, err := selfplay.NewWorker(worker)
		if err != nil {
			return nil, fmt.Errorf("start producer: %w", err)
		}
		p.workers = append(p.workers, w)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, w := range p.workers {
		group.Go(func() error { return w.Run(ctx) })
	}
	go func() {
		p.Err = group.Wait()
		close(p.Done)
	}()
	return p, nil
}

// unfinished returns the games that were under way when the players ended.
func (p *Players) unfinished() (games []selfplay.Unfinished) {
	for _, w := range p.workers {
		games = append(games, w.Unfinished()...)
	}
	return games
}

// Stopped says whether err only says that the workers were told to stop.
func Stopped(err error) bool {
	return errors.Is(err, selfplay.ErrStopped) || errors.Is(err, context.Canceled)
}
