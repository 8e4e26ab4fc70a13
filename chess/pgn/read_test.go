package pgn

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// collect reads all games; bad games come back beside them.
func collect(t *testing.T, text string) ([]*Game, *ReadError) {
	t.Helper()
	var games []*Game
	err := Read(strings.NewReader(text), ReadOptions{}, func(g *Game) error {
		games = append(games, g)
		return nil
	})
	var bad *ReadError
	if err != nil && !errors.As(err, &bad) {
		t.Fatal(err)
	}
	return games, bad
}

func moveText(g *Game) string {
	b := g.Start
	var out []string
	for _, m := range g.Moves {
		out = append(out, b.UCI(m, g.Start.Castles960()))
		b.Make(m)
	}
	return strings.Join(out, " ")
}

// TestReadTraps holds texts that notnil/chess alone misreads or dies of, and
// other things that files hold.
func TestReadTraps(t *testing.T) {
	cases := []struct{ name, text, moves, result string }{
		{"plain", "1. e4 e5 2. Nf3 Nc6 1-0", "e2e4 e7e5 g1f3 b8c6", "1-0"},
		{"comment first", "{ before } 1. e4 {a} e5 *", "e2e4 e7e5", "*"},
		{"semicolon comment", "1. e4 ; not d4 or Nf3\ne5 *", "e2e4 e7e5", "*"},
		{"escape line", "% e4 e5 Nf3\n1. d4 d5 *", "d2d4 d7d5", "*"},
		{"move and bracket in comment", "1. e4 {\n[%clk 1:00] Nf3 (e5 1-0\n[x \"y\"]\n} e5 *", "e2e4 e7e5", "*"},
		{"semicolon in comment", "1. e4 {a;b} e5 *", "e2e4 e7e5", "*"},
		{"nested variations", "1. e4 (1. d4 d5 (1... Nf6 {)} 2. c4) 2. c4) e5 *", "e2e4 e7e5", "*"},
		{"NAGs and marks", "1. e4! $1 $12 e5?! 2. Nf3!! Nc6 ?? += 3. Bb5 *", "e2e4 e7e5 g1f3 b8c6 f1b5", "*"},
		{"castling with zeros", "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. 0-0 Nf6 *", "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 e1g1 g8f6", "*"},
		{"more origin than needed", "1. Ng1f3 Nb8c6 2. N3d4 Ncb8 *", "g1f3 b8c6 f3d4 c6b8", "*"},
		{"long and UCI moves", "1. e2e4 e7-e5 2. Ng1-f3 *", "e2e4 e7e5 g1f3", "*"},
		{"numbers glued or apart", "1.e4 1...e5 2 . Nf3 2. ... Nc6 *", "e2e4 e7e5 g1f3 b8c6", "*"},
		{"missing check marks", "1. e4 f6 2. Qh5 g6 *", "e2e4 f7f6 d1h5 g7g6", "*"},
		{"en passant written", "1. e4 a6 2. e5 d5 3. exd6e.p. Nf6 *", "e2e4 a7a6 e4e5 d7d5 e5d6 g8f6", "*"},
		{"en passant word", "1. e4 a6 2. e5 d5 3. exd6 e.p. *", "e2e4 a7a6 e4e5 d7d5 e5d6", "*"},
		{"no result", "1. e4 e5", "e2e4 e7e5", "*"},
		{"result from tag", "[Result \"0-1\"]\n\n1. e4 e5\n", "e2e4 e7e5", "0-1"},
		{"CRLF and BOM", "\xef\xbb\xbf[Event \"x\"]\r\n\r\n1. e4\r\ne5 1/2-1/2\r\n", "e2e4 e7e5", "1/2-1/2"},
		{"promotion without =", "[FEN \"8/P6k/8/8/8/8/8/K7 w - - 0 1\"]\n\n1. a8Q Kg7 *", "a7a8q h7g7", "*"},
		{"FEN, black to move", "[FEN \"4k3/8/8/8/8/8/4P3/4K3 b - - 3 9\"]\n\n9... Kd7 10. e4 *", "e8d7 e2e4", "*"},
		{"no moves", "[Event \"x\"]\n\n1-0", "", "1-0"},
		{"960", "[Variant \"Chess960\"]\n[FEN \"2k4r/8/8/8/8/8/8/1R2K1R1 w GBh - 0 1\"]\n\n1. O-O-O *", "e1b1", "*"},
	}
	for _, c := range cases {
		games, bad := collect(t, c.text)
		if bad != nil || len(games) != 1 {
			t.Errorf("%s: %d games, %v", c.name, len(games), bad)
			continue
		}
		if got := moveText(games[0]); got != c.moves || games[0].Result != c.result {
			t.Errorf("%s: %q %s, want %q %s", c.name, got, games[0].Result, c.moves, c.result)
		}
	}
}

