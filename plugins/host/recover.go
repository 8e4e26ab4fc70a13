package host

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/chessbrain/chessbrain/record"
)

// lose deals with the end of a process, of which err says what it did: all
// batches in flight are sent again, one at a time, the oldest first. Answers come
// in order, so none of them has been answered.
func (r *rescorer) lose(err error) {
	if r.life.Err() != nil {
		return // the stage was closed: run ends, and leave ends the calls
	}
	r.hangUp()
	r.fail(err)
	batches := r.flight
	r.flight = nil
	batches[0].kills++
	r.recover(batches)
}

// recover asks for batches one at a time until each game has its answer, is
// quarantined, or the plugin is given up. A batch that ends two processes is
// taken apart; a game that ends a process alone then is guilty.
func (r *rescorer) recover(batches []*batch) {
	for len(batches) > 0 {
		b := batches[0]
		batches = batches[1:]
		r.send(b)
		if len(r.flight) == 0 {
			continue // given up, or closed
		}
		err := r.finish(<-r.session.replies)
		if err == nil {
			continue
		}
		if r.life.Err() != nil {
			r.flight = append(r.flight, batches...) // for leave
			return
		}
		r.hangUp()
		r.fail(err)
		r.flight = nil
		b.kills++
		switch {
		case b.kills < 2 && !b.single:
			batches = append([]*batch{b}, batches...)
		case len(b.items) > 1:
			batches = append(b.split(), batches...)
		case r.good:
			r.quarantine(b.items[0], err)
		default:
			// A plugin that never gave a good answer may do the same with every
			// game: others are tried first.
			batches = append(batches, b)
		}
	}
}

// split returns the games of a batch as batches of their own.
func (b *batch) split() []*batch {
	var singles []*batch
	for _, it := range b.items {
		one := &batch{single: true}
		one.add(it)
		singles = append(singles, one)
	}
	return singles
}

// quarantine keeps a game that ends the plugin, and lets it go on as it is.
func (r *rescorer) quarantine(it *item, err error) {
	r.count(func(now *Stats) { now.Quarantined++ })
	r.tell(slog.LevelError, Quarantined, fmt.Sprintf("game %x goes on as it is; the plugin %s", it.game.ID, what(err)))
	if keep := r.h.o.Quarantine; keep != nil {
		if keepErr := keep(r.kind, r.name, what(err), []*record.Game{it.game}); keepErr != nil {
			it.finish(nil, fmt.Errorf("quarantine game %x: %w", it.game.ID, keepErr))
			return
		}
	}
	it.finish(it.game, nil)
}

// surrender finishes a batch without the plugin, because of err.
func (r *rescorer) surrender(b *batch, err error) {
	if errors.Is(err, ErrGivenUp) {
		r.saying.Lock()
		first := r.lost == nil
		r.lost = err
		r.saying.Unlock()
		if r.h.o.Continue {
			if first {
				r.tell(slog.LevelError, Replaced, "games go on as they are")
			}
			for _, it := range b.items {
				it.finish(it.game, nil)
			}
			return
		}
	}
	b.finish(err)
}
