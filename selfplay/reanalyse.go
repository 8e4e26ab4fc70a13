package selfplay

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// Reanalyser searches positions of finished games again and puts what the searches say in
// the place of the games' policies, values and visits: MuZero Reanalyze (Schrittwieser et
// al. 2021), KataGo's rescoring. Moves, results, weights and all else stay. It is a
// stage.BatchRescorer, but for one call at a time.
//
// A position is searched with the game's moves before it as its line, without noise and
// without the tree of the position before. So its targets follow from game, ply, net and
// search alone: neither workers nor batches nor the share change them.
//
// Positions that are trained on are searched, and those with a search of their own that
// are not, such as cheap ones of a playout cap: short-term targets read their values.
// These get no more visits than they had. Plies of openings have neither and stay.
type Reanalyser struct {
	Search mcts.Config // Simulations 0 = as many as the position had, UsualVisits where that is not known
	Share  float64     // of the positions, in (0,1], chosen by a hash of game and ply; a larger share has those of a smaller

	// NewEvaluator returns one worker's evaluator, for batches of up to maxBatch
	// positions. All of them give the same answers, bit for bit.
	NewEvaluator func(maxBatch int) mcts.Evaluator
	Workers      int

	Searched atomic.Int64 // positions with new targets so far

	analysts []*analyst
}

// UsualVisits are those of a position that does not say how many it had.
const UsualVisits = 100

// analystSeats is how many positions a worker searches in lock step. Most are neighbours in
// a game, which share a part of their trees: the cache then answers.
const analystSeats = 64

// Name is reanalyse.
func (r *Reanalyser) Name() string { return "reanalyse" }

// Rescore is RescoreBatch of one game.
func (r *Reanalyser) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	out, err := r.RescoreBatch(ctx, []*record.Game{g})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// RescoreBatch returns copies of the games with the targets of new searches. The error is
// ctx's, the evaluator's, or for a start position that is none.
func (r *Reanalyser) RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	out := make([]*record.Game, len(games))
	var spots []spot
	for i, g := range games {
		out[i] = g.Clone()
		spots = r.choose(spots, out[i])
	}
	for len(r.analysts) < r.Workers {
		r.analysts = append(r.analysts, r.newAnalyst())
	}
	var taken atomic.Int64
	next := func() (spot, bool) {
		i := int(taken.Add(1)) - 1
		if i >= len(spots) {
			return spot{}, false
		}
		return spots[i], true
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, a := range r.analysts {
		group.Go(func() error { return a.run(ctx, next) })
	}
	if err := group.Wait(); err != nil {
		r.analysts = nil // searches are under way in them
		return nil, err
	}
	return out, nil
}

// spot is a position to search, and where the targets go.
type spot struct {
	game *record.Game
	ply  int
}

// choose appends the positions of g that are to be searched.
func (r *Reanalyser) choose(spots []spot, g *record.Game) []spot {
	le := binary.LittleEndian
	for i := range g.Plies {
		p := &g.Plies[i]
		drawn := float64(GameSeed(le.Uint64(g.ID[:]), le.Uint64(g.ID[8:]), uint64(i))>>11) / (1 << 53)
		if (p.Trained() || p.Visits > 0) && drawn < r.Share {
			spots = append(spots, spot{g, i})
		}
	}
	return spots
}

// visits returns how many visits of moves p is searched with.
func (r *Reanalyser) visits(p *record.Ply) int {
	had, wanted := int(p.Visits)-1, r.Search.Simulations // Visits counts the root's own evaluation
	switch {
	case p.Visits == 0:
		had = UsualVisits
	case had < 1:
		had = 1
	}
	if wanted == 0 || !p.Trained() && had < wanted {
		return had
	}
	return wanted
}

// analyst is one worker: it searches positions in lock step over its evaluator.
type analyst struct {
	of    *Reanalyser
	net   mcts.Evaluator
	batch *encoding.Batch
	seats [analystSeats]seat
}

func (r *Reanalyser) newAnalyst() *analyst {
	a := &analyst{of: r, net: r.NewEvaluator(analystSeats), batch: encoding.NewBatch(analystSeats)}
	cache := mcts.NewCache(DefaultCacheEntries)
	for i := range a.seats {
		a.seats[i] = seat{search: mcts.New(&r.Search, cache), line: chess.NewHistory(chess.StartBoard())}
	}
	return a
}

// run searches the positions that next hands out.
func (a *analyst) run(ctx context.Context, next func() (spot, bool)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		a.batch.Reset()
		for i := range a.seats {
			if err := a.advance(&a.seats[i], next); err != nil {
				return err
			}
		}
		if a.batch.N == 0 {
			return nil
		}
		if err := evaluate(ctx, a.net, a.batch); err != nil {
			return err
		}
		if err := checkAnswer(a.batch); err != nil {
			return err
		}
		for i := range a.seats {
			a.seats[i].search.Apply(a.batch)
		}
	}
}

// seat searches one position at a time.
type seat struct {
	search *mcts.Search
	line   *chess.History
	at     spot
	busy   bool // a search is under way
}

// advance goes on until a leaf of the seat's search waits, or no position is left.
func (a *analyst) advance(s *seat, next func() (spot, bool)) error {
	for {
		if !s.busy {
			if s.at, s.busy = next(); !s.busy {
				return nil
			}
			if err := a.begin(s); err != nil {
				return err
			}
		}
		if s.search.Gather(a.batch, 1) > 0 {
			return nil
		}
		a.take(s)
		s.busy = false
	}
}

// begin starts the search of the seat's position.
func (a *analyst) begin(s *seat) error {
	g := s.at.game
	b, err := g.StartBoard()
	if err != nil {
		return fmt.Errorf("game %x: %w", g.ID, err)
	}
	s.line.Reset(b)
	for i := range s.at.ply {
		s.line.Push(g.Plies[i].Move)
	}
	s.search.Reset(s.line)
	s.search.BeginWith(nil, mcts.Options{Limits: mcts.Limits{Simulations: a.of.visits(&g.Plies[s.at.ply])}})
	return nil
}

// take writes the targets of the seat's finished search. A position where the game was over
// by the rules, though it was played on, has none and keeps its own.
func (a *analyst) take(s *seat) {
	root, p := s.search.Root(), &s.at.game.Plies[s.at.ply]
	if root.N == 0 {
		return
	}
	played := slices.IndexFunc(root.Moves, func(m mcts.MoveStats) bool { return m.Move == p.Move })
	fill(p, &root, played, p.Trained() || p.Flags&record.FullSearch != 0)
	a.of.Searched.Add(1)
}
