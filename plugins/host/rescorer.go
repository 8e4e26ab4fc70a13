package host

import (
	"context"
	"errors"
	"sync"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// maxFlight is how many batches may wait for their answers. A small batch waits
// for company where the plugin has work already.
const maxFlight = 4

// rescorer is a plugin's rescorer under supervision. Calls from any goroutines
// hand their games to one goroutine, run, which sends them in batches and gives
// each game back to its call.
type rescorer struct {
	*supervisor // run has the turn
	calls       chan *call
	ended       chan struct{} // run is over

	// The rest belongs to run.
	pending []*item // not sent yet, oldest first
	waiting int     // bytes of pending
	flight  []*batch
	session *session // nil = no stream

	saying sync.Mutex // guards what follows
	faults string     // the plugin's last word on what it found broken
	lost   error      // why it is not asked any more
}

var (
	_ stage.BatchRescorer = (*rescorer)(nil)
	_ stage.Faulty        = (*rescorer)(nil)
)

// call is one call of RescoreBatch.
type call struct {
	ctx   context.Context
	items []item
	left  int           // items without an answer
	done  chan struct{} // closed when left is 0
}

func newCall(ctx context.Context, games []*record.Game) *call {
	c := &call{ctx: ctx, items: make([]item, len(games)), left: len(games), done: make(chan struct{})}
	for i, g := range games {
		c.items[i] = item{call: c, game: g, size: api.GameSize(g)}
	}
	return c
}

// item is one game of a call.
type item struct {
	call *call
	game *record.Game
	size int // bytes on the wire, about
	out  *record.Game
	err  error
}

// finish notes what became of a game.
func (it *item) finish(out *record.Game, err error) {
	it.out, it.err = out, err
	if it.call.left--; it.call.left == 0 {
		close(it.call.done)
	}
}

func newRescorer(sup *supervisor) stage.Rescorer {
	r := &rescorer{supervisor: sup, calls: make(chan *call), ended: make(chan struct{})}
	r.turn <- struct{}{}
	go r.run()
	return r
}

// Err is what the plugin says that it found broken, or why it is not used any
// more.
func (r *rescorer) Err() error {
	r.saying.Lock()
	defer r.saying.Unlock()
	if r.lost == nil && r.faults != "" {
		return errors.New(r.faults)
	}
	return r.lost
}

// Rescore returns what the plugin makes of one game.
func (r *rescorer) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	return stage.RescoreOne(ctx, r, g)
}

// RescoreBatch returns what the plugin makes of games, in their order. Deaths of
// the plugin do not show; an error is about a game that it refuses (the first),
// or says that it was given up or stopped.
func (r *rescorer) RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	if err := ctx.Err(); err != nil || len(games) == 0 {
		return nil, err
	}
	c := newCall(ctx, games)
	select {
	case r.calls <- c:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.ended:
		return nil, r.usable(ctx)
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := make([]*record.Game, len(games))
	for i := range c.items {
		if err := c.items[i].err; err != nil {
			return nil, err
		}
		out[i] = c.items[i].out
	}
	return out, nil
}

// run works until the stage is closed.
func (r *rescorer) run() {
	defer r.give()
	defer close(r.ended)
	defer r.leave()
	for {
		r.fill()
		var replies <-chan reply
		var idle <-chan struct{}
		if r.session != nil {
			replies = r.session.replies
			if len(r.flight) == 0 {
				idle = r.session.proc.child.exited
			}
		}
		select {
		case c := <-r.calls:
			r.add(c)
		case a := <-replies:
			if err := r.finish(a); err != nil {
				r.lose(err)
			}
		case <-idle:
			r.hangUp()
			r.fail(r.proc.died("was idle"))
		case <-r.life.Done():
			return
		}
	}
}

// add queues the games of a call, and those of all calls that wait with it.
func (r *rescorer) add(c *call) {
	for {
		for i := range c.items {
			r.pending = append(r.pending, &c.items[i])
			r.waiting += c.items[i].size
		}
		select {
		case c = <-r.calls:
		default:
			return
		}
	}
}

// fill sends what is pending, as far as it should be under way now.
func (r *rescorer) fill() {
	for len(r.pending) > 0 && len(r.flight) < maxFlight && (len(r.flight) < 2 || r.waiting >= api.BatchBytes) {
		b := r.nextBatch()
		if len(b.items) == 0 {
			continue // all of them were of calls that gave up
		}
		r.send(b)
	}
}

// nextBatch takes games of up to about BatchBytes from the queue, at least one.
func (r *rescorer) nextBatch() *batch {
	b := &batch{}
	for len(r.pending) > 0 {
		it := r.pending[0]
		if len(b.items) > 0 && b.bytes+it.size > api.BatchBytes {
			break
		}
		r.pending[0] = nil
		r.pending, r.waiting = r.pending[1:], r.waiting-it.size
		if err := it.call.ctx.Err(); err != nil {
			it.finish(nil, err)
			continue
		}
		b.add(it)
	}
	return b
}

// finish takes the answer to the oldest batch. An error says what the plugin
// did wrong; the batch stays in flight then.
func (r *rescorer) finish(a reply) error {
	b := r.flight[0]
	if a.err != nil && r.life.Err() != nil {
		return r.usable(r.life) // the stage was closed, which ended the stream
	}
	if a.err != nil {
		return r.failure(r.session.deadline, b.doing(), a.err)
	}
	r.flight = r.flight[1:]
	r.succeeded()
	r.answered(len(b.items), b.rows, b.bytes, a.took)
	r.saying.Lock()
	r.faults = a.Faults
	r.saying.Unlock()
	for i, it := range b.items {
		it.finish(a.Games[i], a.Errs[i])
	}
	return nil
}

// leave ends the stream and all calls.
func (r *rescorer) leave() {
	r.hangUp()
	err := r.usable(r.life)
	for _, b := range r.flight {
		b.finish(err)
	}
	for _, it := range r.pending {
		it.finish(nil, err)
	}
	r.flight, r.pending = nil, nil
}
