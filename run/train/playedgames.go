package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/selfplay"
)

// inlineGames plays games between training steps, in cohorts: all games of a
// cohort are played by one net and are durable before the first of them is
// trained on. What a cohort is depends on the ordinals alone, so a run that was
// killed in the middle of one goes on to the same weights: the games of it that
// are durable are kept, the others are played again from their seeds.
type inlineGames struct {
	back   *backlog
	store  *play.Store
	nets   *play.Nets
	worker selfplay.WorkerConfig
	cohort uint64 // games of a cohort
	free   *play.FreeTickets
	ready  []*record.Game
}

func (f *inlineGames) Next(ctx context.Context) (*record.Game, error) {
	if g := f.back.popJournalled(); g != nil {
		return g, nil
	}
	if len(f.ready) == 0 {
		if err := f.nextCohort(ctx); err != nil {
			return nil, err
		}
	}
	return pop(&f.ready), nil
}

func (f *inlineGames) Waiting() int { return len(f.ready) + f.back.Len() }

func (f *inlineGames) Close() error { return f.store.Close() }

// nextCohort makes the games of the next cohort ready: it plays those that are
// not on disk.
func (f *inlineGames) nextCohort(ctx context.Context) error {
	first := min(f.back.nextOrdinal(), f.free.Lowest())
	if first == math.MaxUint64 {
		return errNoMoreGames
	}
	end := (first/f.cohort + 1) * f.cohort
	var games []*record.Game
	for f.back.nextOrdinal() < end {
		games = append(games, f.back.pop())
	}
	played, err := f.play(ctx, f.free.Below(end))
	if err != nil {
		return err
	}
	f.ready = append(games, played...)
	slices.SortFunc(f.ready, func(a, b *record.Game) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return nil
}

// play plays the ordinals with the newest net and waits until all are durable.
func (f *inlineGames) play(ctx context.Context, ordinals []uint64) (games []*record.Game, err error) {
	if len(ordinals) == 0 {
		return nil, nil
	}
	worker := f.worker
	worker.Parallel, worker.Pools = len(ordinals), 1
	worker.Tickets, worker.Sink = selfplay.NewList(ordinals), f.store
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	players, err := play.StartPlayers(ctx, f.nets, worker, 1, nil)
	if err != nil {
		return nil, err
	}
	for len(games) < len(ordinals) && err == nil {
		var g *record.Game
		g, err = nextDurable(ctx, f.store, players)
		games = append(games, g)
	}
	if err != nil {
		cancel()
	}
	<-players.Done
	return games, cmp.Or(err, players.Err)
}

// nextDurable waits for a game of players to be on disk.
func nextDurable(ctx context.Context, store *play.Store, players *play.Players) (*record.Game, error) {
	ended := players.Done
	for {
		select {
		case g, open := <-store.Durable():
			if !open {
				return nil, cmp.Or(store.Close(), play.ErrStoreClosed)
			}
			return g, nil
		case <-ended:
			if errors.Is(players.Err, play.ErrStoreClosed) {
				return nil, cmp.Or(store.Close(), players.Err) // the store says what it died of
			}
			if players.Err != nil {
				return nil, fmt.Errorf("producers: %w", players.Err)
			}
			ended = nil // all games are played; the last ones come through the store
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// producedGames lets worker goroutines play while the trainer trains.
type producedGames struct {
	back    *backlog
	store   *play.Store
	cancel  context.CancelFunc
	players *play.Players
	lead    *play.Lead
	left    int64 // games still to come through the store
}

// newProducedGames starts the workers, which play the games that are lacking and are at
// most so many ahead. Their games go through store.
func newProducedGames(back *backlog, store *play.Store, nets *play.Nets, worker selfplay.WorkerConfig, workers int, free *play.FreeTickets, lacking int64, ahead int) (*producedGames, error) {
	ctx, cancel := context.WithCancel(context.Background())
	lead := play.NewLead(free, ahead, workers*worker.Parallel)
	worker.Sink, worker.Tickets = store, lead
	p, err := play.StartPlayers(ctx, nets, worker, workers, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	return &producedGames{back: back, store: store, cancel: cancel, players: p, lead: lead, left: lacking}, nil
}

func (f *producedGames) Next(ctx context.Context) (*record.Game, error) {
	if g := f.back.pop(); g != nil {
		return g, nil
	}
	if f.left == 0 {
		return nil, errNoMoreGames
	}
	g, err := nextDurable(ctx, f.store, f.players)
	if err == nil {
		f.left--
		f.lead.Taken()
	}
	return g, err
}

func (f *producedGames) Waiting() int { return f.back.Len() + len(f.store.Durable()) }

// Close stops the workers, which abandon their unfinished games, and then the
// store.
func (f *producedGames) Close() error {
	f.cancel()
	go func() { // makes room for what the workers still hand in; ends with the store
		for range f.store.Durable() {
		}
	}()
	<-f.players.Done
	err := f.players.Err
	if play.Stopped(err) || errors.Is(err, play.ErrStoreClosed) { // the store says itself what it died of
		err = nil
	}
	return errors.Join(err, f.store.Close())
}
