package selfplay

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// opened returns how many unsearched plies a game begins with.
func opened(g *record.Game) int {
	n := 0
	for n < len(g.Plies) && g.Plies[n].Visits == 0 {
		n++
	}
	return n
}

func forking(f Fork) func(*WorkerConfig) {
	return func(c *WorkerConfig) {
		c.Game.MaxPlies, c.Game.Fork = 60, f
		c.Game.Search.Simulations = 5
	}
}

func TestForksFollowTheirParent(t *testing.T) {
	games, stats := play(t, 120, forking(Fork{Early: 0.2, EarlyPlies: 4, Late: 0.3}))
	forks, early := 0, 0
	for ordinal, g := range games {
		parent, serial, side, ok := BranchOrdinal(ordinal)
		if !ok {
			continue
		}
		forks++
		p, n := games[parent], opened(g)
		if side || serial != 0 || p == nil || g.Start != p.Start || n < 1 || n > len(p.Plies) || g.NetID != p.NetID {
			t.Fatalf("fork %#x: %d opening plies", ordinal, n)
		}
		for i := range n {
			if same := g.Plies[i].Move == p.Plies[i].Move; same != (i < n-1) || g.Plies[i].Kind != record.PolicyNone || g.Plies[i].Weight != 0 {
				t.Fatalf("fork %#x leaves its parent at %d of %d plies", ordinal, i, n)
			}
		}
		if g.ID != record.GameID(7, 0, ordinal) || g.Plies[n].Weight != 1 || g.Plies[n].Flags&record.FullSearch == 0 {
			t.Fatalf("fork %#x: %+v", ordinal, g.Plies[n])
		}
		if n <= 12 {
			early++
		}
	}
	// A fork follows with probability 0.2 + 0.8*0.3 = 0.44: 52.8 of 120, deviation 5.4.
	if forks < 31 || forks > 75 || stats.Forks.Load() != uint64(forks) || len(games) != 120+forks {
		t.Errorf("%d forks of 120 games, %d counted, %d games", forks, stats.Forks.Load(), len(games))
	}
	if early < forks/4 {
		t.Errorf("only %d of %d forks are early", early, forks)
	}
	checkForkStats(t, stats, len(games))
}

func checkForkStats(t *testing.T, s *Stats, games int) {
	t.Helper()
	ends := uint64(0)
	for i := range s.Ends {
		ends += s.Ends[i].Load()
	}
	results := s.WhiteWins.Load() + s.Draws.Load() + s.BlackWins.Load()
	if n := uint64(games); s.GamesStarted.Load() != n || s.GamesFinished.Load() != n || ends != results || results+s.SidePositions.Load() != n {
		t.Errorf("%d records: started %d, finished %d, ends %d, results %d, side positions %d", games,
			s.GamesStarted.Load(), s.GamesFinished.Load(), ends, results, s.SidePositions.Load())
	}
}

func TestSidePositions(t *testing.T) {
	games, stats := play(t, 40, func(c *WorkerConfig) {
		forking(Fork{SidePositions: 0.1})(c)
		c.Game.PlayoutCap = PlayoutCap{FullProbability: 0.3, CheapSimulations: 2}
	})
	sides, plies, aborted := 0, 0, 0
	for ordinal, g := range games {
		parent, _, side, ok := BranchOrdinal(ordinal)
		if !ok {
			plies += len(g.Plies)
			continue
		}
		sides++
		last := &g.Plies[len(g.Plies)-1]
		if !side || opened(g) != len(g.Plies)-1 || last.Flags&record.FullSearch == 0 || last.Weight != 1 || last.Visits < 6 || last.Played != last.Best {
			t.Fatalf("side position %#x: %+v", ordinal, last)
		}
		if g.End == record.EndAborted {
			aborted++
		} else if g.End == record.EndMaxPlies || g.End == record.EndResign {
			t.Errorf("side position %#x ended by %v", ordinal, g.End)
		}
		checkPlanes(t, games[parent], g)
	}
	mean := 0.1 * float64(plies) // deviation below sqrt(mean); moves that end the game are left out
	if n := float64(sides); n < 0.7*mean || n > 1.3*mean || aborted < sides*8/10 {
		t.Errorf("%d side positions of %d plies, %d without a result", sides, plies, aborted)
	}
	if stats.SidePositions.Load() != uint64(sides) {
		t.Errorf("%d counted, %d came", stats.SidePositions.Load(), sides)
	}
	checkForkStats(t, stats, len(games))
}

// checkPlanes says whether side's row is what the whole line of its parent would
// have given: its record has a part of the line only.
func checkPlanes(t *testing.T, parent, side *record.Game) {
	t.Helper()
	short := newLine(t, side)
	for i := range len(side.Plies) - 1 {
		short.Push(side.Plies[i].Move)
	}
	n := len(side.Plies) - 2 // the moves that side has of its parent
	whole := newLine(t, parent)
	for i := range parent.Plies {
		if i >= n && slices.EqualFunc(parent.Plies[i-n:i], side.Plies[:n], func(a, b record.Ply) bool { return a.Move == b.Move }) {
			branch := chess.NewHistory(*whole.At(0))
			branch.CopyFrom(whole)
			if move := side.Plies[n].Move; legal(branch, move) {
				branch.Push(move)
				if sameInput(branch, short) {
					return
				}
			}
		}
		whole.Push(parent.Plies[i].Move)
	}
	t.Errorf("side position %#x is nowhere in its parent", side.Ordinal)
}

