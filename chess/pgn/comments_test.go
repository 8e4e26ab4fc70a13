package pgn

import (
	"bytes"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

func commented(t *testing.T, moves string, comments ...string) *Game {
	t.Helper()
	g := &Game{Start: chess.StartBoard(), Result: "*", Comments: comments}
	b := g.Start
	for _, s := range strings.Fields(moves) {
		m, err := b.ParseSAN(s)
		if err != nil {
			t.Fatal(err)
		}
		g.Moves = append(g.Moves, m)
		b.Make(m)
	}
	return g
}

// Comments stand after their moves, wrapped; black's move after one has its number.
func TestWriteComments(t *testing.T) {
	g := commented(t, "e4 e5 Nf3 Nc6", "q=+0.031 d=0.41 m=57 n=101", "", "", strings.Repeat("word ", 20)+"end")
	var buf bytes.Buffer
	if err := Write(&buf, g); err != nil {
		t.Fatal(err)
	}
	want := "\n\n1. e4 {q=+0.031 d=0.41 m=57 n=101} 1... e5 2. Nf3 Nc6 {word word word word word\n" +
		"word word word word word word word word word word word word word word word end}\n*\n\n"
	if _, text, _ := strings.Cut(buf.String(), "[Result \"*\"]"); text != want {
		t.Errorf("got\n%q\nwant\n%q", text, want)
	}
	games, bad := collect(t, buf.String())
	if bad != nil || len(games) != 1 || len(games[0].Moves) != 4 || games[0].Moves[3] != g.Moves[3] {
		t.Errorf("read back: %v %v", games, bad)
	}
}

func TestWriteRefusesComments(t *testing.T) {
	for _, c := range []string{"a } b", "%x", "a %x", `a [Event "b"]`} {
		var buf bytes.Buffer
		err := Write(&buf, commented(t, "e4", c))
		if (err == nil) != (c == "%x") || err != nil && buf.Len() > 0 { // behind the brace a % is no line's start
			t.Errorf("%q: %v, %d bytes", c, err, buf.Len())
		}
	}
	if err := Write(new(bytes.Buffer), commented(t, "e4 e5", "one")); err == nil {
		t.Error("one comment beside two moves was written")
	}
}
