package record

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// TestView shows a game as White sees it: the values of Black's moves change sides, what was
// not searched is nil, and a start position of Black's is kept.
func TestView(t *testing.T) {
	const start = "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1"
	g := &Game{Start: start, NetID: "net", Ordinal: 7}
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	for i, uci := range []string{"e8d7", "e2e4", "d7c6"} {
		m, err := b.ParseUCI(uci)
		if err != nil {
			t.Fatal(err)
		}
		p := Ply{Move: m, Root: encoding.UnknownQDM}
		if i != 1 {
			p.Root = encoding.QDM{Q: 0.25, D: 0.5, M: 3} // the mover wins (1-d+q)/2 = 0.375
		}
		g.Plies = append(g.Plies, p)
		b.Make(m)
	}
	want := View{Game: 7, Net: "net", Start: start, FEN: b.FEN(), Moves: []string{"e8d7", "e2e4", "d7c6"},
		Values: []*WhiteView{{0.125, 0.5, 0.375}, nil, {0.125, 0.5, 0.375}}, Result: "*"}
	got, err := g.View()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("under way: %v\n%s", err, diff)
	}
	if rows := got.Rows(); rows[2] != ". . k . . . . ." || rows[4] != ". . . . P . . ." {
		t.Errorf("rows %q", rows)
	}
	if err := got.Spell(len(got.Moves)); err != nil || !slices.Equal(got.SAN, []string{"Kd7", "e4", "Kc6"}) {
		t.Errorf("spelt: %q, %v", got.SAN, err)
	}
	if err := (&View{Start: start, Moves: []string{"e2e4"}}).Spell(1); err == nil {
		t.Error("a move that is not legal was spelt")
	}
	g.End, g.WhiteResult = EndResign, 1
	if got, err := g.View(); err != nil || got.Result != "1-0" || got.End != EndResign.String() {
		t.Errorf("ended: %+v, %v", got, err)
	}
	g.End = EndAborted
	if got, err := g.View(); err != nil || got.Result != "*" {
		t.Errorf("aborted: %+v, %v", got, err)
	}
	g.Start = "nowhere"
	if _, err := g.View(); err == nil {
		t.Error("a start that cannot be read is shown")
	}
	normal := chess.StartBoard()
	if v, err := (&Game{}).View(); err != nil || v.FEN != normal.FEN() || v.Start != v.FEN {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestView960 castles in a game of Chess960: king takes rook in UCI, O-O-O in SAN.
func TestView960(t *testing.T) {
	g := &Game{Start: "4k3/8/8/8/8/8/8/RK5R w HA - 0 1", Flags: Chess960}
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.ParseUCI("b1a1")
	if err != nil {
		t.Fatal(err)
	}
	g.Plies = []Ply{{Move: m, Root: encoding.UnknownQDM}}
	v, err := g.View()
	if err == nil {
		err = v.Spell(1)
	}
	if err != nil || v.Moves[0] != "b1a1" || v.SAN[0] != "O-O-O" || v.FEN != "4k3/8/8/8/8/8/8/2KR3R b - - 1 1" {
		t.Errorf("%+v, %v", v, err)
	}
}
