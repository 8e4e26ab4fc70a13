package exam

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/syzygy"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// MateOptions sets how the attacker plays.
type MateOptions struct {
	Search mcts.Config // of the attacker; Simulations is the number of visits, at least 1
	Moves  int         // the attacker's moves until a win no longer counts
	Seed   uint64
}

// MateReport counts the won positions that were mated in time.
type MateReport struct {
	Played int `json:"played"`
	Mated  int `json:"mated"`
	Plies  int `json:"plies"` // of the mates, added up
}

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
	if o.Search.Simulations < 1 && o.Search.Playouts < 1 {
		return nil, errors.New("the attacker's search has no end: set Simulations")
	}
	var games []*attack
	for i, b := range wonPositions(t[piece], n, o.Seed) {
		a := &attack{line: chess.NewHistory(b), search: mcts.New(&o.Search, nil), rng: rand.New(rand.NewPCG(o.Seed, uint64(i)))}
		a.search.Reset(a.line)
		games = append(games, a)
	}
	r := &MateReport{Played: len(games)}
	batch := mcts.NewBatch(net, len(games))
	for move := 0; move < o.Moves && len(games) > 0; move++ {
		if err := think(ctx, net, batch, games); err != nil {
			return nil, err
		}
		var going []*attack
		for _, a := range games {
			over, mated := a.reply(t)
			if mated {
				r.Mated++
				r.Plies += a.line.Len() - 1
			}
			if !over {
				going = append(going, a)
			}
		}
		games = going
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
			return ctx.Err()
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
func (a *attack) reply(t Tables) (over, mated bool) {
	root := a.search.Root()
	var list chess.MoveList
	if over, mated = a.play(root.Moves[root.Best].Move, &list); over {
		return over, mated
	}
	over, _ = a.play(t.longestDefence(a.line.Board(), &list), &list)
	return over, false
}

// play makes a move and says whether the game is over, and by mate. list gets
// the moves of the new position.
func (a *attack) play(m chess.Move, list *chess.MoveList) (over, mated bool) {
	a.line.Push(m)
	a.search.Advance(m)
	a.line.Board().GenerateMoves(list)
	end := a.line.Terminal(list.N)
	return end != chess.NotOver, end == chess.Checkmate
}

// longestDefence returns the first of the legal moves that draws, or else the
// one that is mated latest. The ending may be another one than at the start: a
// pawn may have been promoted.
func (t Tables) longestDefence(b *chess.Board, legal *chess.MoveList) chess.Move {
	best, bestScore := legal.Moves[0], -1
	for _, m := range legal.Slice() {
		child := *b
		child.Make(m)
		score := 1 << 20 // drawn, or the third man was taken or cannot win
		if wdl, plies, ok := t.Probe(&child); ok && wdl == 1 {
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
	var won []chess.Board
	for p := range open(table, true) {
		if p.WDL == 1 {
			won = append(won, p.Board)
		}
	}
	return draw(rand.New(rand.NewPCG(seed, 3)), won, n)
}
