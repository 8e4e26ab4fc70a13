package mcts

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

const (
	cacheWays        = 4  // entries that share a slot of the table; as many tags as a uint64 holds
	cachePriorsEntry = 40 // priors reserved per entry; chess positions have about 30 moves
)

// key identifies a network input together with its legal moves, which the input
// does not always show (Chess960 rooks).
type key struct{ hi, lo uint64 }

// keyOf returns the key of an input, of which so many boards count, the newest ones; 0 =
// all of it, exactly.
func keyOf(masks *[encoding.NumMasks]uint64, scalars *encoding.Scalars, moves *chess.MoveList, boards int) key {
	if boards > 0 {
		var counted [encoding.NumMasks]uint64
		copy(counted[:], masks[:boards*encoding.PlanesPerBoard])
		about := *scalars
		about.Rule50 = rule50Bucket(about.Rule50)
		masks, scalars = &counted, &about
	}
	hi, lo := encoding.Key128(masks, scalars)
	// Two chains of products: one alone would wait for each of its own.
	h, g := uint64(moves.N), uint64(0)
	i := 0
	for ; i+1 < moves.N; i += 2 {
		h = (h ^ uint64(moves.Moves[i])) * 0x9e3779b97f4a7c15
		g = (g ^ uint64(moves.Moves[i+1])) * 0xbf58476d1ce4e5b9
	}
	if i < moves.N {
		h = (h ^ uint64(moves.Moves[i])) * 0x9e3779b97f4a7c15
	}
	h ^= bits.ReverseBytes64(g)
	return key{hi ^ h, lo ^ bits.ReverseBytes64(h)}
}

// rule50Bucket returns plies without a capture or pawn move as coarsely as they matter:
// far from a draw not at all.
func rule50Bucket(plies uint8) uint8 {
	if plies < 60 {
		return 0
	}
	return plies / 8
}

// cacheEntry is one remembered answer. Its priors lie in the ring at [at, at+num)
// and are overwritten once the ring has gone round.
type cacheEntry struct {
	key key
	at  uint64 // position in the endless sequence of priors
	wdl [3]float32
	m   float32
	num int32
}

// Cache remembers the network's answers, bit for bit, by a 128-bit hash of the
// input, all of which is compared on a hit. Its memory is allocated at once and
// bounded; the oldest answers go first. It is used by one goroutine at a time,
// unless NewSharedCache made it.
//
// Most look-ups miss. The tags, which a second-level cache can hold, say so
// without touching the entries.
type Cache struct {
	tags    []uint64     // per slot 16 bits of the key of each entry; 0 = empty
	turn    []uint8      // per slot the entry that is written next: the oldest
	entries []cacheEntry // cacheWays in a row share a slot
	ring    []float32
	next    uint64 // where the next priors go, in the endless sequence
	shift   uint
	hits    uint64
	misses  uint64

	parts []cachePart // of a shared cache, which has nothing else
}

// cachePart is a part of a shared cache.
type cachePart struct {
	sync.Mutex
	*Cache
}

// cacheParts is the number of parts: goroutines wait for each other where they want
// the same one.
const cacheParts = 16

// NewCache returns a cache for about so many positions, rounded up to a power
// of two for the table; 0 or less gives nil, which is no cache. It takes about
// 220 bytes a position.
func NewCache(positions int) *Cache {
	if positions <= 0 {
		return nil
	}
	slots := 1 << bits.Len(uint((positions-1)/cacheWays))
	c := &Cache{
		tags: make([]uint64, slots), turn: make([]uint8, slots),
		entries: make([]cacheEntry, slots*cacheWays),
		ring:    make([]float32, max(positions*cachePriorsEntry, 256)),
		shift:   uint(64 - bits.TrailingZeros(uint(slots))),
	}
	c.next = uint64(len(c.ring))
	return c
}

// NewSharedCache is NewCache for searches of several goroutines. While they use it
// only what Search asks of it is safe.
func NewSharedCache(positions int) *Cache {
	if positions <= 0 {
		return nil
	}
	c := &Cache{parts: make([]cachePart, cacheParts)}
	for i := range c.parts {
		c.parts[i].Cache = NewCache((positions + cacheParts - 1) / cacheParts)
	}
	return c
}

// part returns the part of a shared cache that k may be in.
func (c *Cache) part(k key) *cachePart { return &c.parts[k.lo>>32%cacheParts] }

