package selfplay

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// stopping is an evaluator that stops the run in its left-th batch; it answers
// that one still, or gives the context's error.
type stopping struct {
	mcts.HashEvaluator
	left    int
	answers bool
	stop    context.CancelFunc
}

func (s *stopping) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if s.left--; s.left == 0 {
		s.stop()
		if !s.answers {
			return ctx.Err()
		}
	}
	return s.HashEvaluator.Evaluate(ctx, b)
}

// runStopped runs a worker whose left-th batch stops it, and returns what it
// leaves; ended says that it was through before.
func runStopped(t *testing.T, cfg WorkerConfig, left int, answers bool) (unfinished []Unfinished, ended bool) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cfg.Nets = FixedNet{"hash", &stopping{left: left, answers: answers, stop: stop}}
	w, err := NewWorker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = w.Run(ctx)
	if err != nil && !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	return w.Unfinished(), err == nil
}

// throughBytes writes the games and reads them back.
func throughBytes(t *testing.T, games []Unfinished) []Unfinished {
	t.Helper()
	back := make([]Unfinished, len(games))
	for i, u := range games {
		data, err := u.MarshalBinary()
		if err == nil {
			err = back[i].UnmarshalBinary(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return back
}

// stopGame is a game with all that must live through a stop.
func stopGame(reuse bool) GameConfig {
	c := short()
	c.TreeReuse = reuse
	c.Openings, _ = NewOpenings(nil, OrderRandom, 3)
	c.Resign = Resign{Enabled: true, Q: -0.3, Plies: 2, PlayThrough: 0.5}
	c.Fork = Fork{Early: 0.3, Late: 0.3, SidePositions: 0.1}
	return c
}

// playWithStops plays games with a stop after every few batches, each followed
// by a restart from bytes, and returns them and the longest beginnings seen at
// the stops.
func playWithStops(t *testing.T, cfg WorkerConfig, games uint64, rng *rand.Rand) (map[uint64]*record.Game, map[uint64]*record.Game, int) {
	t.Helper()
	sink, tickets, begun := new(collector), NewTickets(0, games), map[uint64]*record.Game{}
	cfg.Sink, cfg.Tickets, cfg.Stats = sink, tickets, new(Stats)
	places, stops := cfg.Parallel, 0
	for {
		cfg.Parallel, cfg.Pools = 1+rng.IntN(places), rng.IntN(2)+1
		if cfg.Parallel == 1 {
			cfg.Pools = 1
		}
		left, ended := runStopped(t, cfg, 1+rng.IntN(200), rng.IntN(2) == 0)
		if ended {
			if len(left) > 0 {
				t.Fatalf("%d games unfinished at the end", len(left))
			}
			break
		}
		stops++
		cfg.Unfinished = throughBytes(t, left)
		for i := range left {
			begun[left[i].Ordinal()] = left[i].rec.Clone()
		}
	}
	s := cfg.Stats
	if f := s.GamesFinished.Load(); f != uint64(len(sink.games)) || s.GamesStarted.Load()+s.GamesResumed.Load() != f+s.GamesAbandoned.Load() {
		t.Errorf("started %d, resumed %d, finished %d, abandoned %d", s.GamesStarted.Load(), s.GamesResumed.Load(), f, s.GamesAbandoned.Load())
	}
	return sink.byOrdinal(t), begun, stops
}

func TestStoppedGamesGoOn(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	const games = 20
	for _, reuse := range []bool{false, true} {
		whole := new(collector)
		cfg := worker(whole, NewTickets(0, games))
		cfg.Game = stopGame(reuse)
		mustRun(t, cfg)
		got, begun, stops := playWithStops(t, cfg, games, rng)
		if len(got) < games+20 || stops < 3 || len(begun) < 3 {
			t.Fatalf("%d games, %d stops, %d games under way at one", len(got), stops, len(begun))
		}
		if !reuse { // without a tree to lose, a stop changes nothing
			sameGames(t, "a stop", whole.byOrdinal(t), got)
		}
		for ordinal, b := range begun {
			g := got[ordinal].Clone()
			if len(g.Plies) < len(b.Plies) {
				t.Fatalf("game %d has lost moves", ordinal)
			}
			g.Plies = g.Plies[:len(b.Plies)]
			for i := range g.Plies { // known at the end only
				g.Plies[i].Flags &^= record.Adjudicated
				b.Plies[i].Flags &^= record.Adjudicated
			}
			if diff := cmp.Diff(b.Plies, g.Plies, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("game %d: moves before the stop are others:\n%.1000s", ordinal, diff)
			}
			if g.ID != b.ID || g.Start != b.Start || g.NetID != b.NetID || g.Flags&record.NetChanged != 0 {
				t.Errorf("game %d is another: %+v", ordinal, g)
			}
		}
	}
}

func TestAWorkersNextRunGoesOnWithItsGames(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	sink := new(collector)
	cfg := worker(sink, NewTickets(0, 12))
	cfg.Nets = FixedNet{"hash", &stopping{left: 30, answers: true, stop: stop}}
	w, err := NewWorker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(ctx); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	if err := w.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(sink.byOrdinal(t)); n != 12 || cfg.Stats.GamesResumed.Load() != 8 || len(w.Unfinished()) != 0 {
		t.Errorf("%d games of 12, %d of 8 gone on with", n, cfg.Stats.GamesResumed.Load())
	}
}

// TestGamesSurviveErrors holds that neither an evaluator's error nor a sink's
// loses a game, not even one that was over already.
func TestGamesSurviveErrors(t *testing.T) {
	whole := new(collector)
	cfg := worker(whole, NewTickets(0, 9))
	cfg.Game = stopGame(false)
	mustRun(t, cfg)
	for _, pools := range []int{1, 2} {
		sink := new(collector)
		cfg.Sink, cfg.Tickets, cfg.Stats, cfg.Unfinished, cfg.Pools = sink, NewTickets(0, 9), new(Stats), nil, pools
		for run, finished := 0, 0; ; run++ {
			nets, put := cfg.Nets, cfg.Sink
			switch {
			case run < 4:
				cfg.Nets = FixedNet{"hash", &failing{left: 7}}
			case run < 8:
				cfg.Sink = &refusing{to: sink, left: run % 2}
			}
			w, err := NewWorker(cfg)
			if err != nil {
				t.Fatal(err)
			}
			err = w.Run(context.Background())
			if (run < 8) != errors.Is(err, errBroken) {
				t.Fatalf("run %d: %v", run, err)
			}
			cfg.Unfinished = throughBytes(t, w.Unfinished())
			for _, u := range cfg.Unfinished {
				if u.Finished() {
					finished++
				}
			}
			cfg.Nets, cfg.Sink = nets, put
			if run == 8 {
				if finished < 4 {
					t.Errorf("%d finished games were refused", finished)
				}
				break
			}
		}
		sameGames(t, "an error", whole.byOrdinal(t), sink.byOrdinal(t))
	}
}

// refusing is a sink that takes some games and then none.
type refusing struct {
	to   *collector
	left int
}

func (r *refusing) Put(ctx context.Context, g *record.Game) error {
	if r.left--; r.left < 0 {
		return errBroken
	}
	return r.to.Put(ctx, g)
}

func TestOtherWeightsMarkTheGamesTheyGoOnWith(t *testing.T) {
	sink := new(collector)
	cfg := worker(sink, NewTickets(0, 4))
	left, _ := runStopped(t, cfg, 20, true)
	cfg.Unfinished, cfg.Nets = left, FixedNet{"other", &mcts.HashEvaluator{Seed: 9}}
	mustRun(t, cfg)
	for ordinal, g := range sink.byOrdinal(t) {
		if g.NetID != "hash" || g.Flags&record.NetChanged == 0 {
			t.Errorf("game %d: net %s, flags %b", ordinal, g.NetID, g.Flags)
		}
	}
	// Games of which nothing was searched yet are the new net's own.
	fresh, alone := new(collector), new(collector)
	cfg = worker(fresh, NewTickets(0, 4))
	cfg.Game = stopGame(true)
	left, _ = runStopped(t, cfg, 1, false)
	if len(left) == 0 {
		t.Fatal("no game was under way")
	}
	cfg.Unfinished, cfg.Nets = left, FixedNet{"other", &mcts.HashEvaluator{Seed: 9}}
	mustRun(t, cfg)
	cfg.Unfinished, cfg.Sink, cfg.Tickets = nil, alone, NewTickets(0, 4)
	mustRun(t, cfg)
	sameGames(t, "a stop before the first move", alone.byOrdinal(t), fresh.byOrdinal(t))
}

func TestUnfinishedGamesOfAnotherRunAreRefused(t *testing.T) {
	cfg := worker(new(collector), NewTickets(0, 4))
	left, _ := runStopped(t, cfg, 20, true)
	if len(left) != 4 {
		t.Fatalf("%d games left", len(left))
	}
	for name, change := range map[string]func(*WorkerConfig){
		"seed":    func(c *WorkerConfig) { c.RunSeed++ },
		"process": func(c *WorkerConfig) { c.Process++ },
		"empty":   func(c *WorkerConfig) { c.Unfinished = []Unfinished{{}} },
	} {
		c := cfg
		c.Unfinished = left
		change(&c)
		if _, err := NewWorker(c); !errors.Is(err, ErrUnfinished) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (Unfinished{}).MarshalBinary(); !errors.Is(err, ErrUnfinished) {
		t.Errorf("no game has bytes: %v", err)
	}
}

// TestEveryFieldOfAGameIsThoughtOf fails where a game gets a field and nobody
// has said what becomes of it at a stop: kept in Unfinished, or made anew.
func TestEveryFieldOfAGameIsThoughtOf(t *testing.T) {
	for i := range reflect.TypeFor[game]().NumField() {
		name := reflect.TypeFor[game]().Field(i).Name
		if !slices.Contains(keptFields, name) && !slices.Contains(freshFields, name) {
			t.Errorf("game.%s: put it into gameState (state and resume), or show in resume that it is made anew, and name it in this test", name)
		}
	}
}

var (
	keptFields  = []string{"rec", "line", "pcg", "marked", "badPlies", "resigner", "playOn", "resign", "policyEnd"}
	freshFields = []string{"cfg", "conf", "maxPlies", "rng", "search", "visits", "weights", "begunN", "dropTree",
		"branches",                                       // games of their own at a stop
		"kind", "simulations", "oddsSide", "oddsDivisor", // by settle
		"mode", "weight", "gumbelNoise"} // by options, in begin
)
