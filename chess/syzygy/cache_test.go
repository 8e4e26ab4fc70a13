package syzygy

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// TestCacheIsBounded puts in many times what fits.
func TestCacheIsBounded(t *testing.T) {
	const limit = 4 * cacheShards * pageSize
	c, f := newPageCache(limit), &file{id: 3}
	for i := range int64(1000) {
		k := pageKey{f, i}
		c.put(k, []byte{byte(i)})
		c.put(k, []byte{99}) // the first stays
		if page := c.get(k); len(page) != 1 || page[0] != byte(i) {
			t.Fatalf("page %d: %v", i, page)
		}
	}
	held := 0
	for i := range c.shards {
		s := &c.shards[i]
		if len(s.slots) != len(s.at) {
			t.Errorf("shard %d: %d pages, %d places", i, len(s.slots), len(s.at))
		}
		held += len(s.slots)
	}
	if held*pageSize > limit || held == 0 {
		t.Errorf("%d pages held, at most %d fit", held, limit/pageSize)
	}
}

// TestManyGoroutines asks from several goroutines at once, with a cache of one page
// a shard.
func TestManyGoroutines(t *testing.T) {
	tables, err := Open(writeTables(t))
	if err != nil {
		t.Fatal(err)
	}
	cache := newPageCache(1)
	for _, files := range []map[material]*file{tables.wdl, tables.dtz} {
		for _, f := range files {
			f.cache = cache
		}
	}
	var wait sync.WaitGroup
	for g := range uint64(4) {
		wait.Go(func() {
			rng := rand.New(rand.NewPCG(g, 7))
			for range 500 {
				s := three().draw(rng, threeMen[rng.IntN(len(threeMen))])
				if !agrees(t, tables, &s) {
					return
				}
			}
		})
	}
	wait.Wait()
}

// TestDistances holds the reading of stored values against the definition.
func TestDistances(t *testing.T) {
	lists := [4][]uint16{{5, 6}, {7}, {8}, {9}}
	for _, c := range []struct {
		flags byte
		v     uint16
		wdl   int
		plies int // -1: refused
	}{
		{0, 3, Win, 7}, {0, 3, Loss, 7}, {0, 3, CursedWin, 107}, {0, 3, BlessedLoss, 107},
		{flagWinPlies, 3, Win, 4}, {flagWinPlies, 3, Loss, 7}, {flagLossPlies, 3, Loss, 4}, {flagLossPlies, 3, Win, 7},
		{flagWinPlies | flagLossPlies, 3, CursedWin, 107},
		{flagMapped | flagWinPlies, 1, Win, 7}, {flagMapped, 0, Loss, 15}, {flagMapped, 0, CursedWin, 117}, {flagMapped, 0, BlessedLoss, 119},
		{flagMapped, 2, Win, -1}, {flagMapped, 1, BlessedLoss, -1},
	} {
		p := &pairs{flags: c.flags, maps: lists}
		plies, err := p.distance(c.v, c.wdl)
		if err != nil {
			plies = -1
		}
		if plies != c.plies {
			t.Errorf("flags %d value %d result %d: %d plies, want %d", c.flags, c.v, c.wdl, plies, c.plies)
		}
	}
}
