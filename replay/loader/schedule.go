package loader

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
)

// age orders sources in time: by modification time, then by key.
type age struct {
	ModTime int64  `json:"mod_time"`
	Key     string `json:"key"`
}

func (a age) compare(b age) int {
	return cmp.Or(cmp.Compare(a.ModTime, b.ModTime), cmp.Compare(a.Key, b.Key))
}

// Schedule says when there are enough new chunks for the next net
// (reinforcement learning). The anchor is the newest source that was counted
// when the last net began; chunks of sources that are newer, or that came or
// grew while the loader ran, are new. A chunk counts once, whatever becomes of
// its file's name.
type Schedule struct {
	mu      sync.Mutex
	changed signal         // one of the following has
	counted map[string]int // chunks of a source by its key
	fresh   int            // new chunks
	newest  age
	scans   int // first scans that are not complete yet
	open    int // inputs of the pools that have not ended

	anchor age
	owed   int  // chunks to wait for before the next net; -1 = no net yet
	now    bool // the wait under way, or else the next one, is not for chunks
}

func newSchedule() *Schedule {
	return &Schedule{changed: make(signal), counted: map[string]int{}, owed: -1}
}

// see counts a source on its way to the pool.
func (s *Schedule) see(e SourceEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := age{e.File.ModTime, e.File.Key}
	switch {
	case e.File.Phase == InitialDone:
		s.scans--
	case e.Source == nil:
		return
	default:
		before, n := s.counted[e.File.Key], e.Source.Len()
		s.counted[e.File.Key] = max(before, n)
		if e.File.Phase != Initial || a.compare(s.anchor) > 0 {
			s.fresh += max(0, n-before)
		}
		if a.compare(s.newest) > 0 {
			s.newest = a
		}
	}
	s.changed.tell()
}

// end counts an input that has ended.
func (s *Schedule) end() { s.changed.change(&s.mu, func() { s.open-- }) }

// state returns the new chunks, those that the next net waits for (-1 = not
// known before the first wait), and whether the first scan is complete.
func (s *Schedule) state() (fresh, owed int, scanned bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh, s.owed, s.scans <= 0
}

// trainNow ends the wait under way, or else the next one, as soon as the first
// scan is complete.
func (s *Schedule) trainNow() { s.changed.change(&s.mu, func() { s.now = true }) }

// wait returns when the first scan is complete and enough chunks are there, or
// trainNow was called; report is called with the numbers at once and when they
// change. Then those chunks are used up. ErrDataEnded: so many will never come.
func (s *Schedule) wait(ctx context.Context, perNetwork int, report func(have, want int)) error {
	for {
		s.mu.Lock()
		if s.owed < 0 {
			s.owed = perNetwork
		}
		have, want, changed, ended := s.fresh, s.owed, s.changed, s.open <= 0
		if s.scans <= 0 && (s.now || have >= want) {
			if s.now {
				want, s.now = have, false // those that are missing are not owed later
			}
			s.owed = ChunksToWait(want, perNetwork, have)
			s.fresh = 0
			if s.newest.compare(s.anchor) > 0 {
				s.anchor = s.newest
			}
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		if ended {
			return fmt.Errorf("have %d new chunks, need %d: %w; set chunks_per_network to 0, or watch the directory", have, want, ErrDataEnded)
		}
		if report != nil {
			report(have, want)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ChunksToWait returns how many new chunks the net after the next waits for:
// max(toWait + perNetwork - used, perNetwork/2), where toWait is what this one
// waited for and used the chunks that were there.
func ChunksToWait(toWait, perNetwork, used int) int {
	return max(toWait+perNetwork-used, perNetwork/2)
}

// WaitForChunks returns when enough new chunks have come for the next net, by
// the rule of ChunksToWait; perNetwork 0 (supervised learning) never waits.
// report, which may be nil, hears of what is there and what is wanted, so that
// nobody waits in silence. It starts the loader. Errors: ctx's, ErrDataEnded, or
// why the loader ended.
func (l *Loader) WaitForChunks(ctx context.Context, perNetwork int, report func(have, want int)) error {
	if perNetwork <= 0 {
		return nil
	}
	l.Start()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	err := l.schedule.wait(ctx, perNetwork, report)
	if cause := context.Cause(l.ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// TrainNow ends a wait of WaitForChunks at once: the one under way, or else the
// next. The net after it waits for as many chunks as usual.
func (l *Loader) TrainNow() { l.schedule.trainNow() }

// NewChunks returns how many chunks have come since the last net began, and for
// how many the next one waits: -1 = not known before the first WaitForChunks.
func (l *Loader) NewChunks() (have, want int) {
	have, want, _ = l.schedule.state()
	return have, want
}

// tapSources lets the schedule see the sources that feed the first output.
func (l *Loader) tapSources() {
	seen := map[*node]bool{}
	var walk func(n *node)
	walk = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, p := range n.inputs {
			if q, ok := p.node.out[p.i].(*Queue[SourceEvent]); ok && n.kind.out != Sources {
				q.tap, q.tapClose = l.schedule.see, l.schedule.end
				l.schedule.scans++
				l.schedule.open++
			}
			walk(p.node)
		}
	}
	walk(l.graph.outputs[0].node)
}

// scheduleState is the JSON form of a schedule's section.
type scheduleState struct {
	Anchor age `json:"anchor"`
	Owed   int `json:"chunks_to_wait"` // -1 = no net yet
}

// Section is the anchor and what the next net waits for.
func (s *Schedule) Section() stage.Section {
	return replay.JSONSection(scheduleName, "schedule", 1, func() scheduleState {
		s.mu.Lock()
		defer s.mu.Unlock()
		return scheduleState{s.anchor, s.owed}
	}, func(state scheduleState) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.anchor, s.owed = state.Anchor, state.Owed
		return nil
	})
}
