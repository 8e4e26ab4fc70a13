package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/selfplay"
)

// inlineFeed plays games between training steps, in cohorts: all games of a
// cohort are played by one net and are durable before the first of them is
// trained on. What a cohort is depends on the ordinals alone, so a run that was
// killed in the middle of one goes on to the same weights: the games of it that
// are durable are kept, the others are played again from their seeds.
type inlineFeed struct {
	back    *backlog
	store   *Store
	nets    *Nets
	worker  selfplay.WorkerConfig
	cohort  uint64   // games of a cohort
	missing []uint64 // ordinals to play, ascending
	ready   []*record.Game
}

func (f *inlineFeed) Next(ctx context.Context) (*record.Game, error) {
	if g := f.back.popJournalled(); g != nil {
		return g, nil
	}
	if len(f.ready) == 0 {
		if err := f.nextCohort(ctx); err != nil {
			return nil, err
		}
	}
	g := f.ready[0]
	f.ready = f.ready[1:]
	return g, nil
}

func (f *inlineFeed) Waiting() int { return len(f.ready) + f.back.Len() }

func (f *inlineFeed) Close() error { return f.store.Close() }

// nextCohort plays what is missing of the next cohort.
func (f *inlineFeed) nextCohort(ctx context.Context) error {
	next := uint64(0)
	switch {
	case len(f.missing) > 0 && len(f.back.others) > 0:
		next = min(f.missing[0], f.back.others[0].Ordinal)
	case len(f.missing) > 0:
		next = f.missing[0]
	case len(f.back.others) > 0:
		next = f.back.others[0].Ordinal
	default:
		return errNoMoreGames
	}
	end := (next/f.cohort + 1) * f.cohort
	var games []*record.Game
	for len(f.back.others) > 0 && f.back.others[0].Ordinal < end {
		games = append(games, f.back.pop())
	}
	var play []uint64
	for len(f.missing) > 0 && f.missing[0] < end {
		play = append(play, f.missing[0])
		f.missing = f.missing[1:]
	}
	played, err := f.play(ctx, play)
	if err != nil {
		return err
	}
	f.ready = append(games, played...)
	slices.SortStableFunc(f.ready, func(a, b *record.Game) int { return int(int64(a.Ordinal) - int64(b.Ordinal)) })
	return nil
}

// play plays the ordinals with the newest net and waits until all are durable.
func (f *inlineFeed) play(ctx context.Context, ordinals []uint64) ([]*record.Game, error) {
	if len(ordinals) == 0 {
		return nil, nil
	}
	worker := f.worker
	worker.Parallel = len(ordinals)
	worker.Tickets = selfplay.NewList(ordinals)
	worker.Nets = f.nets.ForWorker(worker.Parallel)
	worker.Sink = f.store
	w, err := selfplay.NewWorker(worker)
	if err != nil {
		return nil, err
	}
	var games []*record.Game
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return w.Run(ctx) })
	group.Go(func() error {
		for len(games) < len(ordinals) {
			select {
			case g, open := <-f.store.Durable():
				if !open {
					return errors.Join(errStoreClosed, f.store.Close())
				}
				games = append(games, g)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return games, group.Wait()
}

// producerFeed lets worker goroutines play while the trainer trains.
type producerFeed struct {
	back  *backlog
	store *Store

	cancel context.CancelFunc
	group  *errgroup.Group
	once   sync.Once
	failed chan struct{} // closed when a worker failed or all are done
	err    error         // of the workers, valid after failed
	left   int           // games still to come through the store
}

// newProducerFeed starts the workers. Their games go through store; total is
// how many tickets there are.
func newProducerFeed(back *backlog, store *Store, nets *Nets, worker selfplay.WorkerConfig, workers, total int) (*producerFeed, error) {
	ctx, cancel := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	f := &producerFeed{back: back, store: store, cancel: cancel, group: group, failed: make(chan struct{}), left: total}
	worker.Sink = store
	var started []*selfplay.Worker
	for range workers {
		worker.Nets = nets.ForWorker(worker.Parallel)
		w, err := selfplay.NewWorker(worker)
		if err != nil {
			cancel()
			return nil, fmt.Errorf("start producer: %w", err)
		}
		started = append(started, w)
	}
	for _, w := range started {
		group.Go(func() error { return w.Run(ctx) })
	}
	go func() {
		f.err = group.Wait()
		close(f.failed)
	}()
	return f, nil
}

func (f *producerFeed) Next(ctx context.Context) (*record.Game, error) {
	if g := f.back.pop(); g != nil {
		return g, nil
	}
	if f.left == 0 {
		return nil, errNoMoreGames
	}
	failed := f.failed
	for {
		select {
		case g, open := <-f.store.Durable():
			if !open {
				return nil, errors.Join(errStoreClosed, f.store.Close())
			}
			f.left--
			return g, nil
		case <-failed:
			if f.err != nil {
				return nil, fmt.Errorf("producers: %w", f.err)
			}
			failed = nil // all games are played; the last ones come through the store
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *producerFeed) Waiting() int { return f.back.Len() + len(f.store.Durable()) }

// Close stops the workers, which abandon their unfinished games, and then the
// store.
func (f *producerFeed) Close() error {
	f.cancel()
	for ended := false; !ended; {
		select {
		case <-f.failed:
			ended = true
		case <-f.store.Durable(): // makes room for what the workers still hand in
		case <-f.store.done:
			<-f.failed
			ended = true
		}
	}
	storeErr := f.store.Close()
	err := f.err
	if errors.Is(err, selfplay.ErrStopped) || errors.Is(err, context.Canceled) || errors.Is(err, errStoreClosed) {
		err = nil
	}
	return errors.Join(err, storeErr)
}
