package mcts

import (
	"math/bits"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

const (
	cacheWays        = 4  // entries that share a slot of the table
	cachePriorsEntry = 40 // priors reserved per entry; chess positions have about 30 moves
)

// key identifies a network input together with its legal moves, which the input
// does not always show (Chess960 rooks).
type key struct{ hi, lo uint64 }

func keyOf(masks *[encoding.NumMasks]uint64, scalars *encoding.Scalars, moves *chess.MoveList) key {
	hi, lo := encoding.Key128(masks, scalars)
	h := uint64(moves.N)
	for i := 0; i < moves.N; i++ {
		h = (h ^ uint64(moves.Moves[i])) * 0x9e3779b97f4a7c15
	}
	return key{hi ^ h, lo ^ bits.ReverseBytes64(h)}
}

// cacheEntry is one remembered answer. Its priors lie in the ring at [at, at+num)
// and are overwritten once the ring has gone round.
type cacheEntry struct {
	key key
	at  uint64 // position in the endless sequence of priors; 0 = empty
	wdl [3]float32
	m   float32
	num int32
}

// Cache remembers the network's answers, bit for bit, by a 128-bit hash of the
// input, all of which is compared on a hit. Its memory is allocated at once and
// bounded; the oldest answers go first. It is used by one goroutine at a time.
type Cache struct {
	entries []cacheEntry // cacheWays in a row share a slot
	ring    []float32
	next    uint64 // where the next priors go, in the endless sequence
	shift   uint
	hits    uint64
	misses  uint64
}

// NewCache returns a cache for about so many positions, rounded up to a power
// of two for the table; 0 or less gives nil, which is no cache. It takes about
// 220 bytes a position.
func NewCache(positions int) *Cache {
	if positions <= 0 {
		return nil
	}
	slots := 1 << bits.Len(uint((positions-1)/cacheWays))
	c := &Cache{
		entries: make([]cacheEntry, slots*cacheWays),
		ring:    make([]float32, max(positions*cachePriorsEntry, 256)),
		shift:   uint(64 - bits.TrailingZeros(uint(slots))),
	}
	c.next = uint64(len(c.ring))
	return c
}

// Clear forgets everything: for new weights. The counters go on.
func (c *Cache) Clear() {
	if c == nil {
		return
	}
	clear(c.entries)
	c.next = uint64(len(c.ring))
}

// Counts returns how many look-ups were answered and how many were not.
func (c *Cache) Counts() (hits, misses uint64) {
	if c == nil {
		return 0, 0
	}
	return c.hits, c.misses
}

// slot returns the entries that k may be in.
func (c *Cache) slot(k key) []cacheEntry {
	at := int(k.hi>>c.shift) * cacheWays
	return c.entries[at : at+cacheWays]
}

// alive reports whether e's priors are still in the ring.
func (c *Cache) alive(e *cacheEntry) bool {
	return e.at != 0 && e.at+uint64(len(c.ring)) >= c.next
}

// get returns the answer for k with so many legal moves. prior is valid until
// the next put.
func (c *Cache) get(k key, numLegal int) (prior []float32, wdl [3]float32, m float32, ok bool) {
	slot := c.slot(k)
	for i := range slot {
		e := &slot[i]
		if e.key == k && int(e.num) == numLegal && c.alive(e) {
			c.hits++
			at := e.at % uint64(len(c.ring))
			return c.ring[at : at+uint64(e.num)], e.wdl, e.m, true
		}
	}
	c.misses++
	return nil, wdl, 0, false
}

// put remembers the answer for k in the place of the oldest in its slot.
func (c *Cache) put(k key, prior []float32, wdl [3]float32, m float32) {
	slot := c.slot(k)
	oldest := &slot[0]
	for i := range slot {
		e := &slot[i]
		if e.key == k && c.alive(e) {
			return // another game of the batch asked for the same position
		}
		if e.at < oldest.at {
			oldest = e
		}
	}
	size := uint64(len(c.ring))
	if left := size - c.next%size; left < uint64(len(prior)) {
		c.next += left // priors lie in one piece
	}
	at := c.next
	c.next += uint64(len(prior))
	copy(c.ring[at%size:], prior)
	*oldest = cacheEntry{key: k, at: at, wdl: wdl, m: m, num: int32(len(prior))}
}
