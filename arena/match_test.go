package arena

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/pgn"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/mcts"
)

// openings returns n openings of 8 plies.
func openings(t testing.TB, n int) []Opening {
	t.Helper()
	o, err := Vary(nil, n, 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// hashNet returns a net player over mcts.HashEvaluator with so many visits.
func hashNet(t testing.TB, name string, seed uint64, visits int, change func(*Settings)) Player {
	t.Helper()
	s := Settings{Search: mcts.DefaultConfig(), TreeReuse: true}
	s.Search.Simulations = visits
	if change != nil {
		change(&s)
	}
	p, err := NewNet(NetConfig{
		Name:         name,
		NewEvaluator: func(int) mcts.Evaluator { return &mcts.HashEvaluator{Seed: seed} },
		Settings:     [2]Settings{s, s},
		CacheEntries: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// play plays a match that must not fail.
func play(t testing.TB, cfg Config) *Result {
	t.Helper()
	r, err := Play(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGreedyBeatsRandom: each of 100 pairs is won with far more than one half.
func TestGreedyBeatsRandom(t *testing.T) {
	s := Summarise(play(t, Config{Players: [2]Player{Greedy(), Random()}, Openings: openings(t, 100), Seed: 1}).Games)
	if e := s.Estimate; s.Games() != 200 || e.Pairs != 100 || !(e.Low > 300) || e.LOS < 0.9999 {
		t.Errorf("greedy against random: %+v", s)
	}
	s = Summarise(play(t, Config{Players: [2]Player{Random(), Greedy()}, Openings: openings(t, 100), Seed: 1}).Games)
	if e := s.Estimate; !(e.High < -300) || e.LOS > 0.0001 {
		t.Errorf("random against greedy: %+v", s)
	}
}

// TestAgainstItself: a player without chance against itself scores one half in
// each pair, whatever its search.
func TestAgainstItself(t *testing.T) {
	for _, change := range []func(*Settings){nil, func(s *Settings) { s.Search.Gumbel.Enabled = true }, func(s *Settings) { s.TreeReuse = false }} {
		p := hashNet(t, "net", 1, 12, change)
		r := play(t, Config{Players: [2]Player{p, p}, Openings: openings(t, 10), Seed: 3, MaxPlies: 120})
		s := Summarise(r.Games)
		if s.Pentanomial != (Pentanomial{2: 10}) || s.Points() != 10 || s.Estimate.Elo != 0 {
			t.Errorf("against itself: %+v", s)
		}
		for i := 0; i < len(r.Games); i += 2 {
			if !reflect.DeepEqual(r.Games[i].Moves, r.Games[i+1].Moves) {
				t.Errorf("pair %d: the games differ", i/2)
			}
		}
		if r.Names != [2]string{"net (1)", "net (2)"} {
			t.Errorf("names %q", r.Names)
		}
	}
}

// TestReproducible: neither the workers nor the games under way change a game;
// the seed does.
func TestReproducible(t *testing.T) {
	players := [2]Player{
		hashNet(t, "a", 1, 10, func(s *Settings) { s.Temperature, s.TemperaturePlies = 1, 30 }),
		Greedy(),
	}
	base := Config{Players: players, Openings: openings(t, 12), Seed: 7, MaxPlies: 150}
	want := play(t, base)
	for _, shape := range [][2]int{{1, 1}, {1, 5}, {3, 2}, {2, 0}, {40, 7}} {
		cfg := base
		cfg.Workers, cfg.Parallel = shape[0], shape[1]
		if got := play(t, cfg); !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers with %d games: other games", shape[0], shape[1])
		}
	}
	other := base
	other.Seed = 8
	if reflect.DeepEqual(play(t, other), want) {
		t.Error("another seed gives the same games")
	}
}

// TestGames replays a match: openings, colours, legal moves, ends and results.
func TestGames(t *testing.T) {
	cfg := Config{Players: [2]Player{Random(), Random()}, Openings: openings(t, 60), Seed: 5, MaxPlies: 300, Workers: 2}
	told := map[int]bool{}
	cfg.OnGame = func(g *Game, _ Progress) { told[g.Number] = true }
	r := play(t, cfg)
	if len(r.Games) != 120 || len(told) != 120 {
		t.Fatalf("%d games, told of %d", len(r.Games), len(told))
	}
	ends := map[End]int{}
	for i := range r.Games {
		g := &r.Games[i]
		o := &cfg.Openings[i/2]
		if g.Number != i || g.White != i%2 || g.OpeningPlies != 8 || !reflect.DeepEqual(g.Moves[:8], o.Moves) {
			t.Fatalf("game %d: %+v", i, g)
		}
		checkEnd(t, g, cfg.MaxPlies)
		ends[g.End]++
	}
	if ends[EndCheckmate] == 0 || ends[EndMaxPlies] == 0 {
		t.Errorf("ends %v: none by mate or none by length", ends)
	}
}

// checkEnd replays a game and compares its end.
func checkEnd(t *testing.T, g *Game, maxPlies int) {
	t.Helper()
	h := chess.NewHistory(g.Start)
	var l chess.MoveList
	h.Board().GenerateMoves(&l)
	for ply, m := range g.Moves {
		if end := h.Terminal(l.N); end != chess.NotOver || l.Index(m) < 0 {
			t.Fatalf("game %d ply %d: %s after %v", g.Number, ply, m, end)
		}
		h.Push(m)
		h.Board().GenerateMoves(&l)
	}
	end, result := h.Terminal(l.N), int8(0)
	if end == chess.Checkmate {
		result = 1
		if h.Board().SideToMove() == chess.White {
			result = -1
		}
	}
	long := end == chess.NotOver && len(g.Moves) == maxPlies
	if g.WhiteResult != result || (g.End == EndMaxPlies) != long || !long && g.End != endOf(end) || g.End == "" {
		t.Errorf("game %d: %s %d after %d plies, the rules say %v %d", g.Number, g.End, g.WhiteResult, len(g.Moves), end, result)
	}
}

// TestPGN reads a match's PGN back, with openings that begin elsewhere.
func TestPGN(t *testing.T) {
	book := append(openings(t, 5), Opening{Board: chesstest.Board(t, "4k3/pppp4/8/8/8/8/4PPPP/4K3 b - - 3 20")})
	r := play(t, Config{Players: [2]Player{Random(), Greedy()}, Openings: book, Seed: 2, MaxPlies: 80})
	var file bytes.Buffer
	if err := r.WritePGN(&file); err != nil {
		t.Fatal(err)
	}
	var read []*pgn.Game
	if err := pgn.Read(&file, pgn.ReadOptions{}, func(g *pgn.Game) error { read = append(read, g); return nil }); err != nil || len(read) != 12 {
		t.Fatalf("%d games, %v", len(read), err)
	}
	for i, got := range read {
		want := &r.Games[i]
		result := [3]string{"0-1", "1/2-1/2", "1-0"}[want.WhiteResult+1]
		if got.Start != want.Start || !reflect.DeepEqual(got.Moves, want.Moves) || got.Result != result {
			t.Errorf("game %d reads back as %+v", i, got)
		}
		for tag, value := range map[string]string{
			"White": r.Names[i%2], "Black": r.Names[1-i%2], "Round": fmt.Sprintf("%d.%d", i/2+1, i%2+1), "EndReason": string(want.End),
			"Termination": map[bool]string{true: "adjudication", false: "normal"}[want.End == EndMaxPlies],
		} {
			if got.Tag(tag) != value {
				t.Errorf("game %d: %s %q, want %q", i, tag, got.Tag(tag), value)
			}
		}
	}
}

// failing is an evaluator that answers some batches and then fails.
type failing struct {
	mcts.HashEvaluator
	left int
	err  error
}

func (f *failing) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if f.left--; f.left < 0 {
		return f.err
	}
	return f.HashEvaluator.Evaluate(ctx, b)
}

// netOver returns a net player with 8 visits over an evaluator of each worker.
func netOver(t *testing.T, name string, ev func(maxBatch int) mcts.Evaluator) Player {
	t.Helper()
	s := Settings{Search: mcts.DefaultConfig()}
	s.Search.Simulations = 8
	p, err := NewNet(NetConfig{Name: name, NewEvaluator: ev, Settings: [2]Settings{s, s}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEvaluatorFails: the match ends with the error, and the games that were
// finished are returned.
func TestEvaluatorFails(t *testing.T) {
	broken := errors.New("broken")
	p := netOver(t, "weak link", func(int) mcts.Evaluator { return &failing{left: 5000, err: broken} })
	r, err := Play(context.Background(), Config{Players: [2]Player{p, Random()}, Openings: openings(t, 50), Parallel: 4, Workers: 2})
	if !errors.Is(err, broken) || errors.Is(err, ErrStopped) || !strings.Contains(err.Error(), "player weak link: evaluate ") {
		t.Errorf("error %v", err)
	}
	if r == nil || len(r.Games) == 0 || len(r.Games) == 100 {
		t.Errorf("%+v", r)
	}
}

// TestStop cancels a match after ten games: they are returned.
func TestStop(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why, games := errors.New("enough"), 0
	cfg := Config{Players: [2]Player{hashNet(t, "a", 1, 10, nil), Random()}, Openings: openings(t, 50), Workers: 2, Parallel: 3}
	cfg.OnGame = func(*Game, Progress) {
		if games++; games == 10 {
			cancel(why)
		}
	}
	r, err := Play(ctx, cfg)
	if !errors.Is(err, ErrStopped) || !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	if len(r.Games) != games || games < 10 || games > 12 {
		t.Errorf("%d games are returned, %d were finished", len(r.Games), games)
	}
	if s := Summarise(r.Games); s.Games() != games || s.Estimate.Pairs > games/2 {
		t.Errorf("%+v", s)
	}
}

// TestIllegalMove: a player that cheats ends the match.
func TestIllegalMove(t *testing.T) {
	cheat := &chooser{"cheat", func(*chess.Board, *chess.MoveList, *rand.Rand) chess.Move { return chess.NoMove }}
	_, err := Play(context.Background(), Config{Players: [2]Player{Random(), cheat}, Openings: openings(t, 1)})
	if err == nil || !strings.Contains(err.Error(), "player cheat: illegal move") {
		t.Errorf("error %v", err)
	}
}

// TestConfigErrors holds the messages of a match that cannot begin.
func TestConfigErrors(t *testing.T) {
	both := [2]Player{Random(), Greedy()}
	for want, cfg := range map[string]Config{
		"two players and an opening":             {Players: both},
		"needs two players":                      {Openings: openings(t, 1)},
		"none may be negative":                   {Players: both, Openings: openings(t, 1), Workers: -1},
		"opening 1 has 8 plies, and a game is d": {Players: both, Openings: openings(t, 1), MaxPlies: 8},
	} {
		if r, err := Play(context.Background(), cfg); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v; want an error with %q", r, err, want)
		}
	}
}

// counting notes the sizes of its batches.
type counting struct {
	mcts.HashEvaluator
	batches, positions, most int
}

func (c *counting) Evaluate(ctx context.Context, b *encoding.Batch) error {
	c.batches++
	c.positions += b.N
	c.most = max(c.most, b.N)
	return c.HashEvaluator.Evaluate(ctx, b)
}

// TestFullBatches: a batch holds the positions of all games in which the player
// is to move. Against an opponent that answers at once these are all games.
func TestFullBatches(t *testing.T) {
	c := new(counting)
	p := netOver(t, "a", func(maxBatch int) mcts.Evaluator {
		if maxBatch != 16 {
			t.Errorf("an evaluator for %d positions, want 16", maxBatch)
		}
		return c
	})
	play(t, Config{Players: [2]Player{p, Random()}, Openings: openings(t, 40), Parallel: 16, MaxPlies: 60})
	if mean := float64(c.positions) / float64(c.batches); c.most != 16 || mean < 12 {
		t.Errorf("batches of %.1f on average, %d at most", mean, c.most)
	}
}
