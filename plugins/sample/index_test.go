package sample

import (
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// testGame is a game of a testWindow.
type testGame struct {
	info  stage.GameInfo // without Age
	rows  []stage.RowInfo
	stats []stage.RowStats
}

// testGames is a row of games, of which a testWindow shows a part.
type testGames struct {
	games        []testGame
	endRow       []int    // rows up to and with each game
	endWeight    []uint64 // weights
	rowAccesses  int      // calls of Row and Stats
	gameAccesses int      // calls of Game
}

// add appends a game and fills in what follows from its rows.
func (l *testGames) add(g testGame) {
	g.info.NumRows, g.info.Weight = len(g.rows), 0
	for _, row := range g.rows {
		g.info.Weight += row.Weight
	}
	rows, weight := len(g.rows), g.info.Weight
	if n := len(l.games); n > 0 {
		rows, weight = rows+l.endRow[n-1], weight+l.endWeight[n-1]
	}
	l.games = append(l.games, g)
	l.endRow, l.endWeight = append(l.endRow, rows), append(l.endWeight, weight)
}

// window returns games lo..hi-1.
func (l *testGames) window(lo, hi int) *testWindow { return &testWindow{l, lo, hi} }

// testWindow is a stage.Index over games lo..hi-1 of a row of games.
type testWindow struct {
	*testGames
	lo, hi int
}

var _ stage.Index = (*testWindow)(nil)

func (w *testWindow) NumGames() int { return w.hi - w.lo }

// before returns the rows and weights of the games that are older.
func (w *testWindow) before() (rows int, weight uint64) {
	if w.lo == 0 {
		return 0, 0
	}
	return w.endRow[w.lo-1], w.endWeight[w.lo-1]
}

func (w *testWindow) NumRows() int {
	if w.lo == w.hi {
		return 0
	}
	rows, _ := w.before()
	return w.endRow[w.hi-1] - rows
}

func (w *testWindow) WeightSum() uint64 {
	if w.lo == w.hi {
		return 0
	}
	_, weight := w.before()
	return w.endWeight[w.hi-1] - weight
}

func (w *testWindow) Game(i int) stage.GameInfo {
	w.gameAccesses++
	g := w.games[w.lo+i].info
	g.Age = w.NumGames() - 1 - i
	return g
}

func (w *testWindow) Row(i, k int) stage.RowInfo {
	w.rowAccesses++
	return w.games[w.lo+i].rows[k]
}

func (w *testWindow) Stats(i, k int) stage.RowStats {
	w.rowAccesses++
	return w.games[w.lo+i].stats[k]
}

func (w *testWindow) RowAt(u uint64) (uint64, int32) {
	_, weight := w.before()
	u += weight
	i := sort.Search(len(w.games), func(i int) bool { return w.endWeight[i] > u })
	g := &w.games[i]
	u -= w.endWeight[i] - g.info.Weight
	for _, row := range g.rows {
		if u < row.Weight {
			return g.info.Seq, row.Ply
		}
		u -= row.Weight
	}
	panic("no row covers u")
}

func (w *testWindow) NthRow(n int) (uint64, int32) {
	rows, _ := w.before()
	n += rows
	i := sort.SearchInts(w.endRow, n+1)
	g := &w.games[i]
	return g.info.Seq, g.rows[n-(w.endRow[i]-len(g.rows))].Ply
}

func (w *testWindow) Find(seq uint64) (int, bool) {
	games := w.games[w.lo:w.hi]
	i := sort.Search(len(games), func(i int) bool { return games[i].info.Seq >= seq })
	return i, i < len(games) && games[i].info.Seq == seq
}

// fresh returns a generator with a seed of its own in each run, which it logs.
func fresh(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// randomGame returns a game of 1 to maxPlies plies with at least one row, whose
// weights and statistics are of very different sizes.
func randomGame(rng *rand.Rand, seq uint64, maxPlies int) testGame {
	g := testGame{info: stage.GameInfo{Seq: seq, Plies: 1 + rng.IntN(maxPlies)}}
	for i := range g.info.ID {
		g.info.ID[i] = byte(rng.Uint32())
	}
	for len(g.rows) == 0 {
		for ply := range g.info.Plies {
			if rng.IntN(3) == 0 {
				continue
			}
			g.rows = append(g.rows, stage.RowInfo{Ply: int32(ply), Weight: 1 + rng.Uint64N(1<<(2+rng.IntN(17)))})
			g.stats = append(g.stats, stage.RowStats{QDiff: float32(rng.IntN(5)) / 4 * rng.Float32(), KLD: float32(rng.IntN(4)) * rng.Float32(), Visits: 800})
		}
	}
	return g
}

// randomGames returns n games whose numbers have gaps here and there.
func randomGames(rng *rand.Rand, n, maxPlies int) *testGames {
	l, seq := &testGames{}, rng.Uint64N(1000)
	for range n {
		l.add(randomGame(rng, seq, maxPlies))
		seq += 1 + rng.Uint64N(2)
	}
	return l
}

// plain returns a window of one game of the given number whose row k has weight
// 1 and the given statistics, and lies at ply k.
func plain(seq uint64, stats ...stage.RowStats) *testWindow {
	g := testGame{info: stage.GameInfo{Seq: seq, Plies: len(stats)}, stats: stats}
	for k := range stats {
		g.rows = append(g.rows, stage.RowInfo{Ply: int32(k), Weight: stage.WeightUnit})
	}
	l := &testGames{}
	l.add(g)
	return l.window(0, 1)
}
