package exam

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/mcts"
)

// FreePiece returns where the opponent has a piece, no pawn, that the side to move can
// take and is a minor piece or more up by when the captures that pay have been made, as
// moves name squares; ok is false where there is none, or more than one.
func FreePiece(b *chess.Board) (at chess.Square, ok bool) {
	const minor, most = 3, 100 // pawns
	var legal chess.MoveList
	b.GenerateMoves(&legal)
	balance := b.MaterialBalance()
	for _, m := range legal.Slice() {
		if m.Promotion() != chess.NoPiece || b.Gain(m) < minor || ok && m.To() == at {
			continue
		}
		child := *b
		child.Make(m)
		if -child.QuietBalance(-most, most)-balance < minor {
			continue
		}
		if ok {
			return 0, false
		}
		at, ok = m.To(), true
	}
	return at, ok
}

// minorPiece is what a minor piece is worth to an engine at the least, in centipawns.
const minorPiece = 300

// WorthTaking says of each position whether an engine, with so many nodes for each question,
// takes the piece on that square and would be a minor piece or more worse off with any move
// that does not. Positions in which another move is as good, or every move takes it, tell
// nothing of who sees the piece.
func WorthTaking(ctx context.Context, engine string, lines []*chess.History, at []chess.Square, nodes int64, workers int) ([]bool, error) {
	best, err := Judge(ctx, engine, lines, nodes, workers)
	if err != nil {
		return nil, err
	}
	var others []uci.Position
	var asked []int
	for i, line := range lines {
		var legal chess.MoveList
		line.Board().GenerateMoves(&legal)
		p := positionOf(line)
		p.Only = slices.DeleteFunc(slices.Clone(legal.Slice()), func(m chess.Move) bool { return m.To() == at[i] })
		if best[i].Move.To() == at[i] && len(p.Only) > 0 {
			others, asked = append(others, p), append(asked, i)
		}
	}
	second, err := judge(ctx, engine, others, nodes, workers)
	if err != nil {
		return nil, err
	}
	worth := make([]bool, len(lines))
	for k, i := range asked {
		worth[i] = best[i].Score-second[k].Score >= minorPiece
	}
	return worth, nil
}

// Takes lets a net search from the end of each line and counts how often its move goes to
// the square of that line. A search is one game's, so the net sees batches.
func Takes(ctx context.Context, net mcts.Evaluator, search mcts.Config, lines []*chess.History, at []chess.Square, seed uint64) (c Count, err error) {
	batch := mcts.NewBatch(net, MaxBatch)
	for first := 0; first < len(lines); first += MaxBatch {
		var games []*attack
		for i := first; i < min(first+MaxBatch, len(lines)); i++ {
			a := &attack{line: lines[i], search: mcts.New(&search, nil), rng: rand.New(rand.NewPCG(seed, uint64(i)))}
			a.search.Reset(a.line)
			games = append(games, a)
		}
		if err := think(ctx, net, batch, games); err != nil {
			return c, err
		}
		for i, a := range games {
			root := a.search.Root()
			c.add(root.Moves[root.Best].Move.To() == at[first+i])
		}
	}
	return c, nil
}
