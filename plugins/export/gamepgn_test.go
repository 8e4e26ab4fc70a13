package export

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
)

// The text of a small game, to the letter.
func TestWritePGN(t *testing.T) {
	g := &record.Game{NetID: "job-s7-d3", Seed: 42, Ordinal: 17, End: record.EndCheckmate, WhiteResult: -1, Flags: record.NetChanged}
	g.ID[0] = 0xab
	none := encoding.UnknownQDM
	b := chess.StartBoard()
	for i, s := range []string{"f2f3", "e7e5", "g2g4", "d8h4"} {
		m, err := b.ParseUCI(s)
		if err != nil {
			t.Fatal(err)
		}
		p := record.Ply{Move: m, Root: none, Best: none, Played: none, Orig: none}
		switch i {
		case 1:
			p.Root, p.Visits = encoding.QDM{Q: .1234, D: .456, M: 57.4}, 101
		case 3:
			p.Root, p.Visits = encoding.QDM{Q: -1, D: 0, M: none.M}, 801
		}
		g.Plies = append(g.Plies, p)
		b.Make(m)
	}
	var buf bytes.Buffer
	if err := WritePGN(&buf, g, "run-1"); err != nil {
		t.Fatal(err)
	}
	want := `[Event "run-1"]
[Site "?"]
[Date "????.??.??"]
[Round "17"]
[White "job-s7-d3"]
[Black "job-s7-d3"]
[Result "0-1"]
[Termination "normal"]
[EndReason "checkmate"]
[Seed "42"]
[GameId "ab000000000000000000000000000000"]
[NetChanged "1"]

1. f3 e5 {q=+0.123 d=0.46 m=57 n=101} 2. g4 Qh4# {q=-1.000 d=0.00 n=801} 0-1

`
	if buf.String() != want {
		t.Errorf("got\n%s\nwant\n%s", buf.String(), want)
	}
}

// What is written is read back: moves, start and result, also of Chess960 games
// and of games that black begins.
func TestWritePGNReadsBack(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 3))
	for i, start := range []string{"", "4k2r/8/8/8/8/8/4P3/R3K3 w Qk - 0 1", "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R b KQkq - 4 7", "1r3k1r/pppppppp/8/8/8/8/PPPPPPPP/1R3K1R w HBhb - 0 1"} {
		for range 10 {
			g := anyGame(t, start, uint64(i), 40, rng)
			wantResult := "1/2-1/2"
			switch rng.IntN(4) {
			case 0:
				g.End, wantResult = record.EndAborted, "*"
			case 1:
				g.End, g.WhiteResult, wantResult = record.EndResign, 1, "1-0"
			case 2:
				g.End, g.WhiteResult, wantResult = record.EndTablebase, -1, "0-1"
			}
			if i == 3 {
				g.Flags |= record.Chess960
			}
			var buf bytes.Buffer
			if err := WritePGN(&buf, g, "j"); err != nil {
				t.Fatal(err)
			}
			games := runtest.ReadPGN(t, buf.String())
			board, err := g.StartBoard()
			if err != nil || len(games) != 1 {
				t.Fatal(len(games), err)
			}
			back := games[0]
			moves := make([]chess.Move, len(g.Plies))
			for j := range moves {
				moves[j] = g.Plies[j].Move
			}
			if !slices.Equal(back.Moves, moves) || back.Start != board || back.Result != wantResult || back.Tag("EndReason") != g.End.String() {
				t.Fatalf("seed %d: read back as %+v from\n%s", seed, back, buf.String())
			}
			if v := back.Tag("Variant"); (v == "Chess960") != (i == 3) || strings.Count(buf.String(), "[Variant") > 1 {
				t.Errorf("Variant %q of start %q", v, start)
			}
			if (back.Tag("SetUp") == "1") != (start != "") {
				t.Errorf("SetUp %q of start %q", back.Tag("SetUp"), start)
			}
			if n := strings.Count(buf.String(), "n=101}"); n != 30 {
				t.Errorf("%d comments, want 30", n)
			}
		}
	}
}
