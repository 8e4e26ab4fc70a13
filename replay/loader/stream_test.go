package loader

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/replay"
)

func draw(t testing.TB, s *Stream, n int) []uint64 {
	t.Helper()
	out := make([]uint64, n)
	for i := range out {
		var ok bool
		if out[i], ok = s.Next(); !ok {
			t.Fatalf("draw %d of %d: the window is empty", i, n)
		}
	}
	return out
}

func sorted(x []uint64) []uint64 { return slices.Sorted(slices.Values(x)) }

func upTo(lo, hi uint64) (all []uint64) {
	for i := lo; i < hi; i++ {
		all = append(all, i)
	}
	return all
}

// Every index once a pass, pass after pass, in different orders.
func TestStreamPasses(t *testing.T) {
	s := NewStream(rand.NewPCG(1, 2))
	if _, ok := s.Next(); ok {
		t.Fatal("an index of an empty window")
	}
	s.Slide(0, 100)
	var before []uint64
	for pass := range uint64(5) {
		if s.Passes() != pass {
			t.Fatalf("%d passes, want %d", s.Passes(), pass)
		}
		got := draw(t, s, 100)
		if !slices.Equal(sorted(got), upTo(0, 100)) {
			t.Fatalf("pass %d is %v", pass, got)
		}
		if slices.Equal(got, before) {
			t.Errorf("passes %d and %d have the same order", pass-1, pass)
		}
		before = got
	}
}

// What enters joins the pass under way, what leaves does not come again, and a
// window that moves between two passes belongs to the next as a whole.
func TestStreamSlides(t *testing.T) {
	s := NewStream(rand.NewPCG(3, 4))
	s.Slide(0, 50)
	got := draw(t, s, 20)
	s.Slide(10, 70)
	s.Slide(5, 60) // lower ends change nothing
	if lo, hi := s.Window(); lo != 10 || hi != 70 {
		t.Fatalf("window [%d, %d), want [10, 70)", lo, hi)
	}
	want := slices.DeleteFunc(upTo(10, 70), func(i uint64) bool { return slices.Contains(got, i) })
	if rest := draw(t, s, len(want)); !slices.Equal(sorted(rest), want) {
		t.Errorf("after %v came %v, want %v", got, rest, want)
	}
	if s.Passes() != 1 {
		t.Errorf("%d passes, want 1", s.Passes())
	}
	s.Slide(20, 90)
	if got := draw(t, s, 70); !slices.Equal(sorted(got), upTo(20, 90)) || s.Passes() != 2 {
		t.Errorf("the second pass is %v", got)
	}
	draw(t, s, 10)
	s.Slide(1000, 0) // beyond everything
	if _, ok := s.Next(); ok || s.Passes() != 3 {
		t.Errorf("an index of an empty window, %d passes", s.Passes())
	}
	s.Slide(0, 1003)
	if got := draw(t, s, 3); !slices.Equal(sorted(got), upTo(1000, 1003)) {
		t.Errorf("got %v", got)
	}
}

func TestStreamState(t *testing.T) {
	s := NewStream(rand.NewPCG(5, 6))
	s.Slide(3, 200)
	draw(t, s, 333)
	s.Slide(17, 210)
	state := s.AppendState(nil)
	want := draw(t, s, 500)
	again := NewStream(rand.NewPCG(0, 0))
	tailed := replay.Decoder{Data: append(bytes.Clone(state), "tail"...)}
	if err := again.SetState(&tailed); err != nil || string(tailed.Take(4)) != "tail" || tailed.End() != nil {
		t.Fatalf("%v, at %d, %v", err, tailed.Pos, tailed.Err)
	}
	if !bytes.Equal(again.AppendState(nil), state) {
		t.Error("the state changes when it is loaded")
	}
	if got := draw(t, again, 500); !slices.Equal(got, want) {
		t.Error("other indices after loading the state")
	}
	state = again.AppendState(nil)
	for _, bad := range [][]byte{nil, state[:30], state[:len(state)-1], append([]byte("xxxx"), state[4:]...)} {
		if err := again.SetState(&replay.Decoder{Data: bad}); err == nil {
			t.Errorf("state of %d bytes was loaded", len(bad))
		}
	}
	if !bytes.Equal(again.AppendState(nil), state) {
		t.Error("a failed load changed the state")
	}
}

