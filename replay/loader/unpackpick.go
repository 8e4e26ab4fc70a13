package loader

import (
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/plugins/sample/chance"
)

// picker chooses positions of chunks. Its choice is a pure function of the
// seed, the chunk's key and its use: a restart chooses the same.
//
// By rate p each position has one uniform toss a pass, and use k takes those
// whose toss lies in the k-th slice of width p: the stretch from k*p to (k+1)*p
// of the line on which pass r lies from r to r+1. The slices tile the line, so
// that 1/p uses take every position once. A position of weight w has slices of
// width p*w.
//
// By count n, use k takes the places k*n to (k+1)*n of an endless row of random
// orders of all positions, one order a pass: again every position once a pass.
// With weights, the n places are drawn by weight, one of each n-th part of the
// sum, independently in each use.
type picker struct {
	seed  uint64
	rate  float64 // (0,1]; not looked at where count > 0
	count int
}

// pick appends the plies that use k of t takes to dst, ascending. A ply may come
// twice where a slice reaches into the next pass.
func (p *picker) pick(dst []int, t *positions, key uint64, use uint32) []int {
	if t.num == 0 {
		return dst
	}
	from := len(dst)
	switch {
	case p.count == 0:
		for k := range t.num {
			for range p.times(key, k, use, t.weightOf(k)) {
				dst = append(dst, t.ply(k))
			}
		}
		return dst
	case t.sums == nil:
		n := uint64(t.num)
		for place := uint64(use) * uint64(p.count); place < (uint64(use)+1)*uint64(p.count); place++ {
			k := chance.Permute(place%n, n, chance.Mix(p.seed^key, place/n))
			dst = append(dst, t.ply(int(k)))
		}
	default:
		for i := range p.count {
			u := (float64(i) + p.toss(key, uint64(use)*uint64(p.count)+uint64(i), 1)) / float64(p.count)
			k, _ := slices.BinarySearch(t.sums, math.Nextafter32(float32(u*t.Weight()), math.MaxFloat32))
			dst = append(dst, t.ply(min(k, t.num-1)))
		}
	}
	slices.Sort(dst[from:])
	return dst
}

// times returns how often use k of a chunk takes position i of weight w.
func (p *picker) times(key uint64, i int, use uint32, w float64) int {
	width, n := p.rate*w, 0
	if width == 1 {
		return 1
	}
	lo, hi := float64(use)*width, (float64(use)+1)*width
	for pass := math.Floor(lo); pass < hi; pass++ {
		if at := pass + p.toss(key, uint64(i), uint64(pass)+2); at >= lo && at < hi {
			n++
		}
	}
	return n
}

// toss returns the uniform number in [0, 1) of a position and a pass.
func (p *picker) toss(key, i, pass uint64) float64 {
	return float64(chance.Mix(chance.Mix(p.seed^key, i), pass)>>11) / (1 << 53)
}
