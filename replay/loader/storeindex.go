package loader

import (
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/record"
)

// positions lists a chunk's positions that are meant for training, and how much
// they weigh in sampling.
type positions struct {
	plies  []uint16  // ascending; nil = the first num plies
	num    int       //
	sums   []float32 // running sums of the weights; nil = all 1
	weight PositionWeight
}

// Weight returns the sum of the positions' sampling weights.
func (x *positions) Weight() float64 {
	if x.sums == nil {
		return float64(x.num)
	}
	return float64(x.sums[x.num-1])
}

// ply returns the ply of position k.
func (x *positions) ply(k int) int {
	if x.plies == nil {
		return k
	}
	return int(x.plies[k])
}

// weightOf returns the sampling weight of position k.
func (x *positions) weightOf(k int) float64 {
	switch {
	case x.sums == nil:
		return 1
	case k == 0:
		return float64(x.sums[0])
	}
	return float64(x.sums[k]) - float64(x.sums[k-1])
}

// indexer makes positions.
type indexer struct {
	positions
	sum float64
}

// add says that p, at ply, is the next position.
func (x *indexer) add(ply int, p *record.Ply) {
	x.plies = append(x.plies, uint16(ply))
	if x.weight.Enabled {
		x.sum += x.weight.Of(p)
		x.sums = append(x.sums, float32(x.sum))
	}
}

func (x *indexer) done() positions {
	x.num = len(x.plies)
	if x.num == 0 || int(x.plies[x.num-1]) == x.num-1 {
		x.plies = nil
	}
	x.plies, x.sums = slices.Clone(x.plies), slices.Clone(x.sums) // without the room that growing left
	return x.positions
}

// Of returns the sampling weight of a position: 1 unless enabled. What the
// position does not know (NaN, KLD 0) counts as no difference.
func (w PositionWeight) Of(p *record.Ply) float64 {
	if !w.Enabled {
		return 1
	}
	focus := chance.Focus{QWeight: w.QWeight, PolicyScale: w.PolicyScale, Alpha: w.Alpha, Beta: w.Beta, Gamma: w.Gamma, Tau: w.Tau}
	return focus.Of(math.Abs(float64(p.Best.Q)-float64(p.Orig.Q)), float64(p.KLD))
}

// Validate reports settings that give weights that are no finite numbers above 0.
func (w PositionWeight) Validate() error {
	if !w.Enabled {
		return nil
	}
	for _, f := range []struct {
		name     string
		v, least float64
	}{{"q_weight", w.QWeight, 0}, {"pol_scale", w.PolicyScale, 0}, {"alpha", w.Alpha, 0}, {"gamma", w.Gamma, 0},
		{"beta", w.Beta, 1e-6}, {"tau", w.Tau, 1e-6}} {
		if !(f.v >= f.least) || math.IsInf(f.v, 0) {
			return fmt.Errorf("position weight: %s is %v, want a finite number, at least %v", f.name, f.v, f.least)
		}
	}
	if w.QWeight+w.PolicyScale == 0 {
		return fmt.Errorf("position weight: q_weight and pol_scale are both 0: set one of them")
	}
	return nil
}
