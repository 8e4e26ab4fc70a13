package rescore

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/syzygy"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// played makes a game without policies from UCI moves.
func played(t testing.TB, start string, moves ...string) *record.Game {
	t.Helper()
	g := &record.Game{NetID: "test", Start: start}
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range moves {
		m, err := b.ParseUCI(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		g.Plies = append(g.Plies, record.Ply{
			Move: m, Weight: 1,
			Root: encoding.UnknownQDM, Best: encoding.UnknownQDM, Played: encoding.UnknownQDM, Orig: encoding.UnknownQDM,
		})
		b.Make(m)
	}
	return g
}

// rescored runs one stage on a valid game and holds it to the rules of all
// stages: its argument stays as it was, the moves too, the outcome is valid and
// the same again.
func rescored(t testing.TB, r stage.Rescorer, g *record.Game) *record.Game {
	t.Helper()
	before, err := record.Append(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Chain{r}.Rescore(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	after, err := record.Append(nil, g)
	if err != nil || !bytes.Equal(before, after) {
		t.Fatalf("%s changed its argument: %v", r.Name(), err)
	}
	for i := range g.Plies {
		if out.Plies[i].Move != g.Plies[i].Move {
			t.Fatalf("%s changed move %d", r.Name(), i)
		}
	}
	again, err := r.Rescore(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	one, err1 := record.Append(nil, out)
	two, err2 := record.Append(nil, again)
	if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
		t.Fatalf("%s gives two outcomes for one game: %v, %v", r.Name(), err1, err2)
	}
	return out
}

// solved are exact tables of two and three men without files. DTZ is known
// without pawns only, where it is the distance to mate.
type solved map[chess.PieceType]*syzygy.Table

var solveOnce = sync.OnceValue(func() solved { return syzygy.SolveWinning() })

func (s solved) find(b *chess.Board) (wdl, plies int, ok bool) {
	if men(b) == 2 || men(b) == 3 && b.InsufficientMaterial() {
		return 0, 0, true
	}
	for _, piece := range []chess.PieceType{chess.Queen, chess.Rook, chess.Pawn} {
		if wdl, plies, ok := s[piece].Probe(b); ok {
			return 2 * wdl, plies * wdl, true
		}
	}
	return 0, 0, false
}

func (s solved) WDL(b *chess.Board) (int, bool) {
	wdl, _, ok := s.find(b)
	return wdl, ok
}

func (s solved) DTZ(b *chess.Board) (int, bool) {
	_, dtz, ok := s.find(b)
	return dtz, ok && b.Ours(chess.Pawn)|b.Theirs(chess.Pawn) == 0
}

// randomMoves plays random legal moves from a FEN, at most n, and calls the
// game unknown with a random result, or what the rules say.
func randomMoves(t testing.TB, rng *rand.Rand, start string, n int) *record.Game {
	t.Helper()
	g := played(t, start)
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	h := chess.NewHistory(b)
	var list chess.MoveList
	for {
		h.Board().GenerateMoves(&list)
		if end := record.EndOf(h.Terminal(list.N)); end != record.EndUnknown {
			if g.End = end; end == record.EndCheckmate {
				g.WhiteResult = 1
				if h.Board().SideToMove() == chess.White {
					g.WhiteResult = -1
				}
			}
			return g
		}
		if len(g.Plies) == n {
			g.WhiteResult = int8(rng.IntN(3) - 1)
			return g
		}
		m := list.Moves[rng.IntN(list.N)]
		g.Plies = append(g.Plies, record.Ply{Move: m, Weight: 1})
		h.Push(m)
	}
}

// New returns a built-in rescorer by name. Settings that are not given have
// their defaults. Errors name the stage, the setting and what is allowed.
func New(name string, settings map[string]string) (stage.Rescorer, error) {
	d, err := stage.Find(Definitions(), stage.KindRescorer, name)
	if err != nil {
		return nil, err
	}
	return d.MakeRescorer(settings)
}
