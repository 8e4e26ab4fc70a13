package sample

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Every row of a game comes once before one comes twice, also while the window
// slides and after the state was loaded; passes have different orders.
func TestHanseTurns(t *testing.T) {
	rng := fresh(t)
	l := randomGames(rng, 60, 15)
	subject := subject{"hanse", nil}
	s := subject.sampler(t, rng.Uint64())
	counts := map[uint64]map[int32]int{}
	for hi := 30; hi <= 60; hi++ {
		if hi%7 == 0 {
			state := saved(t, s)
			s = subject.sampler(t, 0)
			if err := load(s, state); err != nil {
				t.Fatal(err)
			}
		}
		for _, ref := range drawn(t, s, l.window(hi-30, hi), 300) {
			if counts[ref.Game] == nil {
				counts[ref.Game] = map[int32]int{}
			}
			counts[ref.Game][ref.Ply]++
		}
	}
	seen := 0
	for _, g := range l.games {
		least, most := math.MaxInt, 0
		for _, row := range g.rows {
			n := counts[g.info.Seq][row.Ply]
			least, most, seen = min(least, n), max(most, n), seen+n
		}
		if most-least > 1 {
			t.Errorf("game %d: %v uses of its %d rows", g.info.Seq, counts[g.info.Seq], len(g.rows))
		}
	}
	if seen != 31*300 {
		t.Errorf("%d rows of %d are of the games", seen, 31*300)
	}
}

// The order of a game's rows is another in each pass and for each seed.
func TestHanseOrders(t *testing.T) {
	w := plain(4, make([]stage.RowStats, 30)...)
	order := func(seed uint64, passes int) (plies []int32) {
		for _, ref := range drawn(t, subject{"hanse", nil}.sampler(t, seed), w, 30*passes)[30*(passes-1):] {
			plies = append(plies, ref.Ply)
		}
		return plies
	}
	first := order(1, 1)
	if sorted := slices.Sorted(slices.Values(first)); sorted[0] != 0 || sorted[29] != 29 || len(slices.Compact(sorted)) != 30 {
		t.Fatalf("a pass is %v", first)
	}
	if slices.Equal(first, order(1, 2)) || slices.Equal(first, order(2, 1)) {
		t.Error("two passes or seeds have the same order") // by chance once in 30! times
	}
}

// By positions a row counts what it weighs; by weights what it weighs beside the
// mean of its game.
func TestHanseLossWeights(t *testing.T) {
	w := plain(4, make([]stage.RowStats, 3)...)
	for k, weight := range []uint64{1, 2, 6} {
		w.games[0].rows[k].Weight = weight * stage.WeightUnit
	}
	w.games[0].info.Weight, w.endWeight[0] = 9*stage.WeightUnit, 9*stage.WeightUnit
	for by, want := range map[string][]float32{"positions": {1, 2, 6}, "weights": {1. / 3, 2. / 3, 2}} {
		for _, ref := range drawn(t, subject{"hanse", map[string]string{"by": by}}.sampler(t, 1), w, 9) {
			if ref.Weight != want[ref.Ply] {
				t.Errorf("by %s: row %d counts %v, want %v", by, ref.Ply, ref.Weight, want[ref.Ply])
			}
		}
	}
}

// Uses belong to games, not to numbers: in another window with the same numbers
// all begin at 0, and a window that grew at its old end keeps what was counted.
func TestHanseUses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	l, other := &testGames{}, &testGames{}
	for seq := range uint64(30) {
		l.add(randomGame(rng, seq, 9))
		other.add(randomGame(rng, seq, 9))
	}
	c := subject{"hanse", nil}.sampler(t, 1)
	drawn(t, c, l.window(10, 20), 500)
	s := c.inside().(*hanse)
	counts := slices.Clone(s.uses.counts)
	c.follow(t, l.window(5, 22))
	if want := slices.Concat(make([]uint32, 5), counts, make([]uint32, 2)); !slices.Equal(s.uses.counts, want) {
		t.Errorf("grown at both ends: %v, want %v", s.uses.counts, want)
	}
	c.follow(t, l.window(15, 25))
	if want := slices.Concat(counts[5:], make([]uint32, 5)); !slices.Equal(s.uses.counts, want) {
		t.Errorf("slid on: %v, want %v", s.uses.counts, want)
	}
	c.follow(t, other.window(15, 25))
	if want := make([]uint32, 10); !slices.Equal(s.uses.counts, want) {
		t.Errorf("of another window: %v, want %v", s.uses.counts, want)
	}
}

// Literal states that are no such thing are refused; so is a count that would
// need more memory than the state has bytes.
func TestHanseStateRefused(t *testing.T) {
	s := subject{"hanse", nil}.sampler(t, 1)
	head := saved(t, s)[:pcgSize+32]
	for name, tail := range map[string][]byte{
		"more games than bytes": {200, 1, 0},
		"2^63 games":            binary.AppendUvarint(nil, 1<<63),
		"endless number":        bytes.Repeat([]byte{0xff}, 11),
		"use above 2^32":        append([]byte{1}, binary.AppendUvarint(nil, 1<<32)...),
		"cut off use":           {1, 0x80},
	} {
		if err := load(s, slices.Concat(head, tail)); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
	if err := load(s, slices.Concat(head, []byte{2, 5, 6})); err != nil || !slices.Equal(s.inside().(*hanse).uses.counts, []uint32{5, 6}) {
		t.Errorf("two games with 5 and 6 uses: %v", err)
	}
}

// FuzzHanseState: a state is refused, or comes back as the sampler writes it.
func FuzzHanseState(f *testing.F) {
	s := subject{"hanse", nil}.sampler(f, 1)
	f.Add(saved(f, s))
	drawn(f, s, randomGames(rand.New(rand.NewPCG(2, 2)), 20, 9).window(3, 20), 400)
	f.Add(saved(f, s))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := subject{"hanse", nil}.sampler(t, 1)
		if load(s, data) != nil {
			return
		}
		state, again := saved(t, s), subject{"hanse", nil}.sampler(t, 2)
		if err := load(again, state); err != nil || !bytes.Equal(saved(t, again), state) {
			t.Fatalf("what was loaded is not saved alike: %v", err)
		}
	})
}
