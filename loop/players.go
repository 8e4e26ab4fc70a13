package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/selfplay"
)

// players are the worker goroutines of one process. They share the tickets;
// Done is closed when all of them have ended: the tickets are used up, the
// context ended, or one failed and stopped the others.
type players struct {
	nets   *Nets
	worker selfplay.WorkerConfig
	number int

	ctx     context.Context
	group   *errgroup.Group
	mu      sync.Mutex // guards the rest until done
	gate    *gate      // of the newest workers
	running int
	done    chan struct{}
	err     error // valid after done
}

// startPlayers starts number workers. worker has tickets and sink; each worker
// gets its own view of nets.
func startPlayers(ctx context.Context, nets *Nets, worker selfplay.WorkerConfig, number int) (*players, error) {
	p := &players{nets: nets, worker: worker, number: number, done: make(chan struct{})}
	p.group, p.ctx = errgroup.WithContext(ctx)
	if err := p.add(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.group.Wait()
		close(p.done)
	}()
	return p, nil
}

// add starts a set of workers with the present settings. p.mu is held, or
// nobody else knows p yet.
func (p *players) add() error {
	g := &gate{tickets: p.worker.Tickets}
	cfg := p.worker
	cfg.Tickets = g
	var started []*selfplay.Worker
	for range p.number {
		cfg.Nets = p.nets.ForWorker(cfg.Parallel)
		w, err := selfplay.NewWorker(cfg)
		if err != nil {
			return fmt.Errorf("start producer: %w", err)
		}
		started = append(started, w)
	}
	p.gate = g
	p.running += len(started)
	for _, w := range started {
		p.group.Go(func() error {
			err := w.Run(p.ctx)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.running--
			return err
		})
	}
	return nil
}

// SetResign makes the games that begin from now on follow another rule: the
// workers that play finish their games, and new ones take the tickets over.
func (p *players) SetResign(rule selfplay.Resign) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == 0 || p.worker.Game.Resign == rule {
		return nil
	}
	old := p.gate
	p.worker.Game.Resign = rule
	if err := p.add(); err != nil {
		return err
	}
	old.shut.Store(true)
	return nil
}

// stopped says whether err only says that the workers were told to stop.
func stopped(err error) bool {
	return errors.Is(err, selfplay.ErrStopped) || errors.Is(err, context.Canceled)
}

// gate hands tickets on until it is shut.
type gate struct {
	tickets selfplay.Tickets
	shut    atomic.Bool
}

func (g *gate) Next(ctx context.Context) (uint64, bool) {
	if g.shut.Load() {
		return 0, false
	}
	return g.tickets.Next(ctx)
}
