package selfplay

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// everything switches on what is settled per game or drawn per move. Without
// tree reuse a game that was stopped goes on as if it had not been.
func everything(t *testing.T, c *WorkerConfig) {
	var err error
	c.Game.Openings, err = NewOpenings([]Start{lineFrom(t, spanish), lineFrom(t, "d2d4 d7d5")}, OrderShuffled, 2)
	if err != nil {
		t.Fatal(err)
	}
	o := c.Game.Openings
	o.PolicyPlies, o.Mirrored, o.StopProbability = 4, true, 0.2
	c.Game.TreeReuse, c.Game.MaxPlies = false, 50
	c.Game.Search.Simulations = 8
	c.Game.Schedule.Simulations = Steps{{8, 0}, {12, 10}}
	c.Game.Search.ForcedPlayouts = 2
	c.Game.PlayoutCap = PlayoutCap{FullProbability: 0.4, CheapSimulations: 4}
	c.Game.ReducedVisits = ReducedVisits{Simulations: 3, Q: 0.2, Plies: 2, Weight: 0.5}
	c.Game.Odds = Odds{Probability: 0.5, Factor: 3}
	c.Game.PolicySurprise = 0.5
	c.Game.Temperature = Temperature{Start: 1, Plies: 12, DecayPlies: 20, Floor: 0.2, ValueCutoff: 40, VisitOffset: -0.5}
	c.Game.Fork = Fork{Early: 0.3, Late: 0.3, SidePositions: 0.05}
	c.Game.Resign = Resign{Enabled: true, Q: -0.6, Plies: 4, PlayThrough: 0.5}
}

func TestEverythingAtOnceDependsOnTheGameOnly(t *testing.T) {
	base, _ := play(t, 20, func(c *WorkerConfig) { everything(t, c) })
	for name, change := range map[string]func(*WorkerConfig){
		"one game at a time": func(c *WorkerConfig) { c.Parallel = 1 },
		"another lock step":  func(c *WorkerConfig) { c.Parallel = 13 },
		"no cache":           func(c *WorkerConfig) { c.CacheEntries = 0 },
	} {
		games, _ := play(t, 20, func(c *WorkerConfig) {
			everything(t, c)
			change(c)
		})
		sameGames(t, name, base, games)
	}
}

// A stop changes no game, and loses none but what was to branch off finished ones.
func TestStopsKeepWhatIsSettled(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	const tickets = 24
	base, _ := play(t, tickets, func(c *WorkerConfig) { everything(t, c) })
	for range 4 {
		sink := new(collector)
		cfg := worker(sink, NewTickets(0, tickets))
		everything(t, &cfg)
		for stops := 0; ; stops++ {
			ctx, stop := context.WithCancel(context.Background())
			cfg.Nets = FixedNet{"hash", &stopping{left: 100 + rng.IntN(600), stop: stop}}
			w, err := NewWorker(cfg)
			if err != nil {
				t.Fatal(err)
			}
			err = w.Run(ctx)
			stop()
			if err == nil && stops > 0 {
				break
			}
			if err != nil && !errors.Is(err, ErrStopped) {
				t.Fatal(err)
			}
			cfg.Unfinished = w.Unfinished()
		}
		games := sink.byOrdinal(t)
		for ordinal, g := range games {
			if diff := cmp.Diff(base[ordinal], g, cmpopts.EquateNaNs()); diff != "" {
				t.Fatalf("game %#x:\n%.1500s", ordinal, diff)
			}
		}
		for ordinal := range uint64(tickets) {
			if games[ordinal] == nil {
				t.Errorf("game %d is missing", ordinal)
			}
		}
	}
}
