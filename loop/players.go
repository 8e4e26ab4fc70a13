package loop

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/selfplay"
)

// players are the worker goroutines of one process. They share the tickets.
type players struct {
	done chan struct{} // closed when all have ended: the tickets are used up, the context ended, or one failed and stopped the others
	err  error         // valid after done
}

// startPlayers starts number workers. worker has tickets and sink; each worker
// gets its own view of nets.
func startPlayers(ctx context.Context, nets *Nets, worker selfplay.WorkerConfig, number int) (*players, error) {
	var workers []*selfplay.Worker
	for range number {
		worker.Nets = nets.ForWorker(worker.Parallel)
		w, err := selfplay.NewWorker(worker)
		if err != nil {
			return nil, fmt.Errorf("start producer: %w", err)
		}
		workers = append(workers, w)
	}
	p := &players{done: make(chan struct{})}
	group, ctx := errgroup.WithContext(ctx)
	for _, w := range workers {
		group.Go(func() error { return w.Run(ctx) })
	}
	go func() {
		p.err = group.Wait()
		close(p.done)
	}()
	return p, nil
}

// stopped says whether err only says that the workers were told to stop.
func stopped(err error) bool {
	return errors.Is(err, selfplay.ErrStopped) || errors.Is(err, context.Canceled)
}
