package pgn

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func collectWith(t *testing.T, text string, opt ReadOptions) ([]*Game, *ReadError) {
	t.Helper()
	var games []*Game
	err := Read(strings.NewReader(text), opt, func(g *Game) error {
		games = append(games, g)
		return nil
	})
	var bad *ReadError
	if err != nil && !errors.As(err, &bad) {
		t.Fatal(err)
	}
	return games, bad
}

// TestReadComments: those of the main line stand behind their moves, the others
// are left out.
func TestReadComments(t *testing.T) {
	const text = `[Event "x"]

{ before } 1. e4 {a
  b} {c} (1. d4 {no}) e5 ; to the end } of line
2. Nf3 $1 {[%eval 0.25]} Nc6 {} *

1. d4 d5 *
`
	for _, own := range []bool{false, true} {
		games, bad := collectWith(t, text, ReadOptions{Comments: true, OwnRules: own})
		if bad != nil || len(games) != 2 {
			t.Fatalf("%d games, %v", len(games), bad)
		}
		want := []string{"a b c", "to the end } of line", "[%eval 0.25]", ""}
		if g := games[0]; !slices.Equal(g.Comments, want) || g.Index != 0 || g.Line != 1 {
			t.Errorf("game %d, line %d: %q", g.Index, g.Line, g.Comments)
		}
		if g := games[1]; g.Comments != nil || g.Index != 1 || g.Line != 7 {
			t.Errorf("game %d, line %d: %q", g.Index, g.Line, g.Comments)
		}
	}
	if games, _ := collect(t, text); games[0].Comments != nil {
		t.Errorf("Read kept %q", games[0].Comments)
	}
	long := "1. e4 {" + strings.Repeat("x", maxComments) + "} e5 *\n1. d4 *"
	games, bad := collectWith(t, long, ReadOptions{Comments: true})
	if len(games) != 1 || bad == nil || bad.Total != 1 || !strings.Contains(bad.Games[0].Reason, "comments") {
		t.Errorf("too long comments: %d games, %v", len(games), bad)
	}
	if games, bad := collect(t, long); len(games) != 2 || bad != nil {
		t.Errorf("comments that are not kept: %d games, %v", len(games), bad)
	}
}

// TestOwnRulesReadTheSame: package chess alone reads what it reads with the
// library's second opinion.
func TestOwnRulesReadTheSame(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	var text strings.Builder
	for i := range 12 {
		g := randomGame(rng, i)
		g.Tags = [][2]string{{"Round", fmt.Sprint(i)}}
		if err := Write(&text, g); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			text.WriteString("[Event \"bad\"]\n\n1. e4 e4 *\n\n")
		}
	}
	a, badA := collect(t, text.String())
	b, badB := collectWith(t, text.String(), ReadOptions{OwnRules: true})
	if len(a) != 12 || len(b) != 12 || badA.Error() != badB.Error() {
		t.Fatalf("%d and %d games, %v, %v", len(a), len(b), badA, badB)
	}
	for i := range a {
		if moveText(a[i]) != moveText(b[i]) || a[i].Line != b[i].Line || a[i].Result != b[i].Result || a[i].Tag("Round") != b[i].Tag("Round") {
			t.Errorf("game %d differs", i)
		}
	}
}

// TestOnBad: bad games are told in their place, and an error ends the reading.
func TestOnBad(t *testing.T) {
	const text = "1. e4 *\n1. zz *\n1. d4 *\n1. yy *\n1. c4 *\n"
	stop := errors.New("stop")
	for _, limit := range []int{1, 2, 3} {
		var order []int
		bad := 0
		err := Read(strings.NewReader(text), ReadOptions{OnBad: func(e *GameError) error {
			order = append(order, e.Index)
			if bad++; bad == limit {
				return stop
			}
			return nil
		}}, func(g *Game) error { order = append(order, g.Index); return nil })
		want, wantErr := [][]int{{0, 1}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}}[limit-1], limit < 3
		if !slices.Equal(order, want) || errors.Is(err, stop) != wantErr {
			t.Errorf("limit %d: %v, %v", limit, order, err)
		}
	}
}
