package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/selfplay"
)

// meter cuts the time of several workers into windows of playing and of pure
// inference. All workers change over together: whoever is early waits, and waiting
// costs no CPU time.
type meter struct {
	ctx    context.Context // of the workers
	o      *PlayOptions
	stop   context.CancelFunc // ends the workers
	start  time.Time
	stats  selfplay.Stats
	trees  [numCounts]atomic.Uint64 // what the trees of Search count
	spent  atomic.Int64             // nanoseconds in the evaluators that are measured
	boards atomic.Uint64            // of pure inference
	due    atomic.Bool              // the workers shall meet
	mixed  atomic.Bool              // the games are out of step: the evaluator that is measured answers
	meet   barrier

	// Written by the last worker to arrive while the others wait.
	began   mark // the window under way
	warm    bool // the warm-up is over
	windows []window
	failed  error // of pure inference; the first
}

// What a mark counts.
const (
	nPlies = iota
	nEvaluations
	nBatches
	nHits
	nLookups
	nBoards // of pure inference
	nNodes  // of trees, like those that follow
	nCached
	nTerminal
	nDepth
	numCounts
)

// counts are the numbers of a mark.
type counts [numCounts]uint64

// mark is what the workers had done at some time, or in some time.
type mark struct {
	at              time.Duration // since the start
	busy, evaluator time.Duration
	n               counts
}

// window is one window of playing and the one of pure inference after it.
type window struct{ from, to, end mark }

// since returns what was done between was and m.
func (m mark) since(was mark) mark {
	m.at, m.busy, m.evaluator = m.at-was.at, m.busy-was.busy, m.evaluator-was.evaluator
	for i := range m.n {
		m.n[i] -= was.n[i]
	}
	return m
}

// played adds up what was done in the windows of playing. at and busy of each count a
// nanosecond at least.
func played(windows []window) (sum mark) {
	for _, w := range windows {
		d := w.to.since(w.from)
		sum.at, sum.busy, sum.evaluator = sum.at+max(d.at, 1), sum.busy+max(d.busy, 1), sum.evaluator+d.evaluator
		for i := range sum.n {
			sum.n[i] += d.n[i]
		}
	}
	return sum
}

func (m *meter) now() mark {
	found := m.stats.CacheHits.Load()
	k := mark{at: time.Since(m.start), busy: busyTime(), evaluator: time.Duration(m.spent.Load())}
	k.n = counts{
		nPlies: m.stats.Positions.Load(), nEvaluations: m.stats.Evaluations.Load(), nBatches: m.stats.Batches.Load(),
		nHits: found, nLookups: found + m.stats.CacheMisses.Load(), nBoards: m.boards.Load(),
	}
	for i := nNodes; i < numCounts; i++ {
		k.n[i] = m.trees[i].Load()
	}
	return k
}

// full reports whether the window under way may end: it holds a batch and a move, or nodes
// where trees are counted, at least, however short it is meant to be.
func (m *meter) full() bool {
	moves := m.stats.Positions.Load() - m.began.n[nPlies]
	if !m.warm {
		return m.mixed.Load() && moves >= m.o.moves(warmMoves)
	}
	did := moves > 0 || m.trees[nNodes].Load() > m.began.n[nNodes]
	return busyTime()-m.began.busy >= m.o.window() && did && m.stats.Batches.Load() > m.began.n[nBatches]
}

// mix lets the evaluator that is measured answer from now on, once the games are out
// of step.
func (m *meter) mix() {
	if !m.mixed.Load() && m.stats.Positions.Load() >= m.o.moves(mixMoves) {
		m.began = m.now()
		m.mixed.Store(true)
	}
}

// seat is a worker's net source. Because the worker asks it before every batch, while
// no evaluation is under way, it may hold the worker up there.
type seat struct {
	meter *meter
	mixer selfplay.Net    // quick, for the moves before the warm-up
	net   selfplay.Net    // what is measured
	first bool            // this one reads the clock
	pure  mcts.Evaluator  // for pure inference, nil = none
	batch *encoding.Batch // full
}

// Current returns the net that answers now.
func (s *seat) Current() selfplay.Net {
	m := s.meter
	if s.first && !m.due.Load() {
		m.mix()
		m.due.Store(m.full())
	}
	if m.due.Load() {
		s.change()
	}
	if !m.mixed.Load() {
		return s.mixer
	}
	return s.net
}

// change ends a window of self-play, does pure inference, and begins the next.
func (s *seat) change() {
	m := s.meter
	if !m.meet.wait(m.ctx, m.played) {
		return
	}
	if s.pure != nil {
		err := s.infer()
		if !m.meet.wait(m.ctx, func() {}) { // all are through before anybody plays
			return
		}
		if err != nil && m.ctx.Err() == nil {
			m.meet.mu.Lock() // nobody arrives meanwhile
			m.failed = err
			m.meet.mu.Unlock()
			m.stop()
		}
	}
	m.meet.wait(m.ctx, m.inferred)
}

// played notes the end of a window of self-play.
func (m *meter) played() { m.windows = append(m.windows, window{from: m.began, to: m.now()}) }

// inferred notes the end of the window of pure inference, and ends the measurement
// after the last. What was played and inferred before the first counted window is
// forgotten.
func (m *meter) inferred() {
	m.windows[len(m.windows)-1].end = m.now()
	if !m.warm {
		m.windows, m.warm = m.windows[:0], true
	}
	m.due.Store(false)
	m.began = m.now()
	if len(m.windows) >= playWindows {
		m.stop()
	}
}

// infer evaluates full batches for half a window.
func (s *seat) infer() error {
	m := s.meter
	end := m.windows[len(m.windows)-1].to.busy + m.o.window()/2
	for done := false; !done; done = busyTime() >= end {
		if err := s.pure.Evaluate(m.ctx, s.batch); err != nil {
			return err
		}
		m.boards.Add(uint64(s.batch.N))
	}
	return nil
}

// barrier lets n goroutines wait for each other, again and again.
type barrier struct {
	mu   sync.Mutex
	n    int
	here int
	open chan struct{} // closed when all are here
}

// wait returns true once all are here; the last one has run f before. It returns
// false when ctx ends first.
func (b *barrier) wait(ctx context.Context, f func()) bool {
	b.mu.Lock()
	if b.here++; b.here == b.n {
		b.here = 0
		f()
		close(b.open)
		b.open = make(chan struct{})
		b.mu.Unlock()
		return true
	}
	open := b.open
	b.mu.Unlock()
	select {
	case <-open:
		return true
	case <-ctx.Done():
		return false
	}
}
