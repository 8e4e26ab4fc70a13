package loader

import (
	"slices"
	"sort"
)

// poolWindow numbers the chunks of all sources in the order in which they came,
// and keeps what is known of those in the window. It is guarded by the pool's
// lock.
type poolWindow struct {
	spans   []*span // by base, without gaps
	sources map[string]*poolSource
	slots   []slot // of the chunks from first on
	first   uint64
	hi      uint64 // number of the next chunk
	budget  int64  // bytes that the store may hold

	// Of the store: bytes, chunks and their positions.
	bytes, stored, positions int64

	live int // chunks that can be handed out, at the last survey
}

// poolSource is a file of chunks.
type poolSource struct {
	key    string
	source Source // nil = gone for now
	chunks int    // that have numbers
}

// span is a run of chunks of one source: a source that grew has several.
type span struct {
	source *poolSource
	base   uint64 // number of the first
	offset int    // its index in the source
	n      int
}

// slot is one chunk of the window.
type slot struct {
	packed *Transcoded // nil = not in the store
	weight float32     // for hanse sampling
	use    uint32      // how often it was handed out
	state  slotState
}

type slotState uint8

const (
	slotUnread slotState = iota
	slotRead             // weight is right
	slotDead             // gone, damaged, or without a position
)

// place gives the chunks of an event's source their numbers. A known source's
// chunks keep theirs; those beyond its old length get new ones.
func (w *poolWindow) place(e SourceEvent) {
	src := w.sources[e.File.Key]
	if src == nil {
		if e.Source == nil {
			return
		}
		src = &poolSource{key: e.File.Key}
		w.sources[src.key] = src
	}
	src.source = e.Source
	n := 0
	if e.Source != nil {
		n = e.Source.Len()
	}
	for _, s := range w.spans {
		if s.source == src {
			w.renew(s, n)
		}
	}
	if n > src.chunks {
		w.append(&span{source: src, offset: src.chunks, n: n - src.chunks})
	}
}

// append numbers a new span.
func (w *poolWindow) append(s *span) {
	s.base = w.hi
	s.source.chunks += s.n
	w.spans = append(w.spans, s)
	w.slots = append(w.slots, make([]slot, s.n)...)
	w.hi += uint64(s.n)
}

// renew forgets what was read of a span, whose source has n chunks now.
func (w *poolWindow) renew(s *span, n int) {
	for i := range s.n {
		index := s.base + uint64(i)
		if index < w.first {
			continue
		}
		c := w.slot(index)
		w.drop(c)
		c.state = slotUnread
		if s.offset+i >= n {
			c.state = slotDead
		}
	}
}

// drop takes a chunk out of the store.
func (w *poolWindow) drop(s *slot) {
	if s.packed != nil {
		w.bytes -= int64(s.packed.Bytes())
		w.positions -= int64(s.packed.num)
		w.stored--
		s.packed = nil
	}
}

// slot returns the chunk of a number, which is w.first or more.
func (w *poolWindow) slot(index uint64) *slot { return &w.slots[index-w.first] }

// locate returns where a chunk is.
func (w *poolWindow) locate(index uint64) (*poolSource, int) {
	i := sort.Search(len(w.spans), func(i int) bool { return w.spans[i].base > index }) - 1
	s := w.spans[i]
	return s.source, s.offset + int(index-s.base)
}

// forget drops the chunks below lo, and the sources that have none left.
func (w *poolWindow) forget(lo uint64) {
	if lo <= w.first {
		return
	}
	gone := w.slots[:lo-w.first]
	for i := range gone {
		w.drop(&gone[i])
	}
	if w.slots = w.slots[len(gone):]; cap(w.slots) > 2*len(w.slots)+1024 {
		w.slots = append(make([]slot, 0, len(w.slots)), w.slots...)
	}
	w.first = lo
	old := map[*poolSource]bool{}
	w.spans = slices.DeleteFunc(w.spans, func(s *span) bool {
		gone := s.base+uint64(s.n) <= lo
		if gone {
			old[s.source] = true
		}
		return gone
	})
	for _, s := range w.spans {
		delete(old, s.source)
	}
	for source := range old {
		source.source = nil // its name stays known: it comes no second time
	}
}

// put records what was read of a chunk: t, or nothing if it cannot be used. A
// chunk that has left the window meanwhile is not recorded.
func (w *poolWindow) put(index uint64, t *Transcoded) {
	if index < w.first {
		return
	}
	s := w.slot(index)
	w.drop(s)
	if t == nil || t.num == 0 {
		s.state = slotDead
		return
	}
	s.state, s.weight = slotRead, float32(t.Weight())
	if size := int64(t.Bytes()); w.bytes+size <= w.budget {
		s.packed = t
		w.bytes += size
		w.positions += int64(t.num)
		w.stored++
	}
}

// survey counts the chunks anew and calls yield with each that was read.
func (w *poolWindow) survey(yield func(*slot)) {
	w.live = 0
	for i := range w.slots {
		s := &w.slots[i]
		if s.state != slotDead {
			w.live++
		}
		if s.state == slotRead {
			yield(s)
		}
	}
}
