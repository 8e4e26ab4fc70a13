package files

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/selfplay"
)

// searcher searches again with a net of hashes.
func searcher(workers int, ev mcts.Evaluator) rescore.Chain {
	search := mcts.DefaultConfig()
	search.Simulations = 12
	return rescore.Chain{&selfplay.Reanalyser{Search: search, Share: 1, Workers: workers, NewEvaluator: func(int) mcts.Evaluator { return ev }}}
}

// stopping is a net whose process is stopped after some batches.
type stopping struct {
	mcts.HashEvaluator
	left int
	stop func()
}

func (s *stopping) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if s.left--; s.left == 0 {
		s.stop()
	}
	return s.HashEvaluator.Evaluate(ctx, b)
}

// Files that are done when a search is stopped are kept, that under way leaves nothing, and
// in the end all bytes are those of a search by another number of workers without a stop.
func TestReanalyseGoesOn(t *testing.T) {
	in, whole, out := t.TempDir(), t.TempDir(), t.TempDir()
	for i := range 3 {
		writeGames(t, filepath.Join(in, string(rune('a'+i))), blunderGame(t, uint64(2*i), 7), blunderGame(t, uint64(2*i+1), -1))
	}
	r := &Run{Rescorer: searcher(3, &mcts.HashEvaluator{})}
	do(t, r, whole, in)
	if want := (rescore.Changes{Games: 6, GamesChanged: 6, Positions: 72, Policies: r.Report.Policies}); r.Report.Changes != want || r.Report.Policies < 60 {
		t.Errorf("%+v, want %+v", r.Report.Changes, want)
	}
	jobs, err := Plan([]string{in}, out)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r = &Run{FS: fsx.OS, Rescorer: searcher(1, &stopping{left: 20, stop: cancel})}
	done := 0
	for err == nil {
		if err = r.Do(ctx, jobs[done]); err == nil {
			done++
		}
	}
	if n := r.Report.Changes; n.Games != 2*done || n.Positions != 24*done {
		t.Errorf("after %d files of 24 positions: %+v", done, n)
	}
	there, _ := filepath.Glob(filepath.Join(out, "*", "*"))
	hidden, _ := filepath.Glob(filepath.Join(out, "*", ".*"))
	if !errors.Is(err, context.Canceled) || done == 0 || len(there) != done || len(hidden) != 0 {
		t.Fatalf("%v after %d files; there are %v and %v", err, done, there, hidden)
	}
	r = &Run{Rescorer: searcher(1, &mcts.HashEvaluator{}), Keep: true}
	do(t, r, out, in)
	if r.Report.Kept != done || r.Report.Files != 3-done {
		t.Errorf("%d kept, %d written after %d", r.Report.Kept, r.Report.Files, done)
	}
	for _, j := range jobs {
		below, _ := filepath.Rel(out, j.Out)
		a, err1 := os.ReadFile(j.Out)
		b, err2 := os.ReadFile(filepath.Join(whole, below))
		if err := errors.Join(err1, err2); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v", below, err)
		}
	}
}

// Chunks of Leela's come out with the targets of the new searches: read again they are the
// games as searched. What the searches do not say stays: moves, results, input.
func TestReanalyseLeela(t *testing.T) {
	path, out := golden.Path(t, "leela", "games.tar"), t.TempDir()
	chain := searcher(2, &mcts.HashEvaluator{})
	do(t, &Run{Rescorer: chain}, out, path)
	before, after := openLeela(t, path), openLeela(t, filepath.Join(out, "games.tar"))
	if after.Len() != before.Len() {
		t.Fatalf("%d chunks, then %d", before.Len(), after.Len())
	}
	for i := range before.Len() {
		old, now := chunkRecords(t, before, i), chunkRecords(t, after, i)
		g, err1 := lc0.Game(old)
		got, err2 := lc0.Game(now)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		want, err := chain.Rescore(context.Background(), g)
		if err != nil {
			t.Fatal(err)
		}
		for k := range want.Plies { // a chunk has the next position's value where the move played was not visited
			if p := &want.Plies[k]; p.Played.Q != p.Played.Q {
				p.Played = got.Plies[k].Played
			}
		}
		if diff := cmp.Diff(want.Plies, got.Plies, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-6), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("chunk %d: %.2000s", i, diff)
		}
		for k := range old {
			a, b := &old[k], &now[k]
			if a.Planes != b.Planes || a.PlayedIdx != b.PlayedIdx || a.ResultQ != b.ResultQ || a.ResultD != b.ResultD || a.Castling != b.Castling {
				t.Fatalf("chunk %d, record %d: more changed than the targets", i, k)
			}
			if most := slices.Max(b.Probabilities[:]); b.Best != b.Played && b.Invariance&lc0.BestProven == 0 && b.Probabilities[b.BestIdx] != most {
				t.Errorf("chunk %d, record %d: best_idx is not of the new search", i, k)
			}
		}
	}
}

func chunkRecords(t *testing.T, s *lc0.Source, i int) []lc0.Record {
	t.Helper()
	b, err := s.Chunk(i)
	if err != nil {
		t.Fatal(err)
	}
	list, err := lc0.DecodeRecords(b)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
