package arena

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// resumable is a match with chance in it.
func resumable(t *testing.T) Config {
	return Config{
		Players:  [2]Player{hashNet(t, "a", 1, 6, func(s *Settings) { s.Temperature, s.TemperaturePlies = 1, 30 }), Random()},
		Openings: openings(t, 8), Seed: 9, MaxPlies: 80, Workers: 2, Parallel: 3,
	}
}

// TestDone: whichever games of a match are finished, the others come out as if
// none had been, and OnGame is told them alone.
func TestDone(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	cfg := resumable(t)
	want := play(t, cfg)
	for share := range 5 {
		cfg.Done = nil
		told := 0
		cfg.OnGame = func(_ *Game, p Progress) {
			told++
			if n := p.Games(); n != len(cfg.Done)+told {
				t.Errorf("the progress after %d games and %d before counts %d", told, len(cfg.Done), n)
			}
			if n := len(want.Games); told == n-len(cfg.Done) && p.All != Summarise(want.Games).Pentanomial {
				t.Errorf("all pairs %v, want %v", p.All, Summarise(want.Games).Pentanomial)
			}
		}
		for i := range want.Games {
			if rng.IntN(4) < share {
				cfg.Done = append(cfg.Done, want.Games[i])
			}
		}
		rng.Shuffle(len(cfg.Done), func(i, k int) { cfg.Done[i], cfg.Done[k] = cfg.Done[k], cfg.Done[i] })
		if got := play(t, cfg); !reflect.DeepEqual(got, want) || told != 16-len(cfg.Done) {
			t.Errorf("%d games were finished: told of %d, other games", len(cfg.Done), told)
		}
	}
}

// TestDoneErrors holds what is said of games that are not of the match.
func TestDoneErrors(t *testing.T) {
	cfg := resumable(t)
	games := play(t, cfg).Games
	for want, change := range map[string]func(g *Game) int{
		"finished game 16: the match has games 0 to 15": func(g *Game) int { g.Number = 16; return 1 },
		"does not begin with opening 2":                 func(g *Game) int { g.Number = 2; return 1 },
		"game 0 is of another match":                    func(g *Game) int { g.White = 1; return 1 },
		"game 0 is there twice":                         func(g *Game) int { return 2 },
	} {
		g := games[0]
		cfg.Done = nil
		for range change(&g) {
			cfg.Done = append(cfg.Done, g)
		}
		if r, err := Play(context.Background(), cfg); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// TestResume stops a match after every few games and goes on from its log: no
// game is played twice, and the result is that of a match without a stop.
func TestResume(t *testing.T) {
	cfg := resumable(t)
	want := play(t, cfg)
	path := filepath.Join(t.TempDir(), "m.jsonl")
	for stops := 0; ; stops++ {
		log, done, err := OpenLog(fsx.OS, path, header())
		if err != nil {
			t.Fatal(err)
		}
		cfg.Log, cfg.Done = log, done
		ctx, cancel := context.WithCancel(t.Context())
		played := 0
		cfg.OnGame = func(*Game, Progress) {
			if played++; played == 3 {
				cancel()
			}
		}
		got, err := Play(ctx, cfg)
		cancel()
		if closed := log.Close(); closed != nil {
			t.Fatal(closed)
		}
		_, logged, logErr := ReadLog(fsx.OS, path)
		if logErr != nil || !reflect.DeepEqual(logged, got.Games) || len(logged) != len(done)+played {
			t.Fatalf("stop %d: %d games in the log, %d in the result, %d of them new: %v", stops, len(logged), len(got.Games), played, logErr)
		}
		if err == nil {
			if !reflect.DeepEqual(got, want) || stops < 2 {
				t.Errorf("after %d stops: another result", stops)
			}
			return
		}
		if !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
	}
}

// TestLogFails: a game that cannot be logged does not count, and ends the match.
func TestLogFails(t *testing.T) {
	cfg := resumable(t)
	log, _, err := OpenLog(fsx.OS, filepath.Join(t.TempDir(), "m"), header())
	if err != nil {
		t.Fatal(err)
	}
	cfg.OnGame = func(g *Game, _ Progress) {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
	cfg.Log = log
	r, err := Play(context.Background(), cfg)
	if err == nil || errors.Is(err, ErrStopped) || !strings.Contains(err.Error(), "match log") || len(r.Games) != 1 {
		t.Errorf("%v, %d games", err, len(r.Games))
	}
}

// TestDecidedBySPRT: a sequential test decides after the same pair, whatever is
// under way beside it; no game is told after the decision, and a match that is
// decided plays nothing when it is gone on with.
func TestDecidedBySPRT(t *testing.T) {
	test := SPRT{0, 200, 0.05, 0.05}
	var want SPRTResult
	for i, shape := range [][2]int{{1, 1}, {1, 20}, {3, 4}, {7, 1}} {
		cfg := Config{Players: [2]Player{Greedy(), Random()}, Openings: openings(t, 400), Seed: 3, Workers: shape[0], Parallel: shape[1]}
		told := 0
		cfg.OnGame = func(*Game, Progress) { told++ }
		cfg.Decided = func(p Progress) bool { return test.Test(p.Pairs).Decision != "" }
		r := play(t, cfg)
		got := test.Judge(r.Games)
		if i == 0 {
			want = got
			if len(r.Games) != 2*want.Pairs {
				t.Errorf("one game at a time: %d games, decided after %d pairs", len(r.Games), want.Pairs)
			}
		}
		if !r.Decided || got != want || got.Decision != AcceptH1 || told != len(r.Games) || told >= 800 {
			t.Errorf("%v: %+v after %d games, told of %d; want %+v", shape, got, len(r.Games), told, want)
		}
		cfg.Done, told = r.Games, 0
		if again := play(t, cfg); !reflect.DeepEqual(again, r) || told != 0 {
			t.Errorf("%v: gone on with, %d games are played", shape, told)
		}
	}
}

// TestProgress: what Decided is shown, against what the games before say.
func TestProgress(t *testing.T) {
	cfg := resumable(t)
	var all []Game
	asked := 0
	cfg.OnGame = func(g *Game, _ Progress) { all = append(all, *g) }
	cfg.Decided = func(p Progress) bool {
		asked++
		if p.Total != 16 || p.Games() != len(all)+1 {
			t.Errorf("progress %+v after %d games", p, len(all))
		}
		return p.Points() >= 5 // a gatekeeper's question
	}
	cfg.Players[0] = Greedy()
	cfg.MaxPlies = 300
	r := play(t, cfg)
	s := Summarise(r.Games)
	if !r.Decided || s.Points() < 5 || s.Points() > 5.5 || len(all) != s.Games() || asked < len(all) {
		t.Errorf("%+v after %d games, asked %d times", s, len(all), asked)
	}
	cfg.Decided, cfg.OnGame = func(Progress) bool { return false }, nil
	if r := play(t, cfg); r.Decided || len(r.Games) != 16 {
		t.Errorf("never decided: %d games, decided %v", len(r.Games), r.Decided)
	}
}
