package host

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/record"
)

// batch is what one message holds.
type batch struct {
	items  []*item
	bytes  int
	rows   int
	begun  time.Time // of sending it
	kills  int       // processes that ended over it
	single bool      // the last one of a batch that ended two: one more is proof
}

func (b *batch) add(it *item) {
	b.items, b.bytes, b.rows = append(b.items, it), b.bytes+it.size, b.rows+len(it.game.Plies)
}

// finish gives all games of a batch the same error.
func (b *batch) finish(err error) {
	for _, it := range b.items {
		it.finish(nil, err)
	}
}

// doing says what a plugin does that has the batch.
func (b *batch) doing() string {
	if len(b.items) == 1 {
		return fmt.Sprintf("rescored game %x", b.items[0].game.ID)
	}
	return fmt.Sprintf("rescored %d games from %x on", len(b.items), b.items[0].game.ID)
}

// reply is the checked answer to a batch.
type reply struct {
	api.Rescored
	took time.Duration // of the plugin's work on it
	err  error         // instead of an answer: what is wrong with it or why there is none
}

// session is one stream to one process. A goroutine receives and checks answers
// while the owner sends.
type session struct {
	proc     *process
	stream   *api.RescoreStream
	sent     chan *batch // to the receiver, in order
	replies  chan reply  // in the same order; has room for all
	deadline *deadline   // of each Send, and of each answer from the one before on
	received sync.WaitGroup
}

// dial opens a stream where there is none. A process is started if none runs.
func (r *rescorer) dial() error {
	if s := r.session; s != nil && (len(r.flight) > 0 || !s.proc.child.hasExited()) {
		return nil
	}
	r.hangUp()
	for {
		proc, err := r.process(r.life)
		if err != nil {
			return err
		}
		s := &session{proc: proc, deadline: r.deadline(), sent: make(chan *batch, maxFlight), replies: make(chan reply, maxFlight+1)}
		err = s.deadline.call(func() (err error) { s.stream, err = proc.conn.OpenRescore(r.life, proc.def); return err })
		if err == nil {
			s.received.Go(s.receive)
			r.session = s
			return nil
		}
		if r.life.Err() == nil {
			r.fail(r.failure(s.deadline, "opened a stream", err))
		}
	}
}

// hangUp ends the stream, if there is one.
func (r *rescorer) hangUp() {
	s := r.session
	if s == nil {
		return
	}
	s.stream.Close()
	close(s.sent)
	s.received.Wait()
	r.session = nil
}

// send puts a batch in flight, or finishes it where it cannot be sent.
func (r *rescorer) send(b *batch) {
	if err := r.dial(); err != nil {
		r.surrender(b, err)
		return
	}
	s := r.session
	b.begun = time.Now()
	games := make([]*record.Game, len(b.items))
	for i, it := range b.items {
		games[i] = it.game
	}
	err := s.deadline.call(func() error { return s.stream.Send(games) })
	if _, isCall := status.FromError(err); err != nil && !isCall && !errors.Is(err, api.ErrEnded) {
		b.finish(&Error{Kind: r.kind, Name: r.name, Did: "was not asked: the games cannot be sent", Err: err})
		return
	}
	r.flight = append(r.flight, b)
	s.sent <- b // after an error of Send, the receiver learns the reason
}

// receive passes on one reply for each batch, until the first error.
func (s *session) receive() {
	var last time.Time // of the reply before
	for b := range s.sent {
		a := s.answer(b)
		now := time.Now()
		a.took = min(now.Sub(b.begun), now.Sub(last))
		last = now
		s.replies <- a
		if a.err != nil {
			return
		}
	}
}

// answer waits for the answer to a batch.
func (s *session) answer(b *batch) (a reply) {
	a.err = s.deadline.call(func() (err error) { a.Rescored, err = s.stream.Recv(); return err })
	for i, refused := range a.Errs {
		if refused != nil {
			a.Errs[i] = &Error{Kind: s.proc.def.Kind, Name: s.proc.def.Name, Did: fmt.Sprintf("refused game %x", b.items[i].game.ID), Err: refused}
		}
	}
	return a
}

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
