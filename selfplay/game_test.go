package selfplay

import (
	"context"
	"math"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// play returns the games of one worker, by ordinal and valid, and its stats.
func play(t *testing.T, games uint64, change func(*WorkerConfig)) (map[uint64]*record.Game, *Stats) {
	t.Helper()
	sink := new(collector)
	cfg := worker(sink, NewTickets(0, games))
	change(&cfg)
	mustRun(t, cfg)
	return sink.byOrdinal(t), cfg.Stats
}

// from sets one start position.
func from(t *testing.T, c *WorkerConfig, fen string) {
	t.Helper()
	openings, err := NewOpenings([]Start{{Board: chesstest.Board(t, fen), Weight: 1}}, OrderRandom, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Game.Openings = openings
}

func TestRecordHoldsWhatTheSearchFound(t *testing.T) {
	games, _ := play(t, 6, func(c *WorkerConfig) { c.Game.Search.Simulations = 20 })
	unvisited := 0
	for _, g := range games {
		if g.ID != record.GameID(7, 0, g.Ordinal) || g.Seed != 7 || g.NetID != "hash" || g.End == record.EndUnknown || g.Start != "" {
			t.Fatalf("header %+v", g)
		}
		for i := range g.Plies {
			p := &g.Plies[i]
			sum := uint32(0)
			for _, n := range p.Counts {
				sum += n
			}
			if sum != p.Visits-1 || p.Visits < 21 || p.Kind != record.PolicyCounts || p.Weight != 1 || p.KLD <= 0 || p.Flags&record.FullSearch == 0 {
				t.Fatalf("ply %d: %+v", i, p)
			}
			for _, v := range []encoding.QDM{p.Root, p.Best, p.Orig} {
				if math.IsNaN(float64(v.Q + v.D + v.M)) {
					t.Fatalf("ply %d: an unknown value in %+v", i, p)
				}
			}
			if math.IsNaN(float64(p.Played.Q)) {
				unvisited++
			}
		}
	}
	if unvisited == 0 {
		t.Error("exploration never took an unvisited move")
	}
}

func TestMaxPliesIsAFlaggedDraw(t *testing.T) {
	games, stats := play(t, 10, func(c *WorkerConfig) { c.Game.MaxPlies = 12 })
	for _, g := range games {
		if g.End != record.EndMaxPlies {
			continue
		}
		if g.WhiteResult != 0 || len(g.Plies) != 12 || g.Flags&record.MaxPliesHit == 0 {
			t.Errorf("%+v", g)
		}
		for i := range g.Plies {
			if g.Plies[i].Flags&record.Adjudicated == 0 {
				t.Errorf("ply %d is not flagged", i)
			}
		}
	}
	if stats.Ends[record.EndMaxPlies].Load() < 5 {
		t.Errorf("only %d games reached the limit", stats.Ends[record.EndMaxPlies].Load())
	}
}

// TestMaxPliesMaterial: the verdict decides a game that is cut, and as many games end after white's move as after black's.
func TestMaxPliesMaterial(t *testing.T) {
	games, _ := play(t, 60, func(c *WorkerConfig) { c.Game.MaxPlies, c.Game.MaxPliesMaterial = 25, 2 })
	results, lengths := map[int8]int{}, map[int]int{}
	for _, g := range games {
		if g.End != record.EndMaxPlies {
			continue
		}
		b, err := g.StartBoard()
		if err != nil {
			t.Fatal(err)
		}
		for i := range g.Plies {
			b.Make(g.Plies[i].Move)
		}
		want := leader(&b, 2)
		if b.SideToMove() == chess.Black {
			want = -want
		}
		lengths[len(g.Plies)]++
		if g.WhiteResult != want || g.Flags&record.MaxPliesHit == 0 {
			t.Errorf("result %d, want %d, flags %b", g.WhiteResult, want, g.Flags)
		}
		if err := g.Validate(); err != nil {
			t.Error(err)
		}
		results[want]++
	}
	if results[-1] == 0 || results[0] == 0 || results[1] == 0 || len(lengths) != 2 || lengths[24] < 15 || lengths[25] < 15 {
		t.Errorf("results seen: %v, lengths %v", results, lengths)
	}
}

func TestEndReasonsOfTheRules(t *testing.T) {
	for _, tc := range []struct {
		fen    string
		end    record.EndReason
		result int8
	}{
		{"6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", record.EndCheckmate, 1},
		{"3r2k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1", record.EndCheckmate, -1},
		{"8/8/8/3k4/8/8/3p4/3K4 w - - 0 1", record.EndMaterial, 0},
		{"k7/P7/8/1K6/8/8/8/8 w - - 0 1", record.EndStalemate, 0},
		{"8/8/4k3/3p4/3P4/4K3/8/8 w - - 10 60", record.EndRepetition, 0},
		{"8/8/8/4k3/8/8/8/4K2R w - - 99 80", record.EndFiftyMoves, 0},
	} {
		games, stats := play(t, 12, func(c *WorkerConfig) {
			from(t, c, tc.fen)
			c.Game.ExplorationRate = 0
			c.Game.Search.Simulations = 100
		})
		if stats.Ends[tc.end].Load() == 0 {
			t.Errorf("%s: no game ended by %v", tc.fen, tc.end)
		}
		for _, g := range games {
			if g.End == tc.end && g.WhiteResult != tc.result {
				t.Errorf("%s: %v with result %d", tc.fen, g.End, g.WhiteResult)
			}
		}
	}
}

// lost is an evaluator that thinks white is lost, whoever moves.
type lost struct{}

func (lost) Evaluate(_ context.Context, b *encoding.Batch) error {
	for i := range b.N {
		prior := b.PriorOf(i)
		for k := range prior {
			prior[k] = 1 / float32(len(prior))
		}
		b.WDL[i], b.M[i] = [3]float32{0, 0, 1}, 50
		if b.Scalars[i].BlackToMove == 1 {
			b.WDL[i] = [3]float32{1, 0, 0}
		}
	}
	return nil
}

func TestResign(t *testing.T) {
	resigning := func(share float64) func(*WorkerConfig) {
		return func(c *WorkerConfig) {
			c.Nets = FixedNet{"lost", lost{}}
			c.Game.Resign = Resign{Enabled: true, Q: -0.9, Plies: 5, PlayThrough: share}
		}
	}
	games, stats := play(t, 10, resigning(0))
	for _, g := range games {
		if g.End != record.EndResign || g.WhiteResult != -1 || len(g.Plies) != 5 || g.Flags&record.ResignDisabled != 0 {
			t.Errorf("resigned: %v result %d after %d plies, flags %b", g.End, g.WhiteResult, len(g.Plies), g.Flags)
		}
		if g.Plies[0].Flags&record.Adjudicated == 0 {
			t.Error("a resigned game's rows are not flagged")
		}
	}
	if stats.ResignsPlayedOn.Load() != 0 {
		t.Error("a resigned game was counted as played on")
	}
	games, stats = play(t, 10, resigning(1))
	for _, g := range games {
		if g.End == record.EndResign || g.Flags&record.ResignDisabled == 0 {
			t.Errorf("played on: %v, flags %b", g.End, g.Flags)
		}
		for i := range g.Plies {
			if on := g.Plies[i].Flags&record.PlayedOn != 0; on != (i >= 4) {
				t.Fatalf("ply %d: played on %v", i, on)
			}
		}
	}
	if n := stats.ResignsPlayedOn.Load(); n != 10 || stats.FalseResigns.Load() != stats.Draws.Load()+stats.WhiteWins.Load() {
		t.Errorf("%d played on, %d false, %d draws", n, stats.FalseResigns.Load(), stats.Draws.Load())
	}
	_, stats = play(t, 60, resigning(0.3))
	if n := stats.ResignsPlayedOn.Load(); n < 6 || n > 32 { // 18 expected, deviation 3.5
		t.Errorf("%d of 60 games were played on, 0.3 asked", n)
	}
	shared, _ := play(t, 4, func(c *WorkerConfig) {
		resigning(1)(c)
		c.Resign = NewResignRule(Resign{Enabled: true, Q: -0.9, Plies: 3})
	})
	for _, g := range shared {
		if g.End != record.EndResign || len(g.Plies) != 3 {
			t.Errorf("the shared rule does not hold: %v after %d plies", g.End, len(g.Plies))
		}
	}
	off, _ := play(t, 4, func(c *WorkerConfig) { c.Nets = FixedNet{"lost", lost{}} })
	for _, g := range off {
		if g.End == record.EndResign {
			t.Error("resigning is off by default")
		}
	}
}

func TestExplorationLeavesTheTargetAlone(t *testing.T) {
	first := func(rate float64) *record.Game {
		games, _ := play(t, 1, func(c *WorkerConfig) {
			c.Game.ExplorationRate, c.Game.Search.Simulations = rate, 50
		})
		return games[0]
	}
	a, b := first(0), first(1)
	for i := range a.Plies[0].Counts {
		if a.Plies[0].Counts[i] != b.Plies[0].Counts[i] {
			t.Fatal("the exploration rate changes the policy target")
		}
	}
	games, _ := play(t, 200, func(c *WorkerConfig) {
		c.Game.ExplorationRate, c.Game.MaxPlies = 1, 1
	})
	seen := map[chess.Move]int{}
	for _, g := range games {
		seen[g.Plies[0].Move]++
	}
	if len(seen) < 18 { // 200 uniform draws from 20 moves
		t.Errorf("only %d first moves: %v", len(seen), seen)
	}
}

func TestTemperatureSchedule(t *testing.T) {
	drop := Temperature{Start: 1, Plies: 30, Floor: 0.15}
	decay := Temperature{Start: 0.75, HalfLife: 19, Floor: 0.15}
	for _, tc := range []struct {
		schedule Temperature
		ply      int
		want     float64
	}{
		{drop, 0, 1}, {drop, 29, 1}, {drop, 30, 0.15}, {drop, 400, 0.15},
		{decay, 0, 0.75}, {decay, 19, 0.45}, {decay, 38, 0.3}, {decay, 1000, 0.15},
		{Temperature{}, 5, 0},
	} {
		if got := tc.schedule.At(tc.ply); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%+v at %d: %v, want %v", tc.schedule, tc.ply, got, tc.want)
		}
	}
}

func TestZeroTemperatureTakesTheBestMove(t *testing.T) {
	games, _ := play(t, 4, func(c *WorkerConfig) {
		c.Game.Temperature, c.Game.ExplorationRate, c.Game.Search.Simulations = Temperature{}, 0, 40
	})
	for _, g := range games {
		for i := range g.Plies {
			if g.Plies[i].Played != g.Plies[i].Best {
				t.Fatalf("ply %d: played %v, best %v", i, g.Plies[i].Played, g.Plies[i].Best)
			}
		}
	}
}

func TestPolicyKLD(t *testing.T) {
	moves := []mcts.MoveStats{{N: 30, P: 0.5}, {N: 10, P: 0.25}, {N: 0, P: 0.25}}
	want := 0.75*math.Log(0.75/0.5) + 0.25*math.Log(0.25/0.25)
	visits := func(moves []mcts.MoveStats, total float64) float32 {
		return policyKLD(moves, func(i int) float64 { return float64(moves[i].N) / total })
	}
	if got := float64(visits(moves, 40)); math.Abs(got-want) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := visits([]mcts.MoveStats{{N: 4, P: 0}}, 4); !(got > 0) || math.IsInf(float64(got), 0) {
		t.Errorf("an underflowed prior gives %v", got)
	}
	if got := visits([]mcts.MoveStats{{P: 1}}, 0); got != 0 {
		t.Errorf("no visits: %v", got)
	}
}

func TestChess960GamesAreMarked(t *testing.T) {
	games, _ := play(t, 3, func(c *WorkerConfig) {
		from(t, c, "nrbkqbrn/pppppppp/8/8/8/8/PPPPPPPP/NRBKQBRN w KQkq - 0 1")
	})
	for _, g := range games {
		if g.Flags&record.Chess960 == 0 || g.Start == "" {
			t.Errorf("flags %b, start %q", g.Flags, g.Start)
		}
	}
	games, _ = play(t, 1, func(c *WorkerConfig) {
		from(t, c, "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1")
	})
	if games[0].Flags&record.Chess960 != 0 {
		t.Error("normal castling rights were taken for Chess960")
	}
}

func TestGameSeed(t *testing.T) {
	seen := map[uint64]bool{}
	for run := range uint64(20) {
		for process := range uint64(20) {
			for ordinal := range uint64(100) {
				s := GameSeed(run, process, ordinal)
				if seen[s] {
					t.Fatalf("seed %#x twice", s)
				}
				seen[s] = true
			}
		}
	}
	// Published: stored games are played again from these.
	if got := GameSeed(7, 0, 0); got != 0xa5a76a341b7c3f5e {
		t.Errorf("GameSeed(7,0,0) = %#x", got)
	}
}
