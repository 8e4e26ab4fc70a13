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

// spanOf is a span of a chunk's trace. The trace is named after the chunk's content, so
// that the machines that tell of it need not agree on a name. Its first span, of the
// player, is the parent of the others.
func spanOf(sum, name string, start time.Time, bytes int) monitor.Span {
	s := monitor.Span{Trace: sum[:32], Parent: sum[32:48], Name: name, Start: start, End: time.Now(), Attributes: map[string]string{"chunk.bytes": strconv.Itoa(bytes)}}
	s.ID = fleet.SumOf(fmt.Append(nil, sum, name, start.UnixNano()))[:16]
	if name == spanPlayed {
		s.ID, s.Parent = s.Parent, ""
	}
	return s
}

// Spans of a chunk: from its first game until the run has settled it; from its first
// delivery until then; in the run, from its arrival until the player is told; and from then
// on until the first batch that may hold positions of it is trained on.
const (
	spanPlayed    = "chunk"
	spanDelivered = "deliver"
	spanTaken     = "ingest"
	spanTrained   = "train"
)

// maxTraced is how many games may wait for their first batch; chunks beyond are not told of.
const maxTraced = 1 << 17

// Batches tells when a training begins to learn from the chunks of players, of which it
// reads in the training's events. A nil *Batches tells nothing.
type Batches struct {
	traces *monitor.Traces

	mu      sync.Mutex
	waiting map[string]*waitingChunk // by their games' ids
	entered []*waitingChunk          // of which a game entered since the last step
}

// waitingChunk is a chunk in the run's directory.
type waitingChunk struct {
	sum     string
	bytes   int
	began   time.Time
	entered bool
}

// NewBatches returns the batches of a training; nil traces take nothing.
func NewBatches(traces *monitor.Traces) *Batches {
	if traces == nil {
		return nil
	}
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
	if len(b.waiting)+len(games) > maxTraced {
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
