package plugintest

import (
	"bytes"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/faulty"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// rescorerFaults are the modes of a rescorer's call, with words of what the host
// says of them.
var rescorerFaults = map[faulty.Mode]string{
	faulty.Exit: "exit status 7", faulty.Panic: "panicking in the middle of a call", faulty.Status: "no luck today",
	faulty.Hang: "no answer within 1s", faulty.Drip: "no answer within 1s", faulty.Huge: "larger than max",
	faulty.TooFew: "7 outcomes for the 8 games", faulty.TooMany: "9 outcomes for the 8 games", faulty.BadBatch: "want batch 2",
	faulty.NaN: "weight: NaN", faulty.BadSum: "sum is 0.5", faulty.BadIndex: "300 entries", faulty.BadMove: "move: ",
	faulty.BadGame: "id: ", faulty.BadValue: "Q is 3",
}

// playedGames returns n games with plies and policies, of which number i has
// ordinal i.
func playedGames(t *testing.T, n int) []*record.Game {
	t.Helper()
	var games []*record.Game
	for _, g := range Games(freshSeed(t), 3*n) {
		if len(g.Plies) < 8 || len(games) == n {
			continue
		}
		p := &g.Plies[0]
		if p.Kind == record.PolicyNone { // for the faults of policies
			moves := legalMoves(t, g)
			p.Kind, p.Counts = record.PolicyCounts, make([]uint32, moves)
			p.Counts[0] = 9
		}
		g.Ordinal = uint64(len(games))
		games = append(games, g)
	}
	if len(games) != n {
		t.Fatalf("%d games with plies, want %d", len(games), n)
	}
	return games
}

// legalMoves returns the number of legal moves of a game's first position.
func legalMoves(t *testing.T, g *record.Game) int {
	t.Helper()
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	var l chess.MoveList
	b.GenerateMoves(&l)
	return l.N
}

// times returns how often a game with plies went through the faulty rescorer,
// which adds 1 to each weight. Everything else must be as it was.
func times(t *testing.T, g, out *record.Game) int {
	t.Helper()
	if out == nil {
		t.Fatalf("game %d: nothing came back", g.Ordinal)
	}
	for n := range 3 {
		want := g.Clone()
		for i := range want.Plies {
			for range n {
				want.Plies[i].Weight++
			}
		}
		if data, err := record.Append(nil, out); err == nil && bytes.Equal(data, mustEncode(want)) {
			return n
		}
	}
	t.Fatalf("game %d: another game came back, or one that went through it more than twice", g.Ordinal)
	return 0
}

// batch rescores games in one call.
func batch(t *testing.T, s stage.Rescorer, games []*record.Game) ([]*record.Game, error) {
	t.Helper()
	together, ok := s.(stage.BatchRescorer)
	if !ok {
		t.Fatal("an external rescorer takes no batches")
	}
	return together.RescoreBatch(t.Context(), games)
}

// TestRescorerFaultsOnce lets the first process misbehave in each way: every
// game goes through the plugin exactly once, in order, and the host goes on.
func TestRescorerFaultsOnce(t *testing.T) {
	games := playedGames(t, 24)
	for mode, words := range rescorerFaults {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			plan := faulty.Plan{Kind: stage.KindRescorer, Mode: mode, Call: 2, Once: filepath.Join(dir, "once"), Starts: filepath.Join(dir, "starts")}
			r := try(t, plan, nil)
			s, err := r.Rescorer(t.Context(), stage.Choice{Name: faulty.Name})
			if err != nil {
				t.Fatal(err)
			}
			for from := 0; from < len(games); from += 8 { // the second call strikes
				out, err := batch(t, s, games[from:from+8])
				if err != nil || len(out) != 8 {
					t.Fatalf("games from %d: %d came back, %v", from, len(out), err)
				}
				for i, g := range games[from : from+8] {
					if n := times(t, g, out[i]); n != 1 {
						t.Errorf("game %d went through the plugin %d times", g.Ordinal, n)
					}
				}
			}
			r.wantFailure(stage.KindRescorer, words)
			r.wantOneRestart(plan)
			if stats := r.Stats(); len(stats) != 1 || stats[0].Quarantined != 0 || stats[0].Games != 24 {
				t.Errorf("statistics %+v, want 24 games", stats)
			}
		})
	}
}

