package arena

import (
	"context"
	"reflect"
	"strings"
	"testing"
)

// TestShared: a match of which others play a part, lose a part and give a part back comes
// out as if it had been played here alone.
func TestShared(t *testing.T) {
	cfg := resumable(t)
	want := play(t, cfg)
	elsewhere := func(ctx context.Context, numbers []int) []Game {
		there := resumable(t)
		there.Numbers = numbers
		r, err := Play(ctx, there)
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		if err == nil && len(r.Games) != len(numbers) {
			t.Errorf("%d games of the numbers %v", len(r.Games), numbers)
		}
		return r.Games
	}
	for name, share := range map[string]func(ctx context.Context, s Shared){
		"nobody plays": func(ctx context.Context, s Shared) { s.Lend(100) },
		"given back":   func(ctx context.Context, s Shared) { s.Return(s.Lend(100)); s.Return([]int{3, 99}) },
		"some come, late, too": func(ctx context.Context, s Shared) {
			for ctx.Err() == nil {
				numbers := s.Lend(3)
				if len(numbers) == 0 {
					return
				}
				games := elsewhere(ctx, numbers)
				for i := range games {
					if i == 1 {
						s.Return(numbers[1:2])
					}
					if err := s.Deliver(&games[i]); err != nil {
						t.Error(err)
					}
				}
			}
		},
	} {
		begin := &held{cfg.Players[0], make(chan struct{})}
		cfg.Share = func(ctx context.Context, s Shared) {
			if first := s.Lend(3); len(first) != 3 {
				t.Errorf("%s: %d games are lent", name, len(first))
			} else {
				s.Return(first)
			}
			close(begin.until)
			share(ctx, s)
			<-ctx.Done()
		}
		cfg := cfg
		cfg.Players[0] = begin
		told := map[int]int{}
		cfg.OnGame = func(g *Game, _ Progress) { told[g.Number]++ }
		got := play(t, cfg)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: other games", name)
		}
		for n, times := range told {
			if times != 1 {
				t.Errorf("%s: game %d counts %d times", name, n, times)
			}
		}
	}
}

// TestSharedRefuses: a game from elsewhere that is not over as it says does not count.
func TestSharedRefuses(t *testing.T) {
	games := play(t, resumable(t)).Games
	cfg := resumable(t)
	cfg.Share = func(ctx context.Context, s Shared) {
		for want, change := range map[string]func(g *Game){
			"the match has games 0 to 15": func(g *Game) { g.Number = 16 },
			"is of another match":         func(g *Game) { g.White = 1 - g.White },
			"the rules say":               func(g *Game) { g.Moves = g.Moves[:len(g.Moves)-1] },
			"with +1 for White":           func(g *Game) { g.WhiteResult, g.End = 1, EndCheckmate; g.Moves = g.Moves[:g.OpeningPlies+1] },
			`the game "stalemate"`:        func(g *Game) { g.End = "stalemate" },
			"has a note":                  func(g *Game) { g.Note = strings.Repeat("<", 1000) },
		} {
			g := games[0]
			change(&g)
			if err := s.Deliver(&g); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if s.m.finished[0] != nil {
			t.Error("an altered game counts")
		}
		if err := s.Deliver(&games[0]); err != nil {
			t.Error(err)
		}
	}
	cfg.Players[0] = &held{cfg.Players[0], make(chan struct{})}
	share := cfg.Share
	cfg.Share = func(ctx context.Context, s Shared) {
		share(ctx, s)
		close(cfg.Players[0].(*held).until)
	}
	play(t, cfg)
}

// held is a player whose workers begin when until is closed.
type held struct {
	Player
	until chan struct{}
}

func (h *held) NewTable(games int) (Table, error) {
	<-h.until
	return h.Player.NewTable(games)
}

// TestNumbers refuses games that a match does not have.
func TestNumbers(t *testing.T) {
	cfg := resumable(t)
	cfg.Numbers = []int{16}
	if _, err := Play(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "game 16 is wanted: the match has games 0 to 15") {
		t.Error(err)
	}
}

// TestSharedDecides: a sequential test, which sees pairs in their order, does not wait for
// games that were lent and never come, and neither does the end.
func TestSharedDecides(t *testing.T) {
	test := SPRT{0, 200, 0.05, 0.05}
	cfg := Config{Players: [2]Player{Greedy(), Random()}, Openings: openings(t, 400), Seed: 3}
	cfg.Decided = func(p Progress) bool { return test.Test(p.Pairs).Decision != "" }
	alone := play(t, cfg)
	begin := &held{cfg.Players[0], make(chan struct{})}
	cfg.Players[0] = begin
	cfg.Share = func(ctx context.Context, s Shared) {
		if len(s.Lend(32)) != 32 {
			t.Error("nothing is lent")
		}
		close(begin.until)
		<-ctx.Done()
	}
	shared := play(t, cfg)
	if got, want := test.Judge(shared.Games), test.Judge(alone.Games); got != want || len(shared.Games) > 2*lentLead {
		t.Errorf("%+v after %d games, alone %+v after %d", got, len(shared.Games), want, len(alone.Games))
	}
}

// TestSharedLeaves: matches of the usual sizes leave games for others when all workers have
// begun, and none that is adjudicated can be shared.
func TestSharedLeaves(t *testing.T) {
	for _, shape := range []struct{ games, workers, least int }{{40, 2, 4}, {200, 2, 30}, {200, 8, 30}, {20, 2, 4}} {
		cfg := Config{Players: [2]Player{Greedy(), Random()}, Openings: openings(t, shape.games/2), Workers: shape.workers,
			Share: func(context.Context, Shared) {}}
		m, err := newMatch(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range m.cfg.Workers * m.cfg.Parallel {
			m.ticket()
		}
		if n := len(Shared{m}.Lend(32)); n < shape.least {
			t.Errorf("%+v: %d games are left", shape, n)
		}
		cfg.Adjudicate = Adjudication{ResignScore: 500, ResignMoves: 3}
		if _, err := newMatch(cfg); err == nil {
			t.Error("adjudicated games are shared")
		}
	}
}
