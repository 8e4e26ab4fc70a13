package loader

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Stats is a look at a running loader.
type Stats struct {
	Seconds     float64       `json:"seconds"` // since the start
	Stages      []StageStats  `json:"stages"`  // each after those it reads
	Quarantined uint64        `json:"quarantined"`
	Quarantine  []Quarantined `json:"quarantine,omitempty"` // at most 1000
	NewChunks   int           `json:"new_chunks"`           // since the last net; see Schedule
	ScanDone    bool          `json:"scan_done"`            // the first scan is complete
}

// StageStats are the counters of one stage.
type StageStats struct {
	Name     string        `json:"name"`
	Kind     string        `json:"kind"`
	Inputs   []string      `json:"inputs,omitempty"`
	Outputs  []OutputStats `json:"outputs"`
	Counters []Counter     `json:"counters,omitempty"`
}

// OutputStats are the counters of the queue behind one output.
type OutputStats struct {
	Name string `json:"name"` // stage, or stage.port
	Type string `json:"type"`
	QueueStats
	// Passed are the items that got through in the last complete 1, 2, 4, 8 ...
	// seconds (see History).
	Passed []uint64 `json:"passed,omitempty"`
}

// Stats returns the counters as they are now.
func (l *Loader) Stats() Stats {
	l.mu.Lock()
	s := Stats{}
	if l.started {
		s.Seconds = time.Since(l.begin).Seconds()
	}
	l.mu.Unlock()
	s.Quarantine, s.Quarantined = l.quarantine.List()
	s.NewChunks, _, s.ScanDone = l.schedule.state()
	for _, n := range l.graph.nodes {
		st := StageStats{Name: n.config.Name, Kind: n.kind.name, Counters: n.stage.Stats()}
		for _, p := range n.inputs {
			st.Inputs = append(st.Inputs, p.String())
		}
		for i, q := range n.out {
			st.Outputs = append(st.Outputs, OutputStats{Name: port{n, i}.String(), Type: n.kind.out.String(), QueueStats: q.Stats(), Passed: q.lately()})
		}
		s.Stages = append(s.Stages, st)
	}
	return s
}

// Rows estimates how many rows the first output hands out from the start of the loader to
// its end: chunks that are still to be unpacked count as those that were. It is exact once
// all were. ok is false where the output never ends, where nothing is known yet, and for
// graphs other than a pool, an unpacker and perhaps a sampler of frames in a row.
func (l *Loader) Rows() (rows int64, ok bool) {
	n := l.graph.outputs[0].node
	up := func() Stage { // a graph has a source of files and a reader above all these
		n = n.inputs[0].node
		return n.stage
	}
	above := up()
	if mixer, mixed := above.(*frameSampler); mixed {
		rows, above = int64(mixer.loaded), up()
	}
	unpacker, unpacks := above.(*chunkUnpacker)
	if !unpacks {
		return 0, false
	}
	pool, pools := up().(*chunkPool)
	if !pools {
		return 0, false
	}
	chunks, ok := pool.left()
	frames, unpacked := float64(unpacker.frames.Load()), float64(unpacker.chunks.Load())
	if waiting := float64(chunks+pool.handed.Load()) - unpacked - float64(unpacker.bad.Load()); waiting > 0 {
		if unpacked == 0 {
			return 0, false
		}
		frames += waiting * frames / unpacked
	}
	return rows + int64(frames), ok
}

// maxQuarantined bounds the entries that a Quarantine keeps; it counts on.
const maxQuarantined = 1000

// Quarantine counts and names files and chunks that cannot be used. The loader
// goes on without them; a file that changes gets another chance. The files
// themselves stay where they are. Safe for concurrent use.
type Quarantine struct {
	mu      sync.Mutex
	entries map[string]string // key or chunk -> error
	total   uint64
}

// Quarantined is one entry.
type Quarantined struct {
	Name  string `json:"name"`  // key of a source, or of a chunk: "a.tar[17]"
	Error string `json:"error"` // names the file and says what is wrong
}

// Add puts the named file or chunk in. The same name counts once.
func (q *Quarantine) Add(name string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, known := q.entries[name]; known {
		return
	}
	q.total++
	if len(q.entries) >= maxQuarantined {
		return
	}
	if q.entries == nil {
		q.entries = map[string]string{}
	}
	q.entries[name] = err.Error()
}

// Release takes a source and its chunks out: its file has changed.
func (q *Quarantine) Release(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name := range q.entries {
		if name == key || strings.HasPrefix(name, key+"[") {
			delete(q.entries, name)
		}
	}
}

// List returns the entries by name, at most 1000, and how many were ever added.
func (q *Quarantine) List() (entries []Quarantined, total uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(q.entries)) {
		entries = append(entries, Quarantined{name, q.entries[name]})
	}
	return entries, q.total
}

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

// record keeps the histories of all queues, a tick a second, until stopped is closed.
func (g *graph) record(stopped <-chan struct{}) {
	for ticks := time.Tick(time.Second); ; {
		select {
		case <-ticks:
		case <-stopped:
			return
		}
		for _, n := range g.nodes {
			for _, q := range n.out {
				q.tick()
			}
		}
	}
}
