package sample

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/plugins/stage/follow"
)

const hanseDoc = "takes games by a power of their length and then their positions in turn, each once before one comes again"

var hanseSettings = []stage.Setting{
	{Name: "by", Doc: "weight of a game: positions, their number, or weights, the sum of their weights", Text: true, Choices: []string{"positions", "weights"}, Default: "positions"},
	{Name: "gamma", Doc: "power of the game's weight: 1 = in proportion, 0 = all games alike", Min: 0, Max: 100, Default: "1"},
	{Name: "threshold", Doc: "a game's weight counts as at most this; 0 = no limit", Min: 0, Max: 1e6, Default: "0"},
}

// hanse is Hanse sampling as in lczero-training, over the window in memory. For
// each row a game is drawn evenly until one is accepted, with probability
// (weight/max)^gamma, where max is the largest weight of the window, or threshold
// if that is less. The game's k-th use takes the k-th of an endless row of random
// orders of its positions, one order a pass: every position once a pass.
//
// By positions, a row counts in the loss as its own weight says; by weights,
// where that has been used for the game, as its weight divided by the mean of
// its game's. With gamma 1 and no threshold both expect the gradient of the
// uniform sampler but for its scale.
//
// A row costs O(1) where games are of like length, and O(games) at worst: the
// heaviest game is always accepted.
type hanse struct {
	generator
	key      uint64 // of the orders
	uses     uses
	byWeight bool
	limit    float64 // of a game's weight; 0 = none
	gamma    float64

	window  follow.Window
	largest peak
}

func newHanse(v stage.Values) (stage.Sampler, error) {
	return function{&hanse{generator: newGenerator(), byWeight: v.Text("by") == "weights", limit: v.Number("threshold"), gamma: v.Number("gamma")}}, nil
}

func (h *hanse) Name() string { return "hanse" }

// seed begins the random sequence (seed, stream) and forgets all uses.
func (h *hanse) seed(seed, stream uint64) {
	h.generator.seed(seed, stream)
	h.key = chance.Mix(seed, stream)
	h.uses = uses{}
}

// weightOf returns a game's weight.
func (h *hanse) weightOf(g *stage.GameInfo) float64 {
	if h.byWeight {
		return float64(g.Weight) / stage.WeightUnit
	}
	return float64(g.NumRows)
}

// update takes the index in as it is now.
func (h *hanse) update(idx stage.Index) {
	n := idx.NumGames()
	_, kept := h.window.Follow(idx)
	if kept == 0 {
		h.largest = peak{}
	} else {
		h.largest.leave(idx.Game(0).Seq)
	}
	for i := kept; i < n; i++ {
		g := idx.Game(i)
		h.largest.enter(g.Seq, h.weightOf(&g))
	}
	h.uses.align(idx)
}

func (h *hanse) draw(idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	if idx.WeightSum() == 0 {
		return dst, ErrNoRows
	}
	h.update(idx)
	odds := chance.Hanse{Threshold: h.largest.max(), Gamma: h.gamma}
	if h.limit > 0 {
		odds.Threshold = min(odds.Threshold, h.limit)
	}
	for range n {
		i := h.rng.IntN(idx.NumGames())
		g := idx.Game(i)
		for !odds.Accept(h.rng, h.weightOf(&g)) {
			i = h.rng.IntN(idx.NumGames())
			g = idx.Game(i)
		}
		row := idx.Row(i, h.next(i, &g))
		weight := float64(row.Weight) / stage.WeightUnit
		if h.byWeight {
			weight = float64(row.Weight) * float64(g.NumRows) / float64(g.Weight)
		}
		dst = append(dst, stage.RowRef{Game: g.Seq, Ply: row.Ply, Weight: float32(weight)})
	}
	return dst, nil
}

// next returns the row that the next use of game i takes, and counts the use.
func (h *hanse) next(i int, g *stage.GameInfo) int {
	use, rows := uint64(h.uses.counts[i]), uint64(g.NumRows)
	h.uses.counts[i]++
	game := chance.Mix(binary.LittleEndian.Uint64(g.ID[:8]), binary.LittleEndian.Uint64(g.ID[8:]))
	return int(chance.Permute(use%rows, rows, chance.Mix(h.key^game, use/rows)))
}

// peak knows the largest weight of a sliding window: the games that no newer
// one outweighs, oldest first, so that weights fall.
type peak struct {
	seqs    []uint64
	weights []float64
	head    int
}

// enter adds the newest game.
func (p *peak) enter(seq uint64, weight float64) {
	n := len(p.weights)
	for n > p.head && p.weights[n-1] <= weight {
		n--
	}
	p.seqs, p.weights = append(p.seqs[:n], seq), append(p.weights[:n], weight)
}

// leave drops the games below seq.
func (p *peak) leave(seq uint64) {
	head := p.head
	for head < len(p.seqs) && p.seqs[head] < seq {
		head++
	}
	p.weights, _ = follow.Compact(p.weights, head)
	p.seqs, p.head = follow.Compact(p.seqs, head)
}

// max returns the largest weight of a window that holds a game.
func (p *peak) max() float64 { return p.weights[p.head] }

// uses counts how often each game of a window was used.
type uses struct {
	newest follow.Game // the last game of counts
	counts []uint32    // oldest first
}

// align makes the counts those of the games of idx, which holds a game: those of
// games that left are forgotten, new games have none. Another window than the
// one that was counted begins at 0.
func (u *uses) align(idx stage.Index) {
	n, known := idx.NumGames(), 0
	if len(u.counts) > 0 {
		if i, ok := u.newest.Find(idx); ok {
			known = i + 1
		}
	}
	if known > len(u.counts) { // the window grew at its old end
		u.counts = append(make([]uint32, known-len(u.counts), n), u.counts...)
	}
	u.counts = u.counts[len(u.counts)-known:]
	u.counts = append(u.counts, make([]uint32, n-known)...)
	newest := idx.Game(n - 1)
	u.newest = follow.Of(&newest)
}

// save appends the random generator, the key of the orders u64, the newest game's
// number u64 and its id, the number of games uvarint, and the uses of each uvarint,
// oldest first; little endian. It is about a byte a game.
func (h *hanse) save(b []byte) []byte {
	b = h.generator.save(b)
	b = binary.LittleEndian.AppendUint64(b, h.key)
	b = binary.LittleEndian.AppendUint64(b, h.uses.newest.Seq)
	b = append(b, h.uses.newest.ID[:]...)
	b = binary.AppendUvarint(b, uint64(len(h.uses.counts)))
	for _, n := range h.uses.counts {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func (h *hanse) load(data []byte) error {
	data, err := h.cut(data)
	if err != nil {
		return err
	}
	const fixed = 8 + 8 + 16
	if len(data) < fixed {
		return errors.New("it is cut off after the random generator")
	}
	key := binary.LittleEndian.Uint64(data)
	fresh := uses{newest: follow.Game{Seq: binary.LittleEndian.Uint64(data[8:]), ID: [16]byte(data[16:])}}
	data = data[fixed:]
	games, n := binary.Uvarint(data)
	if n <= 0 || games > uint64(len(data)-n) {
		return errors.New("its number of games is damaged")
	}
	data = data[n:]
	fresh.counts = make([]uint32, games) // at least a byte each is there
	for i := range fresh.counts {
		count, n := binary.Uvarint(data)
		if n <= 0 || count > math.MaxUint32 {
			return fmt.Errorf("the uses of game %d of %d are damaged", i, games)
		}
		fresh.counts[i], data = uint32(count), data[n:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%d bytes after the last of %d games", len(data), games)
	}
	h.key, h.uses = key, fresh
	return nil
}