// What came into the window after the last pass is still to come after a restart.
func TestStreamStateUnseen(t *testing.T) {
	s := NewStream(rand.NewPCG(5, 6))
	s.Slide(0, 3)
	draw(t, s, 3)
	if !s.Seen() {
		t.Fatal("a whole pass is not all")
	}
	s.Slide(1, 5)
	again := NewStream(rand.NewPCG(0, 0))
	if err := again.SetState(&replay.Decoder{Data: s.AppendState(nil)}); err != nil {
		t.Fatal(err)
	}
	if s.Seen() || again.Seen() || again.Passes() != 1 {
		t.Errorf("all seen: %v, and %v after loading, %d passes", s.Seen(), again.Seen(), again.Passes())
	}
	for _, stream := range []*Stream{s, again} {
		stream.Slide(2, 6) // also of a window that moves once more
	}
	if got, want := draw(t, again, 20), draw(t, s, 20); !slices.Equal(got, want) {
		t.Errorf("after loading the state come %v, want %v", got, want)
	}
}

// chiSquare returns the statistic of counts against equal expectations.
func chiSquare(counts []int) (x float64) {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	want := float64(sum) / float64(len(counts))
	for _, n := range counts {
		x += (float64(n) - want) * (float64(n) - want) / want
	}
	return x
}

// chiLimit is the value that chi-square with k degrees of freedom stays below
// with probability 1 - 1e-6 (Wilson and Hilferty 1931; 4.753 = the normal
// quantile): a sound sampler fails one seed in a million, and the seeds are
// fixed.
func chiLimit(k int) float64 {
	d := 2 / (9 * float64(k))
	return float64(k) * math.Pow(1-d+4.753*math.Sqrt(d), 3)
}

// Every index comes first, and in every other place, equally often: p = 1e-6.
func TestStreamUniform(t *testing.T) {
	const n, passes = 12, 6000
	var counts [n * n]int
	s := NewStream(rand.NewPCG(7, 8))
	s.Slide(0, n)
	for range passes {
		for place, i := range draw(t, s, n) {
			counts[place*n+int(i)]++
		}
	}
	// Rows and columns have fixed sums: (n-1)^2 degrees of freedom.
	if x := chiSquare(counts[:]); x > chiLimit((n-1)*(n-1)) {
		t.Errorf("chi-square %.1f, at most %.1f", x, chiLimit((n-1)*(n-1)))
	}
	var skewed [n]int
	for i := range skewed {
		skewed[i] = 6000
	}
	skewed[0] += 600 // a control: a tenth more of one index is found
	if x := chiSquare(skewed[:]); x < chiLimit(n-1) {
		t.Errorf("the test is blind: %.1f", x)
	}
}

func FuzzStreamState(f *testing.F) {
	s := NewStream(rand.NewPCG(1, 1))
	s.Slide(0, 9)
	s.Next()
	f.Add(s.AppendState(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := NewStream(rand.NewPCG(1, 1))
		if err := s.SetState(&replay.Decoder{Data: data}); err != nil {
			return
		}
		if lo, hi := s.Window(); hi-lo > 1<<16 {
			return // a pass over it would take memory that no state has asked for yet
		}
		for range 10 {
			lo, hi := s.Window()
			if i, ok := s.Next(); ok && (i < lo || i >= hi) || !ok && lo != hi {
				t.Fatalf("index %d of [%d, %d)", i, lo, hi)
			}
		}
	})
}
