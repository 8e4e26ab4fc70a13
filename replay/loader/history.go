package loader

import (
	"slices"
	"sync"
	"time"
)

// maxWindows bounds a History: the widest window is 2^15 ticks (9 hours of seconds).
const maxWindows = 16

// History sums a count over windows of 1, 2, 4, 8 ... ticks in constant room:
// window k is the last complete block of 2^k ticks, blocks counted from the
// first tick. The zero value is empty.
type History struct {
	ticks   uint64
	windows []uint64
}

// Tick adds the count of one tick.
func (h *History) Tick(count uint64) {
	for k := range maxWindows {
		if k == len(h.windows) {
			h.windows = append(h.windows, count)
			break
		}
		first := h.windows[k]
		h.windows[k] = count
		if h.ticks>>k&1 == 0 {
			break // the first half of the next block
		}
		count += first
	}
	h.ticks++
}

// Windows returns the sums, of 2^k ticks each. Only windows that are complete
// are there.
func (h *History) Windows() []uint64 { return slices.Clone(h.windows) }

// recorder keeps the histories of all queues, a tick a second.
type recorder struct {
	mu     sync.Mutex
	queues []*queueHistory // by stage in the order of the graph, then by port
}

type queueHistory struct {
	queue  anyQueue
	puts   uint64 // at the last tick, without those dropped
	passed History
}

func newRecorder(g *graph) *recorder {
	r := &recorder{}
	for _, n := range g.nodes {
		for _, q := range n.out {
			r.queues = append(r.queues, &queueHistory{queue: q})
		}
	}
	return r
}

// run ticks until stopped is closed.
func (r *recorder) run(stopped <-chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.tick()
		case <-stopped:
			return
		}
	}
}

func (r *recorder) tick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.queues {
		s := h.queue.Stats()
		through := s.Puts - min(s.Drops, s.Puts)
		h.passed.Tick(through - min(h.puts, through))
		h.puts = through
	}
}

// windows returns the histories of the queues in their order.
func (r *recorder) windows() [][]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([][]uint64, len(r.queues))
	for i, h := range r.queues {
		all[i] = h.passed.Windows()
	}
	return all
}
