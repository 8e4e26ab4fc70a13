package selfplay

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/record"
)

const startList = `# openings
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1

rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - bm e5; id "king's pawn";
3 4k3/8/8/8/8/8/4P3/4K3 w - - 5 40
`

func TestReadStarts(t *testing.T) {
	starts, err := ReadStarts(strings.NewReader(startList))
	if err != nil {
		t.Fatal(err)
	}
	if len(starts) != 3 || starts[0].Weight != 1 || starts[2].Weight != 3 || starts[2].Board.Rule50() != 5 || starts[1].Board.SideToMove() != chess.Black {
		t.Errorf("%+v", starts)
	}
	for text, want := range map[string]string{
		"":                                 "empty",
		"\n\nnonsense":                     "line 3",
		"8/8/8/8/8/8/8/8 w - - 0 1":        "line 1",
		"rnbqkbnr/pppppppp/8 w KQkq - 0 1": "line 1",
		"2.5":                              "line 1",
	} {
		if _, err := ReadStarts(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzReadStarts(f *testing.F) {
	f.Add(startList)
	f.Add("1e400 8/8/8/4k3/8/8/8/4K2R w - - 0 1")
	f.Fuzz(func(t *testing.T, text string) {
		starts, err := ReadStarts(strings.NewReader(text))
		if err == nil && len(starts) == 0 {
			t.Error("an empty list without an error")
		}
		for i := range starts {
			if _, err := chess.ParseFEN(starts[i].Board.FEN()); err != nil {
				t.Errorf("start %d: %v", i, err)
			}
		}
	})
}

func TestOrders(t *testing.T) {
	starts, err := ReadStarts(strings.NewReader(startList))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		starts = append(starts, starts[i%3])
	}
	n := uint64(len(starts))
	sequential, _ := NewOpenings(starts, OrderSequential, 0)
	shuffled, _ := NewOpenings(starts, OrderShuffled, 0)
	same := 0
	for pass := range uint64(20) {
		seen := map[int]bool{}
		for k := range n {
			if got := sequential.index(1, pass*n+k, 0, nil); got != int(k) {
				t.Fatalf("sequential: game %d takes %d", pass*n+k, got)
			}
			i := shuffled.index(1, pass*n+k, 0, nil)
			if i == int(k) {
				same++
			}
			seen[i] = true
		}
		if len(seen) != len(starts) {
			t.Fatalf("shuffled: pass %d took %d of %d", pass, len(seen), n)
		}
	}
	if same > 60 { // 20 expected of 200
		t.Errorf("shuffled: %d of 200 stayed in place", same)
	}
}

func TestWeights(t *testing.T) {
	starts, _ := ReadStarts(strings.NewReader(startList))
	o, err := NewOpenings(starts, OrderRandom, 0)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var count [3]float64
	const rounds = 20000
	for range rounds {
		count[o.index(0, 0, 0, rng)]++
	}
	for i, p := range []float64{0.2, 0.2, 0.6} {
		if se := math.Sqrt(p * (1 - p) / rounds); math.Abs(count[i]/rounds-p) > 5*se {
			t.Errorf("start %d: %v, want %v", i, count[i]/rounds, p)
		}
	}
}

func TestOpeningsRefuse(t *testing.T) {
	mated, _ := chess.ParseFEN("7k/6Q1/5K2/8/8/8/8/8 b - - 0 1")
	start := chess.StartBoard()
	for name, make := range map[string]func() (*Openings, error){
		"game over": func() (*Openings, error) { return NewOpenings([]Start{{Board: mated, Weight: 1}}, OrderRandom, 0) },
		"weight 0":  func() (*Openings, error) { return NewOpenings([]Start{{Board: start}}, OrderRandom, 0) },
		"NaN": func() (*Openings, error) {
			return NewOpenings([]Start{{Board: start, Weight: math.NaN()}}, OrderRandom, 0)
		},
		"order": func() (*Openings, error) { return NewOpenings(nil, 9, 0) },
		"plies": func() (*Openings, error) { return NewOpenings(nil, OrderRandom, -1) },
	} {
		if _, err := make(); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestRandomPliesAreRecordedAndNotTrainedOn(t *testing.T) {
	games, _ := play(t, 12, func(c *WorkerConfig) {
		c.Game.Openings, _ = NewOpenings(nil, OrderRandom, 4)
	})
	firsts := map[string]bool{}
	for _, g := range games {
		firsts[moves(&record.Game{Plies: g.Plies[:4]})] = true
		for i := range g.Plies {
			p := &g.Plies[i]
			if random := i < 4; random != (p.Weight == 0) || random != (p.Kind == record.PolicyNone) || random != (p.Visits == 0) {
				t.Fatalf("ply %d: %+v", i, p)
			}
		}
	}
	if len(firsts) < 10 {
		t.Errorf("%d different openings of 12", len(firsts))
	}
	// A game that random moves would end is taken over one ply before.
	games, _ = play(t, 20, func(c *WorkerConfig) {
		board, _ := chess.ParseFEN("8/8/8/3k4/8/8/3p4/3K4 w - - 0 1")
		c.Game.Openings, _ = NewOpenings([]Start{{Board: board, Weight: 1}}, OrderRandom, 50)
	})
	for _, g := range games {
		if last := g.Plies[len(g.Plies)-1]; last.Weight != 1 {
			t.Error("random moves ended a game")
		}
	}
}

func TestPermuteIsAPermutation(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 4, 5, 64, 1000} {
		seen := make([]bool, n)
		for i := range n {
			j := permute(i, n, 99)
			if j >= n || seen[j] {
				t.Fatalf("n %d: %d maps to %d", n, i, j)
			}
			seen[j] = true
		}
	}
}
