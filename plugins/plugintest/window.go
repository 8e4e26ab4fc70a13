package plugintest

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Window is a stage.Index of made-up games, oldest first: their lengths, rows,
// weights and statistics are random, the final position is a row in most of
// them, and their numbers have gaps. It does not change; Slide makes the next
// one.
type Window struct {
	games   []windowGame
	rows    []int    // rows before game i, and of all at the end
	weights []uint64 // weight before game i, and of all at the end
}

var _ stage.Index = (*Window)(nil)

// windowGame is one game of a Window.
type windowGame struct {
	info  stage.GameInfo // without Age
	rows  []stage.RowInfo
	stats []stage.RowStats
}

// NewWindow returns a window of numGames games; 0 makes an empty one.
func NewWindow(rng *rand.Rand, numGames int) *Window {
	return new(Window).Slide(rng, 0, numGames)
}

// Slide returns the window after the drop oldest games left and add new ones
// came.
func (w *Window) Slide(rng *rand.Rand, drop, add int) *Window {
	next := &Window{games: slices.Clone(w.games[drop:])}
	seq := uint64(0)
	if n := len(w.games); n > 0 {
		seq = w.games[n-1].info.Seq + 1
	}
	for range add {
		if rng.IntN(8) == 0 {
			seq += 1 + rng.Uint64N(5) // games without rows have no place in an index
		}
		next.games = append(next.games, randomWindowGame(rng, seq))
		seq++
	}
	rows, weight := 0, uint64(0)
	for i := range next.games {
		next.rows, next.weights = append(next.rows, rows), append(next.weights, weight)
		rows += len(next.games[i].rows)
		weight += next.games[i].info.Weight
	}
	next.rows, next.weights = append(next.rows, rows), append(next.weights, weight)
	return next
}

// randomWindowGame makes up a game of 1 to 160 plies with at least one row.
func randomWindowGame(rng *rand.Rand, seq uint64) windowGame {
	var id [16]byte
	binary.LittleEndian.PutUint64(id[:], rng.Uint64())
	binary.LittleEndian.PutUint64(id[8:], seq)
	plies := 1 + rng.IntN(160)
	g := windowGame{info: stage.GameInfo{Seq: seq, ID: id, Ordinal: rng.Uint64() >> 32, Plies: plies}}
	share := 1 + rng.IntN(4)
	for ply := range plies {
		last := ply == plies-1
		if rng.IntN(4) < share || last && (len(g.rows) == 0 || rng.IntN(4) > 0) {
			g.add(rng, int32(ply))
		}
	}
	g.info.NumRows = len(g.rows)
	return g
}

// add makes ply a row.
func (g *windowGame) add(rng *rand.Rand, ply int32) {
	weight := uint64(stage.WeightUnit)
	switch rng.IntN(4) {
	case 0:
		weight = 1 + rng.Uint64N(4*stage.WeightUnit)
	case 1:
		weight = 1 + rng.Uint64N(8)
	}
	var s stage.RowStats
	if rng.IntN(8) > 0 { // else nothing is known
		s = stage.RowStats{QDiff: 2 * rng.Float32() * rng.Float32(), KLD: 3 * rng.Float32() * rng.Float32(), Visits: 1 + rng.Uint32N(1600)}
	}
	g.rows = append(g.rows, stage.RowInfo{Ply: ply, Weight: weight})
	g.stats = append(g.stats, s)
	g.info.Weight += weight
}

// NumGames returns the number of games.
func (w *Window) NumGames() int { return len(w.games) }

// NumRows returns the number of rows.
func (w *Window) NumRows() int { return w.rows[len(w.games)] }

// WeightSum returns the sum of the rows' weights.
func (w *Window) WeightSum() uint64 { return w.weights[len(w.games)] }

// Game describes game i, 0 = oldest.
func (w *Window) Game(i int) stage.GameInfo {
	info := w.games[i].info
	info.Age = len(w.games) - 1 - i
	return info
}

// Row describes the k-th row of game i.
func (w *Window) Row(i, k int) stage.RowInfo { return w.games[i].rows[k] }

// Stats says how the search of that row went.
func (w *Window) Stats(i, k int) stage.RowStats { return w.games[i].stats[k] }

// RowAt returns the row that covers u, 0 <= u < WeightSum().
func (w *Window) RowAt(u uint64) (game uint64, ply int32) {
	i := sort.Search(len(w.games), func(i int) bool { return w.weights[i+1] > u })
	u -= w.weights[i]
	for _, r := range w.games[i].rows {
		if u < r.Weight {
			return w.games[i].info.Seq, r.Ply
		}
		u -= r.Weight
	}
	panic("a weight beyond the sum of all")
}

// NthRow returns row n of the window, 0 <= n < NumRows(), oldest game first.
func (w *Window) NthRow(n int) (game uint64, ply int32) {
	i := sort.Search(len(w.games), func(i int) bool { return w.rows[i+1] > n })
	return w.games[i].info.Seq, w.games[i].rows[n-w.rows[i]].Ply
}

// Find returns the position of the game with the given number.
func (w *Window) Find(game uint64) (i int, ok bool) {
	return slices.BinarySearchFunc(w.games, game, func(g windowGame, seq uint64) int { return cmp.Compare(g.info.Seq, seq) })
}

// Has says whether a row is in the window.
func (w *Window) Has(game uint64, ply int32) bool {
	i, ok := w.Find(game)
	if !ok {
		return false
	}
	_, ok = slices.BinarySearchFunc(w.games[i].rows, ply, func(r stage.RowInfo, ply int32) int { return cmp.Compare(r.Ply, ply) })
	return ok
}
