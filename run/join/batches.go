package join

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/record"
)

const (
	// Players rest while more games wait than the training took within so long,
	restAfter = time.Minute
	restLeast = 256 // and more than so many.

	// maxAwaited is how many games may wait for their first batch; more are not told of.
	maxAwaited = 1 << 17
)

// Batches follows the training beside a host by its events: how many games wait for it, and
// when the first batch of each chunk comes, for traces. A nil *Batches follows none.
type Batches struct {
	traces *monitor.Traces

	mu      sync.Mutex
	waiting map[string]*waitingChunk // by their games' ids
	entered []*waitingChunk          // of which a game entered since the last step
	queue   int                      // games that wait, as the training has seen them

	since       time.Time // a span of restAfter that is under way
	taken, rate int       // games that entered in it, and in the one before
}

// waitingChunk is a chunk in the run's directory.
type waitingChunk struct {
	sum     string
	bytes   int
	began   time.Time
	entered bool
}

// NewBatches returns the batches of a training; traces may be nil.
func NewBatches(traces *monitor.Traces) *Batches {
	return &Batches{traces: traces, waiting: map[string]*waitingChunk{}}
}

// expect is told of the games of a chunk before the training can find them.
func (b *Batches) expect(data []byte, games []*record.Game) {
	if b == nil {
		return
	}
	c := &waitingChunk{sum: fleet.SumOf(data), bytes: len(data), began: time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting)+len(games) > maxAwaited {
		return
	}
	for _, g := range games {
		b.waiting[fmt.Sprintf("%x", g.ID)] = c
	}
}

// Handle reads an event of the training. Games that are held out make no batch.
func (b *Batches) Handle(e monitor.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case *monitor.Episode:
		b.turn(time.Now())
		b.taken++
		b.queue = e.QueueDepth
		c := b.waiting[e.GameID]
		delete(b.waiting, e.GameID)
		if c != nil && !c.entered && !e.Validation {
			c.entered = true
			b.entered = append(b.entered, c)
		}
	case *monitor.Step:
		for _, c := range b.entered {
			s := spanOf(c.sum, spanTrained, c.began, c.bytes)
			s.Attributes["step"] = strconv.FormatInt(e.Step, 10)
			b.traces.Add(s)
		}
		b.entered = nil
	}
	return nil
}

// behind says whether more games wait than the training can soon take.
func (b *Batches) behind(now time.Time) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	return max(len(b.waiting), b.queue) > max(restLeast, b.rate, b.taken)
}

// turn begins a new span of time where the last one is over.
func (b *Batches) turn(now time.Time) {
	if now.Sub(b.since) < restAfter {
		return
	}
	b.since, b.rate, b.taken = now, b.taken, 0
}
