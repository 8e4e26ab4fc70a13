package prepare

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/record"
)

// The kinds of selectors.
const (
	SelectAll         = "all"          // every row
	SelectFinal       = "final"        // the last row
	SelectPenultimate = "penultimate"  // the one before it
	SelectOnePerGame  = "one-per-game" // one at random
	selectEvery       = "every-"       // every-K: each K-th
)

// Selector says which positions of a game are rows. The rows to choose from are
// those that are meant for training already (a policy and a weight above 0);
// there is none after the last move, so that "final" is the position of the last
// move.
type Selector struct {
	Kind string
	K    int    // of every-K, from 1
	Seed uint64 // of one-per-game, and of where every-K begins
}

// ParseSelector reads all, final, penultimate, one-per-game or every-K.
func ParseSelector(text string, seed uint64) (Selector, error) {
	switch text {
	case SelectAll, SelectFinal, SelectPenultimate, SelectOnePerGame:
		return Selector{Kind: text, Seed: seed}, nil
	}
	if digits, ok := strings.CutPrefix(text, selectEvery); ok {
		if k, err := strconv.Atoi(digits); err == nil && k >= 1 && k <= 10000 && strconv.Itoa(k) == digits {
			return Selector{Kind: selectEvery, K: k, Seed: seed}, nil
		}
	}
	return Selector{}, fmt.Errorf("position selector %q: want %s, %s, %s, %sK (K from 1 to 10000) or %s",
		text, SelectAll, SelectFinal, SelectPenultimate, selectEvery, SelectOnePerGame)
}

// String is the text that ParseSelector reads.
func (s Selector) String() string {
	if s.Kind == selectEvery {
		return selectEvery + strconv.Itoa(s.K)
	}
	return s.Kind
}

// Select returns g with weight 0 at all rows that are not chosen; the chosen
// ones keep theirs. g itself is returned, unchanged, where all are chosen, else a
// copy that shares policies with it. The choice depends on the selector and the
// game's id alone.
//
// Every-K takes the rows number b, b+K, b+2K, ... with b from 0 to K-1 at random:
// a fixed b would show one colour only where K is even.
func (s Selector) Select(g *record.Game) *record.Game {
	if s.Kind == SelectAll {
		return g
	}
	var rows []int
	for i := range g.Plies {
		if g.Plies[i].Trained() {
			rows = append(rows, i)
		}
	}
	chosen := s.choose(g.ID, len(rows))
	out := *g
	out.Plies = slices.Clone(g.Plies)
	for k, i := range rows {
		if !chosen(k) {
			out.Plies[i].Weight = 0
		}
	}
	return &out
}

// choose returns which of n rows are chosen, as a function of a row's number.
func (s Selector) choose(id [16]byte, n int) func(k int) bool {
	one := func(row int) func(int) bool { return func(k int) bool { return k == row } }
	switch {
	case n == 0:
		return one(-1)
	case s.Kind == SelectFinal:
		return one(n - 1)
	case s.Kind == SelectPenultimate:
		return one(n - 2)
	}
	rng := rand.New(rand.NewPCG(s.Seed^binary.LittleEndian.Uint64(id[:]), binary.LittleEndian.Uint64(id[8:])))
	if s.Kind == SelectOnePerGame {
		return one(rng.IntN(n))
	}
	begin := rng.IntN(max(s.K, 1))
	return func(k int) bool { return k%max(s.K, 1) == begin }
}
