package selfplay

import (
	"context"
	"errors"
	"slices"

	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// finished is a game on its way to the sink.
type finished struct {
	rec      *record.Game
	resigner int // colour that would have resigned in a game played on, -1 = none
}

// cohort puts finished games into the order of their ordinals.
type cohort struct {
	ordinals []uint64 // still to come
	done     map[uint64]finished
}

// pop returns the next game in order, if it is finished.
func (c *cohort) pop() (finished, bool) {
	if len(c.ordinals) == 0 {
		return finished{}, false
	}
	f, ok := c.done[c.ordinals[0]]
	if ok {
		delete(c.done, c.ordinals[0])
		c.ordinals = c.ordinals[1:]
	}
	return f, ok
}

// PlayCohort plays the games of the ordinals with one evaluator and hands them
// to the sink in the order of the ordinals, whatever order they end in, so that
// the sink sees the same sequence for every cfg.Parallel. After a stop the sink
// has got a prefix of them. Tickets, Nets and Sink of cfg are not used; NetID
// goes into the records. A caller with many cohorts keeps a Worker and calls
// its PlayCohort.
func PlayCohort(ctx context.Context, cfg WorkerConfig, ev mcts.Evaluator, ordinals []uint64, sink Sink) error {
	w, err := NewWorker(cfg)
	if err != nil {
		return err
	}
	return w.PlayCohort(ctx, cfg.NetID, ev, ordinals, sink)
}

// PlayCohort is the function of that name on this worker's memory. The net may
// be another one each time: the cache starts empty.
func (w *Worker) PlayCohort(ctx context.Context, netID string, ev mcts.Evaluator, ordinals []uint64, sink Sink) error {
	if ev == nil || sink == nil {
		return errors.New("play cohort: an evaluator and a sink are needed")
	}
	w.cache.Clear()
	w.hasNet = false
	w.cfg.Tickets, w.cfg.Nets, w.cfg.Sink = NewList(ordinals), FixedNet{netID, ev}, sink
	w.cohort = &cohort{ordinals: slices.Clone(ordinals), done: make(map[uint64]finished)}
	return w.run(ctx)
}
