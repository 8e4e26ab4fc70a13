package uci

import (
	"context"
	"time"
)

// span is the time of one search, from go to bestmove. The goroutine of the
// commands makes, releases and ends it; the one that thinks asks it.
type span struct {
	limits
	budget
	began time.Time     // of go
	freed time.Time     // since when our clock runs: began, or ponderhit; set before free is closed
	free  chan struct{} // closed when the move may be sent; never of an infinite search
	timer *time.Timer   // ends the evaluation under way at the hard limit
}

// newSpan returns the span of a search with limits. cancel ends the search.
func newSpan(l limits, began time.Time, overhead time.Duration, cancel context.CancelFunc) *span {
	s := &span{limits: l, began: began, free: make(chan struct{})}
	switch {
	case l.moveTime > 0:
		s.budget = fixed(l.moveTime, overhead)
	case l.onClock:
		s.budget = l.clock.budget(overhead)
	}
	if !l.ponder {
		s.release(began, cancel)
	}
	return s
}

// release starts our clock, where it does not run yet. A search that pondered
// without any limit ends with it.
func (s *span) release(now time.Time, cancel context.CancelFunc) {
	if s.running() || s.infinite {
		return
	}
	s.freed = now
	close(s.free)
	switch {
	case s.timed():
		s.timer = time.AfterFunc(s.hard-time.Since(now), cancel)
	case s.ponder && s.visits(0) == 0 && s.depth == 0 && s.mate == 0:
		cancel()
	}
}

// end stops the timer.
func (s *span) end() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// running says whether our clock runs.
func (s *span) running() bool {
	select {
	case <-s.free:
		return true
	default:
		return false
	}
}

// spent says whether the time is up, or as good as.
func (s *span) spent(now time.Time, step time.Duration, top standing, analyse bool) bool {
	if !s.timed() || !s.running() {
		return false
	}
	running := now.Sub(s.freed)
	if s.moveTime > 0 || analyse { // all of it is wanted
		return running+step > s.hard || running >= s.soft && s.moveTime == 0
	}
	return s.enough(now.Sub(s.began), running, step, top)
}
