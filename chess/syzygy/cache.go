package syzygy

import "sync"

const (
	pageSize    = 16 << 10
	cacheBytes  = 64 << 20 // of file contents that a Tables holds, heads of tables apart
	cacheShards = 16
)

// pageCache holds pages of table files within a fixed number of bytes. Pages are
// kept as they are in the file: walking a compressed block takes less time than
// finding it, and a block may stand for 65536 values. It is safe for concurrent
// use; a page is never changed.
type pageCache struct {
	shards [cacheShards]cacheShard
}

// cacheShard replaces pages by the clock rule: the hand passes over pages used
// since its last visit.
type cacheShard struct {
	mu    sync.Mutex
	at    map[pageKey]int // place in slots
	slots []cacheSlot
	limit int // slots at most
	hand  int
}

type cacheSlot struct {
	key  pageKey
	page []byte
	used bool
}

// pageKey names a page of a file.
type pageKey struct {
	file *file
	page int64
}

// newPageCache returns a cache of at most limit bytes, at least a page a shard.
func newPageCache(limit int) *pageCache {
	c := &pageCache{}
	for i := range c.shards {
		c.shards[i] = cacheShard{at: map[pageKey]int{}, limit: max(1, limit/pageSize/cacheShards)}
	}
	return c
}

// shard returns the shard of a page.
func (c *pageCache) shard(k pageKey) *cacheShard {
	return &c.shards[(k.file.id*7+uint64(k.page))%cacheShards]
}

// get returns a page, nil where it is not held.
func (c *pageCache) get(k pageKey) []byte {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.at[k]
	if !ok {
		return nil
	}
	s.slots[i].used = true
	return s.slots[i].page
}

// put keeps a page, in place of another where the shard is full.
func (c *pageCache) put(k pageKey, page []byte) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.at[k]; ok {
		return // another goroutine has read it at the same time
	}
	if len(s.slots) < s.limit {
		s.at[k] = len(s.slots)
		s.slots = append(s.slots, cacheSlot{key: k, page: page})
		return
	}
	for s.slots[s.hand].used {
		s.slots[s.hand].used = false
		s.hand = (s.hand + 1) % len(s.slots)
	}
	delete(s.at, s.slots[s.hand].key)
	s.slots[s.hand] = cacheSlot{key: k, page: page}
	s.at[k] = s.hand
	s.hand = (s.hand + 1) % len(s.slots)
}
