package run

import (
	"slices"
	"sort"
)

// Ordinals is a set of game numbers, kept as disjoint ranges [from, to) in
// ascending order. A run's set is nearly one range, so it stays small.
type Ordinals struct {
	Ranges [][2]uint64 `json:"ranges"`
}

// find returns the first range that ends after n.
func (o *Ordinals) find(n uint64) int {
	return sort.Search(len(o.Ranges), func(i int) bool { return o.Ranges[i][1] > n })
}

func (o *Ordinals) Has(n uint64) bool {
	i := o.find(n)
	return i < len(o.Ranges) && o.Ranges[i][0] <= n
}

// Free is the lowest number from n on that is not in the set.
func (o *Ordinals) Free(n uint64) uint64 {
	for i := o.find(n); i < len(o.Ranges) && o.Ranges[i][0] <= n; i++ {
		n = o.Ranges[i][1]
	}
	return n
}

// Add puts n into the set and says whether it was new.
func (o *Ordinals) Add(n uint64) bool {
	if o.Has(n) {
		return false
	}
	i := o.find(n)
	right := i < len(o.Ranges) && o.Ranges[i][0] == n+1
	switch left := i > 0 && o.Ranges[i-1][1] == n; {
	case left && right:
		o.Ranges[i-1][1] = o.Ranges[i][1]
		o.Ranges = slices.Delete(o.Ranges, i, i+1)
	case left:
		o.Ranges[i-1][1]++
	case right:
		o.Ranges[i][0]--
	default:
		o.Ranges = slices.Insert(o.Ranges, i, [2]uint64{n, n + 1})
	}
	return true
}

func (o *Ordinals) Len() int {
	n := 0
	for _, r := range o.Ranges {
		n += int(r[1] - r[0])
	}
	return n
}

func (o *Ordinals) Clone() Ordinals { return Ordinals{Ranges: slices.Clone(o.Ranges)} }
