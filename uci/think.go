package uci

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// start begins a search in the background. A position without a legal move is
// answered at once; so is one that is drawn by the rules, where there is nothing
// to search, with the move that the net likes best.
func (e *Engine) start(ctx context.Context, args []string) error {
	l, err := parseGo(args, e.line.Board().SideToMove())
	if err != nil {
		return err
	}
	var list chess.MoveList
	e.line.Board().GenerateMoves(&list)
	over := e.line.Terminal(list.N)
	if list.N == 0 {
		e.say("bestmove 0000")
		return nil
	}
	e.follow()
	e.search.BeginLimits(rand.New(rand.NewPCG(1, 1)), false, mcts.Limits{Simulations: l.visits(e.Search.Simulations)})
	ctx, e.cancel = context.WithCancel(ctx)
	e.wait.Go(func() {
		if over != chess.NotOver {
			e.say("bestmove %s", e.line.Board().UCI(e.instinct(ctx, &list), e.chess960))
			return
		}
		e.think(ctx, l, time.Now())
	})
	return nil
}

// follow brings the search to the current position: forward along the line where
// that continues the search's own, so that its tree is kept, else anew.
func (e *Engine) follow() {
	old := e.search.History()
	n := old.Len()
	if n > e.line.Len() || *old.At(0) != *e.line.At(0) {
		e.search.Reset(e.line)
		return
	}
	for i := range n - 1 {
		if old.MoveAt(i) != e.line.MoveAt(i) {
			e.search.Reset(e.line)
			return
		}
	}
	for i := n - 1; i < e.line.Len()-1; i++ {
		e.search.Advance(e.line.MoveAt(i))
	}
}

// think searches until a limit and sends info lines and the move.
func (e *Engine) think(ctx context.Context, l limits, began time.Time) {
	shown, reused := began, e.search.Root().N
	for !e.search.Done() {
		if err := e.grow(ctx); err != nil {
			if ctx.Err() == nil {
				e.say("info string error: %v", err)
			}
			break
		}
		now := time.Now()
		if ctx.Err() != nil || (l.moveTime > 0 && now.Sub(began) >= l.moveTime) || e.search.Root().Proven != mcts.Unproven {
			break
		}
		if now.Sub(shown) >= time.Second {
			shown = now
			e.info(began, reused)
		}
	}
	if l.infinite {
		<-ctx.Done() // bestmove follows stop only
	}
	e.info(began, reused)
	root := e.search.Root()
	e.say("bestmove %s", e.line.Board().UCI(root.Moves[root.Best].Move, e.chess960))
}

// grow gathers one batch of leaves, has it evaluated and backed up. On an error
// the leaves are forgotten and the tree is as before. Without an evaluation of
// the root there is no choice of a move, so that one is not cancelled by ctx.
func (e *Engine) grow(ctx context.Context) error {
	if e.search.Root().N == 0 {
		ctx = context.WithoutCancel(ctx)
	}
	e.batch.Reset()
	if e.search.Gather(e.batch, e.leaves) == 0 {
		return nil
	}
	if err := e.Net.Evaluate(ctx, e.batch); err != nil {
		e.search.Cancel()
		return err
	}
	e.search.Apply(e.batch)
	return nil
}

// instinct returns the move that the net likes best without a search, or the
// first one where it cannot be asked.
func (e *Engine) instinct(ctx context.Context, list *chess.MoveList) chess.Move {
	e.batch.Reset()
	row := encoding.AppendPosition(e.batch, e.line, list)
	if err := e.Net.Evaluate(context.WithoutCancel(ctx), e.batch); err != nil {
		e.say("info string error: %v", err)
		return list.Moves[0]
	}
	best := 0
	prior := e.batch.PriorOf(row)
	for i := range prior {
		if prior[i] > prior[best] {
			best = i
		}
	}
	return list.Moves[best]
}

// info sends nodes, speed, score and the line of best moves so far. reused is how
// many visits the tree had before this search.
func (e *Engine) info(began time.Time, reused uint32) {
	root := e.search.Root()
	if root.N == 0 {
		return // the evaluator failed: nothing is known
	}
	elapsed := time.Since(began)
	nps := int(float64(root.N-min(reused, root.N)) / max(elapsed.Seconds(), 1e-3))
	line := e.search.PV(nil)
	board, pv := *e.line.Board(), make([]string, 0, len(line))
	for _, m := range line {
		pv = append(pv, board.UCI(m, e.chess960))
		board.Make(m)
	}
	text := ""
	if len(pv) > 0 {
		text = " pv " + strings.Join(pv, " ")
	}
	if root.Proven == mcts.ProvenWin || root.Proven == mcts.ProvenLoss {
		e.say("info depth %d nodes %d nps %d time %d score mate %d%s", len(pv), root.N, nps, elapsed.Milliseconds(), mateIn(root), text)
		return
	}
	e.say("info depth %d nodes %d nps %d time %d score cp %d%s", len(pv), root.N, nps, elapsed.Milliseconds(),
		Centipawns(float64(root.Value.Q)), text)
}

// mateIn returns the moves to a proven mate, negative where we are mated.
func mateIn(root mcts.RootStats) int {
	plies := int(math.Round(float64(root.Value.M)))
	if root.Proven == mcts.ProvenLoss {
		return -(plies + 1) / 2
	}
	return (plies + 1) / 2
}

// Centipawns maps Q in [-1,1] to the scale that GUIs show: 0 at 0, about 100
// at 0.54, with lc0's tangent form 90*tan(1.5637541897*q).
func Centipawns(q float64) int {
	return int(math.Round(90 * math.Tan(1.5637541897*max(-1, min(1, q)))))
}
