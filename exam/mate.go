package exam

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/syzygy"
)

// MateOptions sets how the attacker plays.
type MateOptions struct {
	Search mcts.Config // of the attacker; Simulations is the number of visits
	Moves  int         // the attacker's moves until a win no longer counts
	Seed   uint64
}

// MateReport counts the won positions that were mated in time.
type MateReport struct {
	Played, Mated int
	Plies         int // of the mates, added up
}

// Share returns the share of positions that were mated.
func (r *MateReport) Share() float64 { return float64(r.Mated) / float64(r.Played) }

// attack is one game of the exam.
type attack struct {
	line   *chess.History
	search *mcts.Search
	rng    *rand.Rand
}

// Mates lets the net, with a search, play n held-out won positions of one
// ending with the strong side to move against the solver's longest defence.
// All games advance together, so the net sees batches.
func (t Tables) Mates(ctx context.Context, net mcts.Evaluator, piece chess.PieceType, n int, o MateOptions) (*MateReport, error) {
	table := t[piece]
	o.Search.NoiseEpsilon = 0
	r := &MateReport{}
	var games []*attack
	for _, b := range wonPositions(table, n, o.Seed) {
		a := &attack{line: chess.NewHistory(b), search: mcts.New(&o.Search, nil), rng: rand.New(rand.NewPCG(o.Seed, uint64(len(games))))}
		a.search.Reset(a.line)
		games = append(games, a)
	}
	r.Played = len(games)
	batch := encoding.NewBatch(len(games))
	for move := 0; move < o.Moves && len(games) > 0; move++ {
		if err := think(ctx, net, batch, games); err != nil {
			return nil, err
		}
		var open []*attack
		for _, a := range games {
			over, mated := a.reply(table)
			if mated {
				r.Mated++
				r.Plies += a.line.Len() - 1
			}
			if !over {
				open = append(open, a)
			}
		}
		games = open
	}
	return r, nil
}

// think searches all games, one leaf of each a batch.
func think(ctx context.Context, net mcts.Evaluator, batch *encoding.Batch, games []*attack) error {
	for _, a := range games {
		a.search.Begin(a.rng, false)
	}
	for {
		batch.Reset()
		for _, a := range games {
			a.search.Gather(batch, 1)
		}
		if batch.N == 0 {
			return nil
		}
		if err := net.Evaluate(ctx, batch); err != nil {
			return fmt.Errorf("evaluate a search: %w", err)
		}
		for _, a := range games {
			a.search.Apply(batch)
		}
	}
}

// reply plays the attacker's best move and the defender's longest defence.
func (a *attack) reply(table *syzygy.Table) (over, mated bool) {
	var list chess.MoveList
	if over, mated = a.play(bestMove(a.search), &list); over {
		return over, mated
	}
	over, _ = a.play(longestDefence(table, a.line.Board(), &list), &list)
	return over, false
}

// bestMove is the search's choice.
func bestMove(s *mcts.Search) chess.Move {
	root := s.Root()
	return root.Moves[root.Best].Move
}

// play makes a move and says whether the game is over, and by mate.
func (a *attack) play(m chess.Move, list *chess.MoveList) (over, mated bool) {
	a.line.Push(m)
	a.search.Advance(m)
	a.line.Board().GenerateMoves(list)
	end := a.line.Terminal(list.N)
	return end != chess.NotOver, end == chess.Checkmate
}

// longestDefence returns the move that draws, or else is mated latest.
func longestDefence(table *syzygy.Table, b *chess.Board, list *chess.MoveList) chess.Move {
	best, bestScore := list.Moves[0], -1
	for _, m := range list.Slice() {
		child := *b
		child.Make(m)
		score := 1 << 20 // outside the table (the man was taken) or drawn
		if wdl, plies, ok := table.Probe(&child); ok && wdl == 1 {
			score = plies
		}
		if score > bestScore {
			best, bestScore = m, score
		}
	}
	return best
}

// wonPositions draws n held-out positions that the strong side, to move, wins.
func wonPositions(table *syzygy.Table, n int, seed uint64) []chess.Board {
	rng := rand.New(rand.NewPCG(seed, 3))
	var won []chess.Board
	for p := range table.All {
		if p.WDL == 1 && HeldOut(&p.Board) {
			won = append(won, p.Board)
		}
	}
	rng.Shuffle(len(won), func(i, j int) { won[i], won[j] = won[j], won[i] })
	won = won[:min(n, len(won))]
	for i := range won {
		if i%2 == 1 {
			won[i] = recolour(&won[i])
		}
	}
	return won
}
