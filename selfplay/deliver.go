package selfplay

import (
	"context"
	"fmt"
)

// deliver hands a finished game to the sink and counts it. A game that the sink
// did not take waits for the next run.
func (w *Worker) deliver(ctx context.Context, u Unfinished) error {
	rec, resigner := u.rec, -1
	if u.state.PlayOn {
		resigner = int(u.state.Resigner)
	}
	plies, end, result, ordinal := len(rec.Plies), rec.End, rec.WhiteResult, rec.Ordinal // after Put the game is the sink's
	if _, _, side, _ := BranchOrdinal(ordinal); side {
		resigner = noGame
	}
	w.lap(&w.cfg.Stats.Tree)
	err := w.cfg.Sink.Put(ctx, rec)
	w.lap(&w.cfg.Stats.Sink)
	if err != nil {
		w.pending = append(w.pending, u)
		w.cfg.Stats.GamesAbandoned.Add(1)
		return fmt.Errorf("store game %d: %w", ordinal, err)
	}
	w.cfg.Stats.finished(plies, end, result, resigner)
	return nil
}

// deliverPending hands over the finished games that a sink did not take before.
func (w *Worker) deliverPending(ctx context.Context) error {
	waiting := w.pending
	w.pending = nil
	for i, u := range waiting {
		if !u.Finished() {
			w.pending = append(w.pending, u)
			continue
		}
		w.cfg.Stats.GamesResumed.Add(1)
		if err := w.deliver(ctx, u); err != nil {
			w.pending = append(w.pending, waiting[i+1:]...)
			return err
		}
	}
	return nil
}

// leave takes the games under way off their places.
func (w *Worker) leave() {
	w.countCache()
	for _, p := range w.pools {
		w.cfg.Stats.GamesAbandoned.Add(uint64(len(p.active)))
		for _, g := range p.active {
			w.pending = append(w.pending, g.unfinished())
			w.keepBranches(g)
			w.free = append(w.free, g)
		}
		p.active = p.active[:0]
	}
}

// keepBranches makes what is still to branch off the game that g has had games
// under way of their own, begun and not searched.
func (w *Worker) keepBranches(g *game) {
	for g.nextBranch(&w.cfg, w.net) {
		w.pending = append(w.pending, g.unfinished())
		w.cfg.Stats.GamesStarted.Add(1)
		w.cfg.Stats.GamesAbandoned.Add(1)
	}
}
