package rescore

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/record"
)

// twenty gives the start position's policy: counts of its first moves.
func twenty(t *testing.T, counts ...uint32) *record.Game {
	g := played(t, "", "e2e4")
	g.End = record.EndMaxPlies
	g.Plies[0].Kind = record.PolicyCounts
	g.Plies[0].Counts = append(counts, make([]uint32, 20-len(counts))...)
	return g
}

func TestPolicyTemperatureByHand(t *testing.T) {
	for _, c := range []struct {
		name   string
		p      PolicyTemperature
		counts []uint32
		want   []float32 // of the first moves; nil = unchanged
		rest   float32   // of each other move
	}{
		{"nothing", PolicyTemperature{Temperature: 1}, []uint32{3, 1}, nil, 0},
		{"sharper", PolicyTemperature{Temperature: 0.5}, []uint32{3, 1}, []float32{0.9, 0.1}, 0},
		{"flatter", PolicyTemperature{Temperature: 2}, []uint32{9, 1}, []float32{0.75, 0.25}, 0},
		{"offset", PolicyTemperature{Temperature: 1, Offset: 0.05}, []uint32{3, 1}, []float32{0.8 / 2, 0.3 / 2}, 0.05 / 2},
		{"offset below 0", PolicyTemperature{Temperature: 1, Offset: -0.25}, []uint32{3, 1}, []float32{1, 0}, 0},
		{"nothing is left", PolicyTemperature{Temperature: 1, Offset: -0.75}, []uint32{3, 1}, nil, 0},
		{"very sharp", PolicyTemperature{Temperature: 0.01}, []uint32{11, 10, 1}, []float32{0.99992746, 7.2563e-05, 0}, 0},
		{"both", PolicyTemperature{Temperature: 0.5, Offset: -0.25}, []uint32{5, 3}, []float32{9. / 10, 1. / 10}, 0},
	} {
		g := twenty(t, c.counts...)
		out := rescored(t, c.p, g)
		if c.want == nil {
			if out != g {
				t.Errorf("%s: %v", c.name, out.Plies[0].Probs)
			}
			continue
		}
		p := &out.Plies[0]
		if p.Kind != record.PolicyProbs || p.Counts != nil || len(p.Probs) != 20 {
			t.Fatalf("%s: %+v", c.name, p)
		}
		for j, got := range p.Probs {
			want := c.rest
			if j < len(c.want) {
				want = c.want[j]
			}
			if math.Abs(float64(got-want)) > 1e-6 {
				t.Errorf("%s: move %d: %g, want %g", c.name, j, got, want)
			}
		}
	}
}

// Positions without a policy and with a single move stay as they are; float
// policies are changed as counts are.
func TestPolicyTemperatureKinds(t *testing.T) {
	g := played(t, "7k/8/6K1/8/8/8/8/Q7 b - - 0 1", "h8g8", "a1a8")
	g.End, g.WhiteResult = record.EndCheckmate, 1
	g.Plies[0].Kind, g.Plies[0].Counts = record.PolicyCounts, []uint32{0}
	p := PolicyTemperature{Temperature: 2}
	if out := rescored(t, p, g); out != g {
		t.Errorf("single move: %+v", out.Plies)
	}
	counts, probs := twenty(t, 7, 2, 1), twenty(t)
	probs.Plies[0].Kind, probs.Plies[0].Counts = record.PolicyProbs, nil
	probs.Plies[0].Probs = append([]float32{0.7, 0.2, 0.1}, make([]float32, 17)...)
	a, b := rescored(t, p, counts).Plies[0].Probs, rescored(t, p, probs).Plies[0].Probs
	for j := range a {
		if math.Abs(float64(a[j]-b[j])) > 1e-6 {
			t.Errorf("move %d: %g from counts, %g from probabilities", j, a[j], b[j])
		}
	}
}

// The boost goes to the moves that mate fastest, in won positions only.
func TestDTZBoost(t *testing.T) {
	tables := solveOnce()
	p := PolicyTemperature{Temperature: 1, Boost: 0.5, Tables: tables}
	g := played(t, "7k/8/6K1/8/8/8/8/1Q6 w - - 0 1", "g6f7") // the mates in one are found by the rules
	b, _ := g.StartBoard()
	var list chess.MoveList
	b.GenerateMoves(&list)
	mates := []int{}
	for j, m := range list.Slice() {
		c := b
		c.Make(m)
		if over(&c) && c.InCheck() {
			mates = append(mates, j)
		}
	}
	if len(mates) == 0 {
		t.Fatal("no mate in one")
	}
	g.Plies[0].Kind, g.Plies[0].Counts = record.PolicyCounts, slices.Repeat([]uint32{1}, list.N)
	probs := rescored(t, p, g).Plies[0].Probs
	for j := range probs {
		want := 1 / float64(list.N)
		if slices.Contains(mates, j) {
			want += 0.5 / float64(len(mates))
		}
		if want /= 1.5; math.Abs(float64(probs[j])-want) > 1e-6 {
			t.Errorf("move %d: %g, want %g", j, probs[j], want)
		}
	}
	for name, fen := range map[string]string{
		"lost":          "7k/8/6K1/8/8/8/8/Q7 b - - 0 1",
		"drawn":         "8/8/8/8/8/2k5/8/KB6 w - - 0 1",
		"not in tables": chessStart,
		"too late":      "8/8/8/3k4/8/8/8/KR6 w - - 80 90",
	} {
		b := chesstest.Board(t, fen)
		if got := p.fastest(&b); got != nil {
			t.Errorf("%s: boost %v", name, got)
		}
	}
}

const chessStart = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

// In random won endings the boosted moves are those after which the solver
// needs least; the promotion of a pawn is one ply.
func TestDTZBoostAgainstSolver(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	tables := solveOnce()
	p := PolicyTemperature{Temperature: 1, Boost: 1, Tables: tables}
	won := 0
	for pos := range tables[chess.Rook].All {
		if rng.IntN(400) != 0 || pos.WDL != 1 {
			continue
		}
		won++
		boost := p.fastest(&pos.Board)
		var list chess.MoveList
		pos.Board.GenerateMoves(&list)
		sum := 0.0
		for j, m := range list.Slice() {
			c := pos.Board
			c.Make(m)
			wdl, plies, ok := tables[chess.Rook].Probe(&c)
			best := ok && wdl == -1 && plies == pos.Plies-1
			if best != (boost != nil && boost[j] > 0) {
				t.Fatalf("%s: move %v leads to %d, %d plies of %d; boost %v", pos.Board.FEN(), m, wdl, plies, pos.Plies, boost)
			}
			sum += boost[j]
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("%s: the boost sums to %g", pos.Board.FEN(), sum)
		}
	}
	if won < 100 {
		t.Errorf("only %d positions", won)
	}
}
