package sample

import (
	"errors"
	"math/bits"
	"sort"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/plugins/stage/follow"
)

// errWeights says that integer weights do not fit.
var errWeights = errors.New("the weights of the window's rows, times what the sampler gives them, add up to 2^64 or more: use smaller ones")

// table draws rows of a sliding window in proportion to integer weights of its
// own, in O(log n). Games enter at one end and leave at the other and their
// weights stay, so running sums do what a tree would do otherwise: they go on
// over all games that ever were in the window, modulo 2^64, and only differences
// within the window are looked at.
type table struct {
	// weigh returns the weight of row k of game i, 0 = never drawn. It is a pure
	// function of the game, the row and its statistics, but not of the game's age.
	weigh func(idx stage.Index, g *stage.GameInfo, i, k int) uint64

	window follow.Window
	sums   []rowSums // of the games from oldest on
	oldest int
	end    uint64 // sum over all games that ever entered, modulo 2^64
	total  uint64 // of the window
}

// rowSums holds the running weight of one game's rows.
type rowSums struct {
	start  uint64   // sum over all games that entered before it, modulo 2^64
	weight uint64   // of its rows
	rows   []uint64 // up to and with each row
}

// update takes the index in as it is now. On error the table is empty.
func (t *table) update(idx stage.Index) error {
	gone, kept := t.window.Follow(idx)
	for _, s := range t.sums[t.oldest : t.oldest+gone] {
		t.total -= s.weight
	}
	t.sums, t.oldest = follow.Compact(t.sums, t.oldest+gone)
	for i := kept; i < idx.NumGames(); i++ {
		if err := t.enter(idx, i); err != nil {
			*t = table{weigh: t.weigh}
			return err
		}
	}
	return nil
}

// enter adds game i of idx as the newest.
func (t *table) enter(idx stage.Index, i int) error {
	g := idx.Game(i)
	s := rowSums{start: t.end, rows: make([]uint64, g.NumRows)}
	var carry, over uint64
	for k := range s.rows {
		s.weight, carry = bits.Add64(s.weight, t.weigh(idx, &g, i, k), 0)
		over |= carry
		s.rows[k] = s.weight
	}
	t.total, carry = bits.Add64(t.total, s.weight, 0)
	if over|carry != 0 {
		return errWeights
	}
	t.end += s.weight
	t.sums = append(t.sums, s)
	return nil
}

// at returns the row that covers u, 0 <= u < total: row k of game i.
func (t *table) at(u uint64) (i, k int) {
	sums := t.sums[t.oldest:]
	first := sums[0].start
	i = sort.Search(len(sums), func(i int) bool { return sums[i].start-first+sums[i].weight > u })
	s := &sums[i]
	u -= s.start - first
	return i, sort.Search(len(s.rows), func(k int) bool { return s.rows[k] > u })
}

// weightAt returns the weight of row k of game i.
func (t *table) weightAt(i, k int) uint64 {
	rows := t.sums[t.oldest+i].rows
	if k == 0 {
		return rows[0]
	}
	return rows[k] - rows[k-1]
}

// focusBits are the bits by which weights are finer than stage.WeightUnit where
// a row's weight is multiplied by a factor.
const focusBits = 12

// scaled returns weight * factor in 1/(WeightUnit << focusBits), at least 1 and
// at most 2^62: a row that is in the window can be drawn. The factor is >= 0.
func scaled(weight uint64, factor float64) uint64 {
	x := float64(float64(weight)*factor) * (1 << focusBits)
	return max(1, uint64(min(x+0.5, 1<<62)))
}