// prefetch has fetched what a look for k, and then a put of it, will need.
func (c *Cache) prefetch(k key) {
	if c.parts != nil {
		c = c.part(k).Cache
	}
	slot := c.slot(k)
	prefetchLines(unsafe.Pointer(&c.tags[slot]), 1)
	prefetchLines(unsafe.Pointer(&c.turn[slot]), 1)
	prefetchLines(unsafe.Pointer(&c.entries[slot*cacheWays]), cacheWays*int(unsafe.Sizeof(cacheEntry{}))/64)
}

// lookUp is get of a cache that may be shared; its prior is valid until the next
// call with the same scratch.
func (c *Cache) lookUp(k key, numLegal int, scratch *[]float32) (prior []float32, wdl [3]float32, m float32, ok bool) {
	if c.parts == nil {
		return c.get(k, numLegal)
	}
	p := c.part(k)
	p.Lock()
	defer p.Unlock()
	prior, wdl, m, ok = p.get(k, numLegal)
	*scratch = append((*scratch)[:0], prior...)
	return *scratch, wdl, m, ok
}

// remember is put of a cache that may be shared.
func (c *Cache) remember(k key, prior []float32, wdl [3]float32, m float32) {
	if c.parts == nil {
		c.put(k, prior, wdl, m)
		return
	}
	p := c.part(k)
	p.Lock()
	defer p.Unlock()
	p.put(k, prior, wdl, m)
}

// Clear forgets everything: for new weights. The counters go on.
func (c *Cache) Clear() {
	if c == nil {
		return
	}
	for i := range c.parts {
		c.parts[i].Clear()
	}
	clear(c.tags) // no entry is looked at without its tag
	clear(c.turn)
	c.next = uint64(len(c.ring))
}

// Counts returns how many look-ups were answered and how many were not.
func (c *Cache) Counts() (hits, misses uint64) {
	if c == nil {
		return 0, 0
	}
	hits, misses = c.hits, c.misses
	for i := range c.parts {
		hits, misses = hits+c.parts[i].hits, misses+c.parts[i].misses
	}
	return hits, misses
}

// Full returns the share of the cache's room that answers fill, in [0,1].
func (c *Cache) Full() float64 {
	if c == nil {
		return 0
	}
	if c.parts != nil {
		sum := 0.0
		for i := range c.parts {
			p := &c.parts[i]
			p.Lock()
			sum += p.Full()
			p.Unlock()
		}
		return sum / float64(len(c.parts))
	}
	size := uint64(len(c.ring))
	return min(1, float64(c.next-size)/float64(size))
}

// slot returns the number of the slot that k may be in.
func (c *Cache) slot(k key) int { return int(k.hi >> c.shift) }

// tagOf returns the tag of a key, never 0.
func tagOf(k key) uint16 { return uint16(k.lo) | 1 }

// find returns the entry of k whose priors are still in the ring, or nil.
func (c *Cache) find(k key) *cacheEntry {
	slot, tag := c.slot(k), tagOf(k)
	for i, tags := 0, c.tags[slot]; tags != 0; i, tags = i+1, tags>>16 {
		if uint16(tags) == tag {
			if e := &c.entries[slot*cacheWays+i]; e.key == k && e.at+uint64(len(c.ring)) >= c.next {
				return e
			}
		}
	}
	return nil
}

// get returns the answer for k with so many legal moves. prior is valid until
// the next put.
func (c *Cache) get(k key, numLegal int) (prior []float32, wdl [3]float32, m float32, ok bool) {
	if e := c.find(k); e != nil && int(e.num) == numLegal {
		c.hits++
		at := e.at % uint64(len(c.ring))
		return c.ring[at : at+uint64(e.num)], e.wdl, e.m, true
	}
	c.misses++
	return nil, wdl, 0, false
}

// put remembers the answer for k in the place of the oldest in its slot.
func (c *Cache) put(k key, prior []float32, wdl [3]float32, m float32) {
	if c.find(k) != nil {
		return // another game of the batch asked for the same position
	}
	size := uint64(len(c.ring))
	if left := size - c.next%size; left < uint64(len(prior)) {
		c.next += left // priors lie in one piece
	}
	at := c.next
	c.next += uint64(len(prior))
	copy(c.ring[at%size:], prior)
	slot := c.slot(k)
	i := c.turn[slot]
	c.turn[slot] = (i + 1) % cacheWays
	c.tags[slot] = c.tags[slot]&^(0xffff<<(16*i)) | uint64(tagOf(k))<<(16*i)
	c.entries[slot*cacheWays+int(i)] = cacheEntry{key: k, at: at, wdl: wdl, m: m, num: int32(len(prior))}
}
