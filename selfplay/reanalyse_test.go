package selfplay

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// played returns games with full and cheap searches and opening plies.
func played(t *testing.T) []*record.Game {
	t.Helper()
	sink := new(collector)
	cfg := worker(sink, NewTickets(0, 6))
	cfg.Game.PlayoutCap = PlayoutCap{FullProbability: 0.5, CheapSimulations: 3}
	var err error
	if cfg.Game.Openings, err = NewOpenings(nil, OrderRandom, 2); err != nil {
		t.Fatal(err)
	}
	mustRun(t, cfg)
	return sink.games
}

// otherNet is not the net that played.
func otherNet(int) mcts.Evaluator { return &mcts.HashEvaluator{Seed: 99} }

func reanalyser(visits, workers int, share float64) *Reanalyser {
	search := mcts.DefaultConfig()
	search.Simulations = visits
	return &Reanalyser{Search: search, Share: share, Workers: workers, NewEvaluator: otherNet}
}

// alone searches the position before a ply of g by itself, without a cache.
func alone(t *testing.T, g *record.Game, ply, visits int, cfg mcts.Config) mcts.RootStats {
	t.Helper()
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	line := chess.NewHistory(b)
	for i := range ply {
		line.Push(g.Plies[i].Move)
	}
	cfg.Simulations = visits
	s, ev, batch := mcts.New(&cfg, nil), otherNet(1), encoding.NewBatch(1)
	s.Reset(line)
	for s.Begin(nil, false); !s.Done(); s.Apply(batch) {
		batch.Reset()
		s.Gather(batch, 1)
		if err := ev.Evaluate(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
	}
	return s.Root()
}

// The new targets are those of a search of each position by itself; what has no search and
// what is no target stays. Cheap searches stay cheap.
func TestReanalyseSearches(t *testing.T) {
	games := played(t)
	for _, gumbel := range []bool{false, true} {
		for _, visits := range []int{0, 10} {
			r := reanalyser(visits, 2, 1)
			r.Search.Gumbel.Enabled = gumbel
			out, err := r.RescoreBatch(context.Background(), games)
			if err != nil {
				t.Fatal(err)
			}
			kinds, searched := map[int]int{}, 0
			for i, g := range games {
				if err := out[i].Validate(); err != nil {
					t.Fatal(err)
				}
				want := g.Clone()
				for ply := range want.Plies {
					p := &want.Plies[ply]
					if p.Visits == 0 {
						continue
					}
					searched++
					full, n := p.Weight > 0, int(p.Visits)-1
					if full && visits > 0 {
						n = visits
					}
					kinds[n]++
					root := alone(t, g, ply, n, r.Search)
					at := slices.IndexFunc(root.Moves, func(m mcts.MoveStats) bool { return m.Move == p.Move })
					p.Root, p.Best, p.Played, p.Orig, p.Visits = root.Value, root.Moves[root.Best].QDM(), root.Moves[at].QDM(), root.Raw, root.N
					p.Kind, p.Probs, p.Counts = record.PolicyCounts, nil, nil
					if full && gumbel {
						p.Kind, p.Probs = record.PolicyProbs, slices.Clone(root.Target)
					} else {
						for _, m := range root.Moves {
							p.Counts = append(p.Counts, m.N)
						}
					}
				}
				ignore := cmpopts.IgnoreFields(record.Ply{}, "KLD", "Flags")
				if diff := cmp.Diff(want, out[i], cmpopts.EquateNaNs(), ignore, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("gumbel %v, %d visits: %.2000s", gumbel, visits, diff)
				}
				if out[i].Plies[0].Kind != record.PolicyNone {
					t.Error("an opening ply was searched")
				}
			}
			if len(kinds) < 2 || int(r.Searched.Load()) != searched {
				t.Errorf("visits %v; %d searched, reported %d", kinds, searched, r.Searched.Load())
			}
		}
	}
}

// The outcome is the same for every number of workers and every grouping of games, in a
// second call too; a share takes a part, and the same part of it whatever else is searched.
func TestReanalyseIsRepeatable(t *testing.T) {
	games := played(t)
	all, err := reanalyser(8, 1, 1).RescoreBatch(context.Background(), games)
	if err != nil {
		t.Fatal(err)
	}
	r := reanalyser(8, 3, 1)
	for range 2 {
		for i, g := range games {
			one, err := r.Rescore(context.Background(), g)
			if err != nil || !bytes.Equal(bytesOf(t, one), bytesOf(t, all[i])) {
				t.Fatalf("game %d differs: %v", i, err)
			}
		}
	}
	half := reanalyser(8, 2, 0.5)
	some, err := half.RescoreBatch(context.Background(), games)
	if err != nil {
		t.Fatal(err)
	}
	equal := func(a, b record.Ply) bool { return cmp.Equal(a, b, cmpopts.EquateNaNs()) }
	changed, searched := 0, 0
	for i := range games {
		for ply, p := range some[i].Plies {
			switch {
			case games[i].Plies[ply].Visits == 0 || equal(p, games[i].Plies[ply]):
			case equal(p, all[i].Plies[ply]):
				changed++
			default:
				t.Fatalf("game %d, ply %d is neither as it was nor as searched", i, ply)
			}
			if all[i].Plies[ply].Visits > 0 {
				searched++
			}
		}
	}
	if n := int(half.Searched.Load()); changed != n || n < searched*2/5 || n > searched*3/5 {
		t.Errorf("%d changed, %d of %d searched for a share of a half", changed, n, searched)
	}
}

// A game that is played on though it is over by the rules keeps the targets there, and a
// position that does not say its visits gets the usual ones.
func TestReanalyseOfOtherGames(t *testing.T) {
	g := &record.Game{NetID: "pgn", End: record.EndUnknown, Flags: record.Imported}
	line := chess.NewHistory(chess.StartBoard())
	for range 3 {
		for _, uci := range []string{"g1f3", "g8f6", "f3g1", "f6g8"} {
			m, err := line.Board().ParseUCI(uci)
			if err != nil {
				t.Fatal(err)
			}
			p := openingPly(m)
			p.Kind, p.Probs, p.Weight = record.PolicyProbs, make([]float32, 20), 1
			var legal chess.MoveList
			line.Board().GenerateMoves(&legal)
			p.Probs = make([]float32, legal.N)
			p.Probs[legal.Index(m)] = 1
			g.Plies = append(g.Plies, p)
			line.Push(m)
		}
	}
	r := reanalyser(0, 1, 1)
	out, err := r.Rescore(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Searched.Load(); n != 8 || out.Plies[0].Visits != UsualVisits+1 || out.Plies[0].Kind != record.PolicyCounts || out.Plies[8].Visits != 0 {
		t.Errorf("%d searched, visits %d and %d", n, out.Plies[0].Visits, out.Plies[8].Visits)
	}
}

func TestReanalyseFails(t *testing.T) {
	games := played(t)
	r := reanalyser(8, 2, 1)
	r.NewEvaluator = func(int) mcts.Evaluator { return &failing{left: 3} }
	if _, err := r.RescoreBatch(context.Background(), games); !errors.Is(err, errBroken) {
		t.Errorf("broken evaluator: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.RescoreBatch(ctx, games); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	r.NewEvaluator = otherNet // and goes on after both
	again, err := r.RescoreBatch(context.Background(), games)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := reanalyser(8, 1, 1).RescoreBatch(context.Background(), games)
	if err != nil || !bytes.Equal(bytesOf(t, again[0]), bytesOf(t, fresh[0])) {
		t.Errorf("another outcome after a failure: %v", err)
	}
}
