package pgn

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

func TestTagEscapes(t *testing.T) {
	g := &Game{Start: chess.StartBoard(), Tags: [][2]string{{"White", `a "b" \ c`}, {"Note", "x]y"}}}
	var buf bytes.Buffer
	if err := Write(&buf, g); err != nil {
		t.Fatal(err)
	}
	games, bad := collect(t, buf.String())
	if bad != nil || len(games) != 1 || games[0].Tag("White") != `a "b" \ c` || games[0].Tag("Note") != "x]y" {
		t.Fatalf("%v %v from %s", games, bad, buf.String())
	}
}

func TestWriteGolden(t *testing.T) {
	g := &Game{Start: chess.StartBoard(), Result: "1-0", Tags: [][2]string{{"White", "A"}, {"Opening", "Ruy"}}}
	b := g.Start
	for _, s := range strings.Fields("e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O Be7 Re1 b5 Bb3 d6 c3 O-O") {
		m, err := b.ParseSAN(s)
		if err != nil {
			t.Fatal(err)
		}
		g.Moves = append(g.Moves, m)
		b.Make(m)
	}
	var buf bytes.Buffer
	if err := Write(&buf, g); err != nil {
		t.Fatal(err)
	}
	want := `[Event "?"]
[Site "?"]
[Date "????.??.??"]
[Round "?"]
[White "A"]
[Black "?"]
[Result "1-0"]
[Opening "Ruy"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3
O-O 1-0

`
	if buf.String() != want {
		t.Errorf("got\n%s\nwant\n%s", buf.String(), want)
	}
}

func TestWriteRefuses(t *testing.T) {
	illegal := &Game{Start: chess.StartBoard(), Moves: []chess.Move{chess.NewMove(0, 63, chess.NoPiece)}}
	for name, g := range map[string]*Game{
		"illegal move": illegal,
		"result":       {Start: chess.StartBoard(), Result: "2-0"},
		"tag name":     {Start: chess.StartBoard(), Tags: [][2]string{{"a b", "c"}}},
		"long name":    {Start: chess.StartBoard(), Tags: [][2]string{{strings.Repeat("a", 256), "c"}}},
	} {
		var buf bytes.Buffer
		if err := Write(&buf, g); err == nil || buf.Len() != 0 {
			t.Errorf("%s: error %v, %d bytes written", name, err, buf.Len())
		}
	}
}

// randomGame plays random moves from a start; every other one is Chess960.
func randomGame(rng *rand.Rand, i int) *Game {
	g := &Game{Start: chess.StartBoard(), Result: []string{"1-0", "0-1", "1/2-1/2", "*"}[rng.IntN(4)]}
	if i%2 == 1 {
		fens := []string{
			"bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
			"rk2r3/pppppppp/8/8/8/8/PPPPPPPP/1RK4R w HBea - 0 1",
			"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
		}
		b, err := chess.ParseFEN(fens[i/2%len(fens)])
		if err != nil {
			panic(err)
		}
		g.Start = b
	}
	b := g.Start
	var l chess.MoveList
	for range rng.IntN(120) {
		b.GenerateMoves(&l)
		if l.N == 0 {
			break
		}
		m := l.Moves[rng.IntN(l.N)]
		g.Moves = append(g.Moves, m)
		b.Make(m)
	}
	return g
}

// TestRoundTrip writes games, reads them back in order, and wants them equal.
func TestRoundTrip(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 10
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var buf bytes.Buffer
	var games []*Game
	for i := range n {
		g := randomGame(rng, i)
		g.Tags = [][2]string{{"Round", fmt.Sprint(i)}}
		games = append(games, g)
		if err := Write(&buf, g); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range strings.Split(buf.String(), "\n") {
		if len(line) > 79 && line[0] != '[' {
			t.Errorf("line of %d characters: %s", len(line), line)
		}
	}
	i := 0
	err := Read(&buf, ReadOptions{}, func(g *Game) error {
		want := games[i]
		if g.Start != want.Start || g.Result != want.Result || g.Tag("Round") != fmt.Sprint(i) || moveText(g) != moveText(want) {
			t.Errorf("game %d differs: %s | %s", i, moveText(g), moveText(want))
		}
		i++
		return nil
	})
	if err != nil || i != n {
		t.Fatalf("%d of %d games, %v", i, n, err)
	}
}
