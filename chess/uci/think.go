package uci

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// burst is how many simulations may end without the net between two looks at the
// clock.
const burst = 1024

// start says what is wrong with the arguments of go and begins a search, or a perft, in
// the background.
func (e *Engine) start(ctx context.Context, args []string, began time.Time) {
	l, wrong := parseGo(args, e.line.Board())
	for _, err := range wrong {
		e.fault(err)
	}
	if l.perft == noPerft {
		return
	}
	ctx, e.cancel = context.WithCancel(ctx)
	e.span = newSpan(l, began, time.Duration(e.settings.overheadMS)*time.Millisecond, e.cancel)
	if l.perft > 0 {
		e.wait.Go(func() { e.perft(ctx, l.perft) })
		return
	}
	e.wait.Go(func() { e.think(ctx, e.span) })
}

// think finds a move and sends it as soon as it may be sent. In a position that
// is drawn by the rules there is nothing to search, but a GUI that goes on gets
// the move that the net likes best.
func (e *Engine) think(ctx context.Context, s *span) {
	var list chess.MoveList
	board := e.line.Board()
	board.GenerateMoves(&list)
	move, reply := chess.NoMove, chess.NoMove
	switch over := e.line.Terminal(list.N); over {
	case chess.NotOver:
		e.prepare()
		move, reply = e.find(ctx, s, &list)
	case chess.Checkmate:
		e.say("info depth 0 score mate 0")
	default:
		e.say("info depth 0 score cp 0")
		if list.N > 0 {
			e.prepare()
			move = e.instinct(ctx, &list, s.only)
		}
	}
	select {
	case <-s.free:
	case <-ctx.Done():
	}
	e.tellBroken()
	text := "bestmove " + board.UCI(move, e.settings.chess960)
	if reply != chess.NoMove {
		after := *board
		after.Make(move)
		text += " ponder " + after.UCI(reply, e.settings.chess960)
	}
	e.say("%s", text)
}

// find searches until a limit, sends info lines, and returns the move and the
// reply that it expects, or NoMove.
func (e *Engine) find(ctx context.Context, s *span, list *chess.MoveList) (move, reply chess.Move) {
	e.follow()
	hits := e.tables.hits.Load()
	only := e.allowed(s.only)
	if len(only) > 0 && len(only) < list.N {
		e.search.DropTree() // what it knows of other moves would count
	}
	visits := s.visits(e.settings.nodes)
	byVisits := visits > 0 && visits <= mcts.GumbelVisits && !s.timed() && !s.infinite && !s.ponder && s.depth == 0 && s.mate == 0 && e.settings.multiPV == 1
	e.search.BeginWith(rand.New(rand.NewPCG(1, 1)), mcts.Options{Limits: mcts.Limits{Simulations: visits}, Only: only, PUCT: !byVisits})
	t := &thought{e: e, began: s.began, shown: s.began, before: e.search.Counts(), hits: hits}
	t.reused, _ = e.search.Visits()
	t.single = list.N == 1 || len(only) == 1
	var others *helpers
	for !e.search.Done() {
		n, proven := e.search.Visits()
		leaves := min(e.settings.minibatch, max(1, int(n)))
		if n > 0 && (ctx.Err() != nil || proven != mcts.Unproven || t.over(s, n, e.pace.of(leaves))) {
			break
		}
		if others == nil && len(e.threads) > 1 && int(n) >= e.settings.minibatch*len(e.threads) {
			others = e.help(ctx)
		}
		if err := e.grow(ctx, leaves, n == 0); err != nil {
			if ctx.Err() == nil {
				e.fault(err)
			}
			break
		}
		t.progress()
	}
	if others != nil {
		others.end()
	}
	t.show()
	root := e.search.Root()
	move = root.Moves[root.Best].Move
	if pv := e.search.PVOf(nil, root.Best); len(pv) > 1 {
		reply = pv[1]
	}
	return move, reply
}

// allowed returns the moves that a search is restricted to, none = all: those
// that are wanted and, of them, those that spoil nothing as the tables see it.
func (e *Engine) allowed(wanted []chess.Move) []chess.Move {
	kept := e.tables.keep(e.line)
	if len(wanted) == 0 {
		return kept
	}
	both := slices.DeleteFunc(slices.Clone(wanted), func(m chess.Move) bool { return !slices.Contains(kept, m) })
	if len(both) > 0 {
		return both
	}
	return wanted
}

// follow brings the search to the current position: forward along the line where
// that continues the search's own, so that its tree is kept, else anew.
func (e *Engine) follow() {
	old := e.search.History()
	before, now := old.Moves(nil), e.line.Moves(nil)
	if len(before) > len(now) || *old.At(0) != *e.line.At(0) || !slices.Equal(before, now[:len(before)]) {
		e.search.Reset(e.line)
		return
	}
	for _, m := range now[len(before):] {
		e.search.Advance(m)
	}
}

// grow lets the search have up to so many leaves more. Without an evaluation of the
// root there is no choice of a move, so that one, the first, is not cancelled by ctx.
func (e *Engine) grow(ctx context.Context, leaves int, first bool) error {
	if first {
		ctx = context.WithoutCancel(ctx)
	}
	began := time.Now()
	rows, err := e.threads[0].grow(ctx, e.search, leaves)
	if rows > 0 && err == nil {
		e.pace.note(leaves, time.Since(began))
	}
	return err
}

// instinct returns the move that the net likes best without a search, of those
// wanted if there are any, or the first one where it cannot be asked.
func (e *Engine) instinct(ctx context.Context, list *chess.MoveList, wanted []chess.Move) chess.Move {
	if len(wanted) == 0 {
		wanted = list.Slice()
	}
	t := &e.threads[0]
	t.batch.Reset()
	row := encoding.AppendPosition(t.batch, e.line, list)
	if err := t.net.Evaluate(context.WithoutCancel(ctx), t.batch); err != nil {
		e.fault(err)
		return wanted[0]
	}
	prior := t.batch.PriorOf(row)
	return slices.MaxFunc(wanted, func(a, b chess.Move) int {
		return cmp.Compare(prior[list.Index(a)], prior[list.Index(b)])
	})
}

// perftSlice is the depth in plies that is counted without a look at stop: ten
// million leaves at most, in a position with as many moves as there can be.
const perftSlice = 3

// perft counts the leaves of the legal-move tree, move by move, as far as ctx
// lets it.
func (e *Engine) perft(ctx context.Context, depth int) {
	var list chess.MoveList
	board := e.line.Board()
	board.GenerateMoves(&list)
	sum := uint64(0)
	for _, m := range list.Slice() {
		child := *board
		child.Make(m)
		nodes := perft(ctx, &child, depth-1)
		if ctx.Err() != nil {
			e.say("info string perft was stopped")
			return
		}
		e.say("%s: %d", board.UCI(m, e.settings.chess960), nodes)
		sum += nodes
	}
	e.say("Nodes searched: %d", sum)
}

// perft is chess.Perft that ends soon after ctx does, with a count that is wrong.
func perft(ctx context.Context, b *chess.Board, depth int) uint64 {
	if depth <= perftSlice {
		return chess.Perft(b, depth)
	}
	var list chess.MoveList
	b.GenerateMoves(&list)
	sum := uint64(0)
	for _, m := range list.Slice() {
		if ctx.Err() != nil {
			return 0
		}
		child := *b
		child.Make(m)
		sum += perft(ctx, &child, depth-1)
	}
	return sum
}
