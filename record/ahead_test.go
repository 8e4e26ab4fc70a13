package record

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// played is a game of moves from a position, without policies.
func played(t *testing.T, fen string, moves ...string) *Game {
	t.Helper()
	b := chesstest.Board(t, fen)
	g := &Game{Start: fen, End: EndAborted}
	for _, s := range moves {
		m, err := b.ParseUCI(s)
		if err != nil {
			t.Fatal(err)
		}
		g.Plies = append(g.Plies, Ply{Move: m, Weight: 1})
		b.Make(m)
	}
	return g
}

// squaresOf spells a set as white sees it; side is who sees it.
func squaresOf(set uint64, side int) (names []string) {
	for sq := range chess.Square(64) {
		if set>>sq&1 != 0 {
			names = append(names, (sq ^ chess.Square(side*56)).String())
		}
	}
	slices.Sort(names)
	return names
}

// TestAhead: captures by either side, en passant, castling, which moves the rook, and a
// man that is taken after it moved, and the reply's index, as both sides see them.
func TestAhead(t *testing.T) {
	for name, c := range map[string]struct {
		fen   string
		moves []string
		taken [2][]string // of the positions at ply 0 and 1, where the men stood then
		// Material eight plies later, and the reply, as white sees its squares.
		material [2]int8
		reply    [2]string
		index    [3]string // of the policy: the replies to plies 0 to 2 as their sides see them
	}{
		"captures": {chess.StartFEN, []string{"e2e4", "d7d5", "e4d5", "d8d5", "b1c3", "d5a5", "g1f3", "c8g4", "h2h3", "g4f3"},
			[2][]string{{"d7", "e2"}, {"d7", "e4"}}, [2]int8{0, 0}, [2]string{"d7d5", "e4d5"}, [3]string{"d2d4", "e4d5", "d1d4"}},
		"en passant and castling": {"r3k2r/8/8/8/1p6/8/P7/R3K2R w KQkq - 0 1", []string{"a2a4", "b4a3", "e1g1", "e8c8", "a1a3", "h8h1", "g1h1", "d8d1", "f1d1"},
			[2][]string{{"a2", "b4", "h8"}, {"a4", "a8", "b4", "h8"}}, [2]int8{5, -10}, [2]string{"b4a3", "e1h1"}, [3]string{"b5a6", "e1h1", "e1a1"}},
		"promotions": {"6k1/P7/8/8/8/8/1p5K/8 w - - 0 1", []string{"h2g2", "b2b1r", "a7a8q", "g8f7", "g2f2", "f7e6", "f2e2", "e6f5", "e2d2", "f5g5"},
			[2][]string{}, [2]int8{4, -4}, [2]string{"b2b1", "a7a8"}, [3]string{"b7b8r", "a7a8q", "g1f2"}},
		"to a knight": {"8/P6k/8/8/8/8/1p5K/8 w - - 0 1", []string{"h2g2", "b2b1n", "a7a8n", "h7g7", "g2f2", "g7f7", "f2e2", "f7e7", "e2e3", "e7e6"},
			[2][]string{}, [2]int8{0, 0}, [2]string{"b2b1", "a7a8"}, [3]string{"b7b8", "a7a8", "h2g2"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := played(t, c.fen, c.moves...)
			b := encoding.NewTrainBatch(2)
			r := Replayer{Extra: Extra{Ahead: true}}
			if err := r.AppendRows(b, g, []int{0, 1, 2}); err != nil {
				t.Fatal(err)
			}
			for ply, a := range b.Ahead[:2] {
				taken := squaresOf(b.Men(ply)&^a.Survive, ply)
				flip := chess.Square(ply * 56)
				if reply := fmt.Sprint(a.From^flip, a.To^flip); !a.Known || a.Material != c.material[ply] || !slices.Equal(taken, c.taken[ply]) ||
					reply != c.reply[ply][:2]+" "+c.reply[ply][2:] {
					t.Errorf("ply %d: %+v, taken %v, reply %s", ply, a, taken, reply)
				}
			}
			for ply, a := range b.Ahead[:3] {
				if index := encoding.PolicyString(a.ReplyIndex()); index != c.index[ply] {
					t.Errorf("ply %d: the reply's index is %s, want %s", ply, index, c.index[ply])
				}
			}
			if err := r.AppendRow(b, g, len(c.moves)-1); err != nil {
				t.Fatal(err)
			}
			if a := b.Ahead[3]; a.Known || a.From != a.To || a.ReplyIndex() != encoding.NoPolicyIndex {
				t.Errorf("the last position knows %+v", a)
			}
			r.Ahead = false
			if err := r.AppendRow(b, g, 0); err != nil || b.Ahead[b.N-1] != (encoding.Ahead{}) {
				t.Errorf("not asked for: %+v, %v", b.Ahead[b.N-1], err)
			}
		})
	}
}