// TestBadGamesAreReported puts a bad game between good ones.
func TestBadGamesAreReported(t *testing.T) {
	const good = "[Event \"g\"]\n\n1. e4 e5 1-0\n\n" // four lines
	cases := []struct {
		name, text string
		line       int // within the bad text
		reason     string
	}{
		{"illegal", "[Event \"b\"]\n\n1. e4\ne4 *\n\n", 4, "illegal"},
		{"ambiguous", "[Event \"b\"]\n[FEN \"k7/8/8/8/8/8/8/KN3N2 w - - 0 1\"]\n\n1. Nd2 *\n", 4, "ambiguous"},
		{"null move", "[Event \"b\"]\n\n1. e4 -- *\n\n", 3, "malformed"},
		{"words", "[Event \"b\"]\n\n1. hello *\n\n", 3, "malformed"},
		{"open comment", "[Event \"b\"]\n\n1. e4 { e5\n2. Nf3 *\n\n", 3, "comment is not closed"},
		{"open variation", "[Event \"b\"]\n\n1. e4 ( e5\n2. Nf3 *\n\n", 3, "variation is not closed"},
		{"closing alone", "[Event \"b\"]\n\n1. e4 } e5 *\n\n", 3, "closing }"},
		{"FEN", "[Event \"b\"]\n[FEN \"8/8/8/8/8/8/8/8 w - - 0 1\"]\n\n*\n", 1, "no king"},
		{"variant", "[Event \"b\"]\n[Variant \"Atomic\"]\n\n1. e4 *\n", 1, "Atomic"},
		{"tag", "[Event \"b\"]\n[White \"x]\n\n1. e4 *\n", 2, "not closed"},
	}
	for _, c := range cases {
		games, bad := collect(t, good+c.text+good)
		if len(games) != 2 || bad == nil || bad.Total != 1 || len(bad.Games) != 1 {
			t.Errorf("%s: %d games, %v", c.name, len(games), bad)
			continue
		}
		e := bad.Games[0]
		if e.Index != 1 || e.Line != 4+c.line || !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%s: %v, want game 1, line %d, %q", c.name, e, 4+c.line, c.reason)
		}
		var ge *GameError
		if !errors.As(error(bad), &ge) || ge != e {
			t.Errorf("%s: GameError is not reachable by errors.As", c.name)
		}
	}
}

func TestGamesWithoutTags(t *testing.T) {
	games, bad := collect(t, "1. e4 1-0\n1. d4 0-1 1. c4 *\n[Event \"a\"]\n[Event \"b\"]\n\n1. f4 *")
	if bad != nil || len(games) != 5 {
		t.Fatalf("%d games, %v", len(games), bad)
	}
	for i, want := range []string{"e2e4", "d2d4", "c2c4", "", "f2f4"} {
		if got := moveText(games[i]); got != want {
			t.Errorf("game %d: %q, want %q", i, got, want)
		}
	}
}

// TestStandardGamesGoThroughTheLibrary keeps the clean copy readable to it: if it
// refused, package chess would take over and hide that.
func TestStandardGamesGoThroughTheLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := 0; i < 20; i += 2 {
		g := randomGame(rng, i)
		b := g.Start
		var words []word
		for _, m := range g.Moves {
			words = append(words, word{b.SAN(m) + "!?", 1})
			b.Make(m)
		}
		moves, ok := decodeStandard(&g.Start, words)
		if !ok || moveText(&Game{Start: g.Start, Moves: moves}) != moveText(g) {
			t.Errorf("game %d: %v", i, ok)
		}
	}
}

func TestStopsAtErrors(t *testing.T) {
	text := strings.Repeat("1. e4 e5 *\n", 200)
	stop := errors.New("stop")
	calls := 0
	err := Read(strings.NewReader(text), ReadOptions{}, func(*Game) error {
		if calls++; calls == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
	broken := io.MultiReader(strings.NewReader("1. e4 *\n1. zz *\n1. d4"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if err := Read(broken, ReadOptions{}, func(*Game) error { return nil }); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("reader's error: %v", err)
	}
}
