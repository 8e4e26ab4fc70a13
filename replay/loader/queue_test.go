package loader

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/replay"
)

// drain gets all that is in a closed queue.
func drain[T any](t testing.TB, q *Queue[T]) (items []T) {
	t.Helper()
	for {
		v, err := q.Get(context.Background())
		if errors.Is(err, io.EOF) {
			return items
		}
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, v)
	}
}

func TestQueueOverflow(t *testing.T) {
	for _, c := range []struct {
		overflow Overflow
		want     []int
		stats    QueueStats
	}{
		{DropNew, []int{0, 1, 2, 3}, QueueStats{Capacity: 4, Overflow: "DROP_NEW", Puts: 10, Gets: 4, Drops: 6}},
		{KeepNewest, []int{6, 7, 8, 9}, QueueStats{Capacity: 4, Overflow: "KEEP_NEWEST", Puts: 10, Gets: 4, Drops: 6}},
	} {
		q := NewQueue[int](4, c.overflow)
		for i := range 10 {
			if err := q.Put(context.Background(), i); err != nil {
				t.Fatal(err)
			}
		}
		if n := q.Stats().Length; n != 4 {
			t.Errorf("%v: length %d", c.overflow, n)
		}
		q.Close()
		q.Close()
		if got := drain(t, q); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.overflow, got, c.want)
		}
		if s := q.Stats(); s != c.stats {
			t.Errorf("%v: %+v, want %+v", c.overflow, s, c.stats)
		}
		if err := q.Put(context.Background(), 1); !errors.Is(err, replay.ErrClosed) {
			t.Errorf("%v: put after Close: %v", c.overflow, err)
		}
	}
}

// A full queue makes Put wait, an empty one Get; both end with the context, and
// an item that was not put is not counted.
func TestQueueBlocks(t *testing.T) {
	q := NewQueue[int](1, Block)
	ctx, cancel := context.WithCancel(context.Background())
	if err := q.Put(ctx, 1); err != nil {
		t.Fatal(err)
	}
	result := make(chan error)
	go func() { result <- q.Put(ctx, 2) }()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
	if v, err := q.Get(ctx); v != 1 || err != nil {
		t.Errorf("get of what is there: %d, %v", v, err)
	}
	if _, err := q.Get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("get of nothing: %v", err)
	}
	if s := q.Stats(); s.Puts != 1 || s.Gets != 1 || s.Drops != 0 {
		t.Errorf("%+v", s)
	}
}

// With many producers and consumers every item arrives once, in the order of
// its producer, and the counters add up.
func TestQueueConcurrent(t *testing.T) {
	const producers, consumers, each = 4, 3, 500
	q := NewQueue[[2]int](3, Block)
	var put, get sync.WaitGroup
	for p := range producers {
		put.Go(func() {
			for i := range each {
				if err := q.Put(context.Background(), [2]int{p, i}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	got := make([][][2]int, consumers)
	for c := range consumers {
		get.Go(func() { got[c] = drain(t, q) })
	}
	put.Wait()
	q.Close()
	get.Wait()
	seen := map[[2]int]bool{}
	for _, items := range got {
		last := [producers]int{-1, -1, -1, -1}
		for _, v := range items {
			if seen[v] || v[1] <= last[v[0]] {
				t.Fatalf("%v twice or out of order", v)
			}
			seen[v], last[v[0]] = true, v[1]
		}
	}
	if s := q.Stats(); len(seen) != producers*each || s.Puts != producers*each || s.Gets != s.Puts || s.Length != 0 {
		t.Errorf("%d items, %+v", len(seen), s)
	}
}

// BenchmarkQueue is one item from one goroutine to another.
func BenchmarkQueue(b *testing.B) {
	q := NewQueue[Frame](4, Block)
	go func() {
		defer q.Close()
		for range b.N {
			_ = q.Put(context.Background(), Frame{})
		}
	}()
	if n := len(drain(b, q)); n != b.N {
		b.Fatal(n)
	}
}
