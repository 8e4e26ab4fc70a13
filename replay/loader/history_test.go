package loader

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// 37 ticks of count 200+i (docs: VECTORS.md): 236 | 234+235 | 232..235 |
// 224..231 | 216..231 | 200..231.
func TestHistoryVector(t *testing.T) {
	var h History
	for i := range 37 {
		h.Tick(uint64(200 + i))
	}
	want := []uint64{236, 234 + 235, 232 + 233 + 234 + 235, 1820, 3576, 6896}
	if got := h.Windows(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Against the definition: window k is the last complete block of 2^k ticks.
func TestHistoryReference(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	var h History
	var counts []uint64
	for n := 1; n <= 3000; n++ {
		counts = append(counts, rng.Uint64N(1000))
		h.Tick(counts[n-1])
		got := h.Windows()
		for k, sum := range got {
			end := n >> k << k
			want := uint64(0)
			for _, c := range counts[end-1<<k : end] {
				want += c
			}
			if sum != want {
				t.Fatalf("seed %d, after %d ticks: window %d is %d, want %d", seed, n, k, sum, want)
			}
		}
		if len(got) != 64-leadingZeros(uint64(n)) {
			t.Fatalf("after %d ticks: %d windows", n, len(got))
		}
	}
}

func leadingZeros(n uint64) (zeros int) {
	for ; n>>63 == 0; n <<= 1 {
		zeros++
	}
	return zeros
}

func TestHistoryIsBounded(t *testing.T) {
	var h History
	for range 1 << 18 {
		h.Tick(1)
	}
	w := h.Windows()
	if len(w) != maxWindows || w[maxWindows-1] != 1<<(maxWindows-1) {
		t.Errorf("%v", w)
	}
}

// A queue counts what got through, not what it dropped.
func TestQueueHistory(t *testing.T) {
	q := NewQueue[int](2, DropNew)
	for i := range 5 {
		_ = q.Put(t.Context(), i)
	}
	q.tick()
	if got := q.lately(); !slices.Equal(got, []uint64{2}) {
		t.Errorf("%v", got)
	}
	q.tick()
	if got := q.lately(); !slices.Equal(got, []uint64{0, 2}) {
		t.Errorf("%v", got)
	}
}
