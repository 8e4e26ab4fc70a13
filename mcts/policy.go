package mcts

import (
	"math"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
)

// RootPolicy decides which root move each simulation visits. It replaces PUCT
// at the root only.
type RootPolicy interface {
	// Begin is called once a search, as soon as the root has priors.
	Begin(root RootView, rng *rand.Rand)
	// Select returns the ordinal of the move that the next simulation visits.
	Select(root RootView) int
}

// RootView shows the root to a RootPolicy. Moves are in generation order;
// values are from the view of the side to move.
type RootView struct{ s *Search }

// Len returns the number of legal moves.
func (r RootView) Len() int { return int(r.s.t.nodes[0].num) }

// Move returns the i-th legal move.
func (r RootView) Move(i int) chess.Move { return r.edge(i).move }

// Prior returns the i-th move's prior, with noise if the search has it.
func (r RootView) Prior(i int) float32 { return r.s.rootPrior[i] }

// Visits returns the i-th move's finished visits.
func (r RootView) Visits(i int) int { return int(r.edge(i).n) }

// Waiting returns the i-th move's visits that wait for evaluation.
func (r RootView) Waiting(i int) int { return int(r.edge(i).vl) }

// Q returns the i-th move's value; ok is false while it has no visits.
func (r RootView) Q(i int) (q float32, ok bool) { return r.edge(i).q, r.edge(i).n > 0 }

// RawQ returns the network's value of the root.
func (r RootView) RawQ() float32 { return r.s.t.nodes[0].rawQ }

// Remaining returns the visits still to be given out, or -1 without a limit.
func (r RootView) Remaining() int {
	if r.s.target == unlimited {
		return -1
	}
	n := &r.s.t.nodes[0]
	return int(r.s.target) - int(n.n) - int(n.vl)
}

func (r RootView) edge(i int) *edge { return &r.s.t.edgesOf(&r.s.t.nodes[0])[i] }

// SampleVisits returns an ordinal drawn with probability N^(1/temperature);
// temperature 0 takes the most visited, the first of equals. Visits of all
// zeros give a uniform choice.
func SampleVisits(visits []uint32, temperature float64, rng *rand.Rand) int {
	top := 0
	for i, n := range visits {
		if n > visits[top] {
			top = i
		}
	}
	if visits[top] == 0 {
		return rng.IntN(len(visits))
	}
	if temperature <= 0 {
		return top
	}
	weight := func(n uint32) float64 { // relative to the largest, so that it cannot overflow
		return math.Pow(float64(n)/float64(visits[top]), 1/temperature)
	}
	sum := 0.0
	for _, n := range visits {
		sum += weight(n)
	}
	x := rng.Float64() * sum
	for i, n := range visits {
		if n == 0 {
			continue
		}
		if x -= weight(n); x < 0 {
			return i
		}
	}
	return top
}

// SampleWeights returns an index drawn with probability proportional to
// weights^(1/temperature), temperature > 0, or -1 where no weight is above 0. It
// overwrites the weights.
func SampleWeights(weights []float64, temperature float64, rng *rand.Rand) int {
	top := 0.0
	for _, w := range weights {
		top = max(top, w)
	}
	if !(top > 0) {
		return -1
	}
	sum := 0.0
	for i, w := range weights { // relative to the largest, so that it cannot overflow
		weights[i] = math.Pow(w/top, 1/temperature)
		sum += weights[i]
	}
	x, last := rng.Float64()*sum, -1
	for i, w := range weights {
		if w == 0 {
			continue
		}
		if x -= w; x < 0 {
			return i
		}
		last = i
	}
	return last
}
