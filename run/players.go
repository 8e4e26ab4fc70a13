package run

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/selfplay"
)

// players are the worker goroutines of one process. They share the tickets.
type players struct {
	workers []*selfplay.Worker
	done    chan struct{} // closed when all have ended: the tickets are used up, the context ended, or one failed and stopped the others
	err     error         // valid after done
}

// startPlayers starts number workers, which go on with the unfinished games in
// equal shares. worker has tickets and sink; each worker gets its own view of
// nets.
func startPlayers(ctx context.Context, nets *Nets, worker selfplay.WorkerConfig, number int, unfinished []selfplay.Unfinished) (*players, error) {
	shares := make([][]selfplay.Unfinished, number)
	for i, g := range unfinished {
		shares[i%number] = append(shares[i%number], g)
	}
	p := &players{done: make(chan struct{})}
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
		p.err = group.Wait()
		close(p.done)
	}()
	return p, nil
}

// unfinished returns the games that were under way when the players ended.
func (p *players) unfinished() (games []selfplay.Unfinished) {
	for _, w := range p.workers {
		games = append(games, w.Unfinished()...)
	}
	return games
}