func legal(h *chess.History, m chess.Move) bool {
	var l chess.MoveList
	h.Board().GenerateMoves(&l)
	return l.Index(m) >= 0
}

// sameInput reports whether the newest positions of two lines look alike.
func sameInput(a, b *chess.History) bool {
	var masks [2][encoding.NumMasks]uint64
	var scalars [2]encoding.Scalars
	encoding.Encode(a, &masks[0], &scalars[0])
	encoding.Encode(b, &masks[1], &scalars[1])
	return masks[0] == masks[1] && scalars[0] == scalars[1]
}

// Nobody resigns a side position, nor does it test the rule.
func TestSidePositionsAreNotResigned(t *testing.T) {
	rule := Resign{Enabled: true, Q: -0.05, Plies: 1, PlayThrough: 0.5}
	games, stats := play(t, 30, func(c *WorkerConfig) {
		forking(Fork{SidePositions: 0.5})(c)
		c.Game.Resign, c.Resign = rule, NewResignRule(rule)
	})
	sides, tested := 0, uint64(0)
	for ordinal, g := range games {
		if _, _, side, _ := BranchOrdinal(ordinal); !side {
			if g.Flags&record.ResignDisabled != 0 {
				tested++
			}
			continue
		}
		sides++
		if g.Flags != 0 || g.Plies[len(g.Plies)-1].Flags&record.PlayedOn != 0 || g.End == record.EndResign {
			t.Errorf("side position %#x: flags %b, %v", ordinal, g.Flags, g.End)
		}
	}
	if n := stats.ResignsPlayedOn.Load(); sides < 50 || n == 0 || n > tested {
		t.Errorf("%d side positions, %d of %d games tested the rule", sides, n, tested)
	}
}

func TestShortenKeepsTheInput(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var l chess.MoveList
	shorter := 0
	for range 60 {
		h := chess.NewHistory(chess.StartBoard())
		for range 60 {
			h.Board().GenerateMoves(&l)
			if l.N == 0 {
				break
			}
			m := l.Moves[rng.IntN(l.N)]
			if k := h.Len(); k > 3 && rng.IntN(3) == 0 { // shuffle back, for repetitions
				if back := h.MoveAt(k - 3); l.Index(chess.NewMove(back.To(), back.From(), chess.NoPiece)) >= 0 {
					m = chess.NewMove(back.To(), back.From(), chess.NoPiece)
				}
			}
			h.Push(m)
			s := chess.NewHistory(chess.StartBoard())
			s.CopyFrom(h)
			shorten(s)
			board, err := chess.ParseFEN(s.At(0).FEN()) // as a record keeps it
			if err != nil {
				t.Fatal(err)
			}
			again := chess.NewHistory(board)
			for i := range s.Len() - 1 {
				again.Push(s.MoveAt(i))
			}
			if s.Len() < h.Len() {
				shorter++
			}
			if !sameInput(h, s) || !sameInput(h, again) || h.Repetitions(h.Len()-1) != again.Repetitions(again.Len()-1) {
				t.Fatalf("%d of %d boards change the input of %s", s.Len(), h.Len(), h.Board().FEN())
			}
		}
	}
	if shorter < 100 {
		t.Errorf("only %d lines became shorter", shorter)
	}
}

// What branches off a game depends on the game alone.
func TestBranchesDoNotDependOnTheGamesBeside(t *testing.T) {
	f := Fork{Early: 0.3, Late: 0.3, SidePositions: 0.05}
	base, _ := play(t, 20, forking(f))
	if len(base) < 40 {
		t.Fatalf("%d records", len(base))
	}
	for name, change := range map[string]func(*WorkerConfig){
		"one game at a time": func(c *WorkerConfig) { c.Parallel = 1 },
		"another lock step":  func(c *WorkerConfig) { c.Parallel = 5 },
		"no cache":           func(c *WorkerConfig) { c.CacheEntries = 0 },
		"two pools":          func(c *WorkerConfig) { c.Pools = 2 },
	} {
		games, _ := play(t, 20, func(c *WorkerConfig) {
			forking(f)(c)
			change(c)
		})
		sameGames(t, name, base, games)
	}
	alone, _ := play(t, 20, forking(Fork{}))
	for ordinal, g := range alone {
		if moves(g) != moves(base[ordinal]) {
			t.Errorf("game %d differs for what branched off it", ordinal)
		}
	}
}

func TestBranchOrdinal(t *testing.T) {
	for _, tc := range []struct {
		ordinal, parent uint64
		serial          int
		side, ok        bool
	}{
		{0, 0, 0, false, false}, {1 << 47, 0, 0, false, false},
		{1<<63 | 9, 9, 0, false, true}, {3<<62 | 5<<48 | 77, 77, 5, true, true},
	} {
		if parent, serial, side, ok := BranchOrdinal(tc.ordinal); parent != tc.parent || serial != tc.serial || side != tc.side || ok != tc.ok {
			t.Errorf("%#x: %d %d %v %v", tc.ordinal, parent, serial, side, ok)
		}
	}
}
