package importer

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/pgn"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

var plain = Targets{DrawRate: math.NaN()}

// parse reads the games of a text; none may be bad.
func parse(t testing.TB, text string) []*pgn.Game {
	t.Helper()
	var games []*pgn.Game
	err := pgn.Read(strings.NewReader(text), pgn.ReadOptions{Comments: true, OwnRules: true}, func(g *pgn.Game) error {
		games = append(games, g)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return games
}

// convert makes a valid record of a text's only game.
func convert(t testing.TB, text string, targets Targets) *record.Game {
	t.Helper()
	g, err := Convert(parse(t, text)[0], targets)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := g.Validate(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return g
}

// TestEnd: where the end and the result of a game come from.
func TestEnd(t *testing.T) {
	const (
		mate      = "1. f3 e5 2. g4 Qh4# "
		repeat    = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 "
		stalemate = "[FEN \"7k/8/5KQ1/8/8/8/8/8 w - - 0 1\"]\n\n1. Qf7 "
		bare      = "[FEN \"7k/8/8/8/8/8/6q1/7K w - - 0 1\"]\n\n1. Kxg2 "
		fifty     = "[FEN \"7k/8/8/8/8/8/6q1/K7 b - - 99 80\"]\n\n80... Kg8 "
	)
	for _, c := range []struct {
		text   string
		end    record.EndReason
		result int8
		adj    bool
	}{
		{mate + "0-1", record.EndCheckmate, -1, false},
		{mate + "*", record.EndCheckmate, -1, false},
		{repeat + "1/2-1/2", record.EndRepetition, 0, false},
		{repeat + "*", record.EndRepetition, 0, false},
		{repeat + "1-0", record.EndUnknown, 1, false}, // nobody claimed
		{stalemate + "1/2-1/2", record.EndStalemate, 0, false},
		{bare + "1/2-1/2", record.EndMaterial, 0, false},
		{bare + "1-0", record.EndUnknown, 1, false},
		{fifty + "1/2-1/2", record.EndFiftyMoves, 0, false},
		{"1. e4 e5 1/2-1/2", record.EndUnknown, 0, false},
		{"1. e4 e5 1-0", record.EndUnknown, 1, false},
		{"1. e4 e5 *", record.EndAborted, 0, false},
		{"[Result \"1-0\"]\n\n1. e4 e5 *", record.EndUnknown, 1, false},
		{"[Termination \"Normal\"]\n\n1. e4 e5 0-1", record.EndResign, -1, true},
		{"[Termination \"normal\"]\n\n1. e4 e5 1/2-1/2", record.EndUnknown, 0, false},
		{"[Termination \"A won by resignation\"]\n\n1. e4 e5 1-0", record.EndResign, 1, true},
		{"[Termination \"time forfeit\"]\n\n1. e4 e5 1-0", record.EndUnknown, 1, false},
		{"[Termination \"adjudication\"]\n\n1. e4 e5 1-0", record.EndUnknown, 1, true},
		{"[Termination \"adjudication\"]\n[EndReason \"max-plies\"]\n\n1. e4 e5 1/2-1/2", record.EndMaxPlies, 0, true},
		{"[EndReason \"tablebase\"]\n\n1. e4 e5 1-0", record.EndTablebase, 1, true},
	} {
		g := convert(t, c.text, plain)
		if g.End != c.end || g.WhiteResult != c.result || g.Flags&record.Imported == 0 {
			t.Errorf("%s: %v %+d", c.text, g.End, g.WhiteResult)
		}
		for i, p := range g.Plies {
			if (p.Flags&record.Adjudicated != 0) != c.adj {
				t.Errorf("%s: flags of ply %d are %b", c.text, i, p.Flags)
			}
		}
	}
	for _, text := range []string{mate + "1-0", mate + "1/2-1/2", stalemate + "1-0", "[Result \"1-0\"]\n\n1. e4 e5 0-1"} {
		if g, err := Convert(parse(t, text)[0], plain); err == nil {
			t.Errorf("%s: taken as %v %+d", text, g.End, g.WhiteResult)
		}
	}
}

// TestPolicy: one-hot, smoothed and flattened targets of rows, against the sums
// written out.
func TestPolicy(t *testing.T) {
	const text = "1. e4 e5 2. Nf3 1-0"
	rows := func(targets Targets) *encoding.TrainBatch {
		g := convert(t, text, targets)
		b := encoding.NewTrainBatch(3)
		var r record.Replayer
		if err := r.AppendRows(b, g, []int{0, 1, 2}); err != nil {
			t.Fatal(err)
		}
		return b
	}
	played := []string{"e2e4", "e2e4", "g1f3"} // mover's view
	check := func(b *encoding.TrainBatch, top, rest func(n float64) float64) {
		t.Helper()
		for i := range b.N {
			n := float64(len(b.PolicyOf(i)))
			for j, p := range b.PolicyOf(i) {
				want := rest(n)
				if encoding.PolicyString(b.LegalOf(i)[j]) == played[i] {
					want = top(n)
				}
				if math.Abs(float64(p)-want) > 1e-6 {
					t.Errorf("row %d, %s: %v, want %v", i, encoding.PolicyString(b.LegalOf(i)[j]), p, want)
				}
			}
			if want := []float32{1, -1, 1}[i]; b.Targets[i][encoding.TargetResult].Q != want || b.Weight[i] != 1 {
				t.Errorf("row %d: result %v, weight %v", i, b.Targets[i][encoding.TargetResult], b.Weight[i])
			}
			if v := b.Targets[i][encoding.TargetRoot]; !same(v, encoding.UnknownQDM, 0) {
				t.Errorf("row %d: a root value %v from nowhere", i, v)
			}
		}
	}
	one, zero := func(float64) float64 { return 1 }, func(float64) float64 { return 0 }
	check(rows(plain), one, zero)
	smooth := Targets{Smoothing: 0.2, DrawRate: math.NaN()}
	check(rows(smooth), func(n float64) float64 { return 0.8 + 0.2/n }, func(n float64) float64 { return 0.2 / n })
	smooth.Temperature = 2
	norm := func(n float64) float64 { return math.Sqrt(0.8+0.2/n) + (n-1)*math.Sqrt(0.2/n) }
	check(rows(smooth), func(n float64) float64 { return math.Sqrt(0.8+0.2/n) / norm(n) }, func(n float64) float64 { return math.Sqrt(0.2/n) / norm(n) })
	smooth = Targets{Smoothing: 1e-6, Temperature: 0.01, DrawRate: math.NaN()} // as cold as it gets
	check(rows(smooth), one, zero)
}

// TestAnnotations: who sees which value where. Pawns 0.9 are Q = 0.50225.
func TestAnnotations(t *testing.T) {
	targets := Targets{Annotated: true, DrawRate: 0.5}
	q := float32(math.Pi / 4 / 1.5637541897)
	value := func(q float32) encoding.QDM {
		return encoding.QDM{Q: q, D: float32(0.5 * (1 - math.Abs(float64(q)))), M: nan}
	}
	u := encoding.UnknownQDM
	for name, c := range map[string]struct {
		text         string
		root, played []encoding.QDM
	}{
		"lichess": {"1. e4 { [%eval 0.9] } 1... e5 { [%eval -0.9] } 2. Nf3 { [%eval #-2] } Nc6 *",
			[]encoding.QDM{u, value(-q), value(-q), {Q: 1, D: 0, M: nan}},
			[]encoding.QDM{value(q), value(q), {Q: -1, D: 0, M: nan}, u}},
		"cutechess": {"1. e4 {+0.90/12 1s} e5 {-0.90/11 1s} 2. Nf3 {book} Nc6 {+M2/3 1s} *",
			[]encoding.QDM{value(q), value(-q), u, {Q: 1, D: 0, M: nan}}, []encoding.QDM{u, u, u, u}},
		"TCEC": {"1. e4 {d=1, wv=0.90,} e5 {d=2, wv=0.90,} 2. Nf3 {wv=-0.90} Nc6 {wv=-0.90} *",
			[]encoding.QDM{value(q), value(-q), value(-q), value(q)}, []encoding.QDM{u, u, u, u}},
		"own": {"1. e4 {q=+0.250 d=0.50 m=40 n=9} e5 *",
			[]encoding.QDM{{Q: 0.25, D: 0.5, M: 40}, u}, []encoding.QDM{u, u}},
		"search before eval": {"1. e4 {[%eval 0.9]} e5 {+0.00/9 1s} *",
			[]encoding.QDM{u, value(0)}, []encoding.QDM{value(q), u}},
		"black begins": {"[FEN \"4k3/p7/8/8/8/8/P7/4K3 b - - 0 1\"]\n\n1... a6 {wv=0.90 [%eval 0.9]} 2. a3 *",
			[]encoding.QDM{value(-q), value(q)}, []encoding.QDM{value(-q), u}},
	} {
		g := convert(t, c.text, targets)
		for i, p := range g.Plies {
			if !same(p.Root, c.root[i], 1e-6) || !same(p.Played, c.played[i], 1e-6) {
				t.Errorf("%s, ply %d: root %v played %v, want %v %v", name, i, p.Root, p.Played, c.root[i], c.played[i])
			}
		}
		for i, p := range convert(t, c.text, plain).Plies {
			if !same(p.Root, u, 0) || !same(p.Played, u, 0) {
				t.Errorf("%s, ply %d: annotated though it was not asked for", name, i)
			}
		}
	}
	if g := convert(t, "1. e4 {q=+0.250 d=0.50 m=40 n=9} e5 *", targets); g.Plies[0].Visits != 9 || g.Plies[1].Visits != 0 {
		t.Errorf("visits %d and %d", g.Plies[0].Visits, g.Plies[1].Visits)
	}
}

// TestGameID: what makes two games one.
func TestGameID(t *testing.T) {
	id := func(text string) [16]byte { return GameID(parse(t, text)[0]) }
	base := id("[White \"A\"]\n[Black \"B\"]\n\n1. e4 e5 1-0")
	for name, same := range map[string]string{
		"comments, variations": "[White \"A\"]\n[Black \"B\"]\n\n1. e4 {x} (1. d4) 1... e7e5! 1-0",
		"order of tags":        "[Black \"B\"]\n[White \"A\"]\n\n1. e4 e5 1-0",
	} {
		if id(same) != base {
			t.Errorf("%s: another id", name)
		}
	}
	for name, other := range map[string]string{
		"moves":  "[White \"A\"]\n[Black \"B\"]\n\n1. e4 e6 1-0",
		"result": "[White \"A\"]\n[Black \"B\"]\n\n1. e4 e5 0-1",
		"tag":    "[White \"A\"]\n[Black \"C\"]\n\n1. e4 e5 1-0",
		"more":   "[White \"A\"]\n[Black \"B\"]\n[Round \"1\"]\n\n1. e4 e5 1-0",
	} {
		if id(other) == base {
			t.Errorf("%s: the same id", name)
		}
	}
}

// TestChess960AndTags: the start and the tags of a game are kept.
func TestChess960AndTags(t *testing.T) {
	g := convert(t, "[White \"A \\\"x\\\"\"]\n[Variant \"Chess960\"]\n[FEN \"2k4r/8/8/8/8/8/8/1R2K1R1 w GBh - 0 1\"]\n\n1. O-O-O *", plain)
	if g.Flags&record.Chess960 == 0 || g.Plies[0].Move != chess.NewMove(4, 1, chess.NoPiece) {
		t.Errorf("%+v", g)
	}
	tags, err := decodeTags(g.Extra)
	if want := [][2]string{{"White", `A "x"`}, {"Variant", "Chess960"}, {"FEN", "2k4r/8/8/8/8/8/8/1R2K1R1 w GBh - 0 1"}}; err != nil || !slices.Equal(tags, want) {
		t.Errorf("%v, %v", tags, err)
	}
	bytes, err := record.Append(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	back, _, err := record.Decode(bytes)
	if err != nil || back.Start != g.Start || !slices.Equal(back.Extra, g.Extra) {
		t.Errorf("%+v, %v", back, err)
	}
}

// randomPGN writes a random game with a true result.
func randomPGN(t testing.TB, rng *rand.Rand, plies int) string {
	t.Helper()
	g := &pgn.Game{Start: chess.StartBoard(), Result: "1/2-1/2", Tags: [][2]string{{"Round", string(rune('a' + rng.IntN(26)))}}}
	h := chess.NewHistory(g.Start)
	var l chess.MoveList
	for range plies {
		l.N = 0
		h.Board().GenerateMoves(&l)
		if h.Terminal(l.N) != chess.NotOver {
			break
		}
		m := l.Moves[rng.IntN(l.N)]
		g.Moves = append(g.Moves, m)
		h.Push(m)
	}
	l.N = 0
	h.Board().GenerateMoves(&l)
	if h.Terminal(l.N) == chess.Checkmate {
		g.Result = []string{"0-1", "1-0"}[h.Board().SideToMove()]
	}
	var text strings.Builder
	if err := pgn.Write(&text, g); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestRandomGames: whatever is played becomes a record that encodes and whose
// rows are as if written by hand.
func TestRandomGames(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	for range 30 {
		text := randomPGN(t, rng, 1+rng.IntN(150))
		in := parse(t, text)[0]
		g := convert(t, text, plain)
		raw, err := record.Append(nil, g)
		if err != nil {
			t.Fatal(err)
		}
		g, _, err = record.Decode(raw)
		if err != nil || len(g.Plies) != len(in.Moves) {
			t.Fatal(err)
		}
		for i, p := range g.Plies {
			if p.Move != in.Moves[i] || p.Weight != 1 || p.Visits != 0 {
				t.Fatalf("ply %d: %+v", i, p)
			}
		}
	}
}

// FuzzConvert: what package pgn reads becomes a valid record or an error.
func FuzzConvert(f *testing.F) {
	f.Add("[Event \"x\"]\n[FEN \"4k3/8/8/8/8/8/4P3/4K3 b - - 3 9\"]\n\n9... Kd7 {+0.1/2} 10. e4 (10. Kd2) $1 {[%eval #3]} 1-0\n", 0.1)
	f.Add("1. f3 e5 2. g4 Qh4# 0-1", 0.0)
	f.Add("[Variant \"Chess960\"]\n[FEN \"2k4r/8/8/8/8/8/8/1R2K1R1 w GBh - 0 1\"]\n\n1. O-O-O *", 0.0)
	f.Fuzz(func(t *testing.T, text string, smoothing float64) {
		targets := Targets{Annotated: true, DrawRate: 0.5, Smoothing: smoothing, Temperature: 1.5}
		if targets.Validate() != nil {
			return
		}
		err := pgn.Read(strings.NewReader(text), pgn.ReadOptions{Comments: true, OwnRules: true}, func(g *pgn.Game) error {
			out, err := Convert(g, targets)
			if err != nil {
				return nil
			}
			if err := out.Validate(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if tags, err := decodeTags(out.Extra); err != nil || !slices.Equal(tags, g.Tags) {
				t.Fatalf("tags %v, %v, want %v", tags, err, g.Tags)
			}
			return nil
		})
		var bad *pgn.ReadError
		if err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
	})
}
