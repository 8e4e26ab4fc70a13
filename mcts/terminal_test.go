package mcts

import (
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

func TestTerminalNodes(t *testing.T) {
	for _, tc := range []struct {
		name, fen string
		move      string
		proven    Proven
		q, d      float32
	}{
		{"mate", "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d8", ProvenWin, 1, 0},
		{"stalemate", "7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", "f1f7", ProvenDraw, 0, 1},
		{"fifty moves", "8/8/8/8/8/4k3/4q3/6K1 b - - 99 80", "e2b2", ProvenDraw, 0, 1},
		{"no mating material", "8/8/8/4k3/8/8/3p4/3K1N2 w - - 0 1", "d1d2", ProvenDraw, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := position(t, tc.fen)
			s := search(t, config(400), nil, h, uniform{}, nil)
			check(t, s)
			m, err := h.Board().ParseUCI(tc.move)
			if err != nil {
				t.Fatal(err)
			}
			for _, st := range s.Root().Moves {
				if st.Move == m && (st.N == 0 || st.Proven != tc.proven || st.Q != tc.q || st.D != tc.d || st.M != 1) {
					t.Errorf("%+v", st)
				}
			}
		})
	}
}

func TestThirdOccurrenceIsADraw(t *testing.T) {
	// White lost his queen; the knights went out and back twice, less one move.
	h := position(t, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1",
		"g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6", "f3g1")
	cfg := config(300)
	cfg.TwofoldDraw = false
	s := search(t, cfg, nil, h, uniform{}, nil)
	check(t, s)
	m, _ := h.Board().ParseUCI("f6g8")
	for _, st := range s.Root().Moves {
		if st.Move == m && (st.Proven != ProvenDraw || st.D != 1) {
			t.Errorf("the third occurrence: %+v", st)
		}
	}
}

func TestRepetitionOfTheSearchPathIsADrawOnlyThere(t *testing.T) {
	// Two kings and locked pawns: few moves, so that the search comes back soon.
	h := position(t, "8/8/4k3/3p4/3P4/4K3/8/8 w - - 10 60")
	twofold := func(s *Search) (n int) {
		for i := range s.t.nodes {
			if s.t.nodes[i].kind == kindTwofold {
				n++
			}
		}
		return n
	}
	cfg := config(3000)
	s := search(t, cfg, nil, h, uniform{}, nil)
	check(t, s)
	if twofold(s) == 0 {
		t.Fatal("no repetition in 3000 visits")
	}
	for _, n := range s.t.nodes {
		if n.kind == kindTwofold && (n.proven != Unproven || n.rawQ != 0 || n.rawD != 1) {
			t.Fatalf("a twofold repetition is a draw by value, not by proof: %+v", n)
		}
	}
	// One ply on, repetitions of the old root are none of the path any more.
	for range 6 {
		s.Advance(s.Root().Moves[s.Root().Best].Move)
		check(t, s)
		depthCheck(t, s, 0, 0)
		if s.t.nodes[0].kind != kindExpanded {
			break
		}
	}
	cfg.TwofoldDraw = false
	if s := search(t, cfg, nil, h, uniform{}, nil); twofold(s) != 0 {
		t.Error("twofold draws with the option off")
	}
}

// depthCheck verifies that every twofold draw repeats a position at or below the root.
func depthCheck(t *testing.T, s *Search, i int32, depth int) {
	t.Helper()
	n := &s.t.nodes[i]
	if n.kind == kindTwofold && int(n.cycle) > depth {
		t.Fatalf("a draw at depth %d repeats a position %d plies before", depth, n.cycle)
	}
	if n.kind != kindExpanded {
		return
	}
	for _, e := range s.t.edgesOf(n) {
		if e.child != none {
			depthCheck(t, s, e.child, depth+1)
		}
	}
}

// table knows one side's outcome in every position.
type table struct{ asked int }

func (p *table) Probe(b *chess.Board) (int, bool) {
	p.asked++
	if b.Rule50() != 0 || b.MayCastle() {
		panic("asked about a position that tables do not hold")
	}
	return -1, true
}

func TestProberProvesAndIsAskedOnlyWhatItKnows(t *testing.T) {
	for _, tc := range []struct {
		fen   string
		asked bool
	}{
		{"4k3/P7/8/8/8/8/8/4K2R w - - 0 1", true},
		{"4k3/P7/8/8/8/8/8/4K2R w K - 0 1", false}, // 30 visits do not get beyond the right
	} {
		cfg := config(30)
		p := &table{}
		cfg.Prober = p
		s := search(t, cfg, nil, position(t, tc.fen), uniform{}, nil)
		check(t, s)
		r := s.Root()
		best := r.Moves[r.Best]
		if (p.asked > 0) != tc.asked || (best.Proven == ProvenWin) != tc.asked || (r.Value.Q == 1) != tc.asked {
			t.Errorf("%s: asked %d, best %+v, value %v", tc.fen, p.asked, best, r.Value)
		}
		s.Advance(best.Move)
		// A table's verdict is no search: the root starts afresh.
		if n := s.Root().N; tc.asked && n != 0 {
			t.Errorf("a probed node became the root with %d visits", n)
		}
	}
}