// TestRescorerGuiltyGame lets one game of many make the plugin misbehave, every
// time: it is quarantined and goes on as it is, the others are rescored once.
func TestRescorerGuiltyGame(t *testing.T) {
	modes := []faulty.Mode{faulty.Exit, faulty.Panic, faulty.Status, faulty.TooFew, faulty.NaN, faulty.BadMove}
	if !testing.Short() {
		modes = append(modes, faulty.Hang)
	}
	games := playedGames(t, 16)
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			guilty := uint64(5)
			r := try(t, faulty.Plan{Kind: stage.KindRescorer, Mode: mode, Game: &guilty}, func(o *host.Options) {
				if o.Restarts = 20; mode == faulty.Hang {
					o.CallTimeout = 3 * short // no other game may miss it
				}
			})
			s, err := r.Rescorer(t.Context(), stage.Choice{Name: faulty.Name})
			if err != nil {
				t.Fatal(err)
			}
			out, err := batch(t, s, games[:12])
			if err != nil || len(out) != 12 {
				t.Fatalf("%d games came back, %v", len(out), err)
			}
			for i, g := range games[:12] {
				want := 1
				if g.Ordinal == guilty {
					want = 0
				}
				if n := times(t, g, out[i]); n != want {
					t.Errorf("game %d went through the plugin %d times, want %d", g.Ordinal, n, want)
				}
			}
			if out, err = batch(t, s, games[12:]); err != nil || len(out) != 4 || times(t, games[12], out[0]) != 1 {
				t.Errorf("the next batch: %d games, %v", len(out), err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.quarantined) != 1 || r.quarantined[0].Ordinal != guilty || r.reasons[0] == "" {
				t.Errorf("%d games were quarantined, %q, want game %d alone", len(r.quarantined), r.reasons, guilty)
			}
		})
	}
}

// TestRescorerEndless lets the plugin answer without end: its first answer
// counts, then it is replaced.
func TestRescorerEndless(t *testing.T) {
	plan := faulty.Plan{Kind: stage.KindRescorer, Mode: faulty.Endless, Once: filepath.Join(t.TempDir(), "once")}
	r := try(t, plan, nil)
	s, err := r.Rescorer(t.Context(), stage.Choice{Name: faulty.Name})
	if err != nil {
		t.Fatal(err)
	}
	games := playedGames(t, 12)
	for from := 0; from < len(games); from += 4 {
		out, err := batch(t, s, games[from:from+4])
		if err != nil || len(out) != 4 {
			t.Fatalf("games from %d: %d came back, %v", from, len(out), err)
		}
		for i, g := range games[from : from+4] {
			if n := times(t, g, out[i]); n != 1 {
				t.Errorf("game %d went through the plugin %d times", g.Ordinal, n)
			}
		}
	}
	r.wantFailure(stage.KindRescorer, "")
}

// TestRescorerGivenUp lets every process die in every call, under calls from
// several goroutines. Without Continue each game comes back as it is, because it
// was quarantined, or its call is an error that names the plugin; with Continue
// all come back as they are.
func TestRescorerGivenUp(t *testing.T) {
	games := playedGames(t, 8)
	for _, c := range []struct {
		name string
		goOn bool
	}{{"stops", false}, {"goes on", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := try(t, faulty.Plan{Kind: stage.KindRescorer, Mode: faulty.Exit}, func(o *host.Options) { o.Restarts, o.Continue = 2, c.goOn })
			s, err := r.Rescorer(t.Context(), stage.Choice{Name: faulty.Name})
			if err != nil {
				t.Fatal(err)
			}
			outs, errs := make([]*record.Game, len(games)), make([]error, len(games))
			var wg sync.WaitGroup
			for i, g := range games {
				wg.Go(func() { outs[i], errs[i] = s.Rescore(t.Context(), g) })
			}
			wg.Wait()
			failed := 0
			for i, g := range games {
				if errs[i] == nil {
					if n := times(t, g, outs[i]); n != 0 {
						t.Errorf("game %d went through a plugin that dies, %d times", i, n)
					}
					continue
				}
				failed++
				wantError(t, errs[i], stage.KindRescorer, "given up")
				if !errors.Is(errs[i], host.ErrGivenUp) {
					t.Errorf("error %v is not ErrGivenUp", errs[i])
				}
			}
			if c.goOn && (failed != 0 || len(r.eventsIn(host.Replaced)) != 1) {
				t.Errorf("%d calls failed, events %+v, want none and one that says what goes on", failed, r.eventsIn(""))
			}
			if !c.goOn && failed+len(r.quarantined) != len(games) {
				t.Errorf("%d calls failed and %d games were quarantined, want %d together", failed, len(r.quarantined), len(games))
			}
		})
	}
}
