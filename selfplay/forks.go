package selfplay

import (
	"cmp"
	"github.com/chessbrain/chessbrain/chess"

	"github.com/chessbrain/chessbrain/record"
)

// Fork makes new games and single positions out of finished games, as KataGo
// does. What comes of a game is decided by the game's own random numbers and is
// played in its place right after it: it depends on the run seed, the process,
// the ordinal and the net alone, as the game itself does, however many games and
// workers there are. Its record is one of its own; see BranchOrdinal. A record
// begins with the unsearched moves that lead to its first search, so that it
// says itself where it comes from. Only games with a ticket branch.
//
// A fork follows a game up to a ply and plays on there with another legal move:
// half of the time any, else one drawn from the policy target of that ply.
//
// A side position is the position after such a move, searched in full and not
// played on. Its record holds one searched row, with the search's best move; its
// end is EndAborted, which gives the row no result to learn, unless that move
// ends the game.
//
// What a stop leaves to come of a finished game is unfinished games as others
// are.
type Fork struct {
	Early         float64 // chance that a finished game is followed by a fork from its opening, [0,1]
	EarlyPlies    float64 // mean of the ply (exponential) of such a fork; 0 = 12
	Late          float64 // chance of a fork from any of its plies, uniformly, [0,1]; early comes first
	SidePositions float64 // chance that a searched ply has a side position, [0,1]
}

// defaultEarlyPlies stands for EarlyPlies 0.
const defaultEarlyPlies = 12

// forkTries is how many plies are tried before a fork is given up.
const forkTries = 8

func (f *Fork) off() bool { return f.Early <= 0 && f.Late <= 0 && f.SidePositions <= 0 }

func (f *Fork) validate() error {
	return inRange([]setting{
		{"early-fork probability", f.Early, 0, 1},
		{"early-fork plies", f.EarlyPlies, 0, 1e6},
		{"fork probability", f.Late, 0, 1},
		{"side-position probability", f.SidePositions, 0, 1},
	})
}

// origin says what a game is.
type origin uint8

const (
	ticketGame origin = iota
	forkedGame
	sidePosition
)

// The ordinals of branches: bit 63 marks them, bit 62 a side position, 14 bits
// number those of one game, and 48 bits are its ordinal.
const (
	branchBit  = 1 << 63
	sideBit    = 1 << 62
	serialBits = 14
	parentBits = 48
)

// BranchOrdinal splits a record's ordinal: ok = false for a game with a ticket of
// its own, else parent is the ordinal of the game that it branched off, serial
// its number among that game's branches, and side says that it is a side
// position.
func BranchOrdinal(ordinal uint64) (parent uint64, serial int, side, ok bool) {
	if ordinal&branchBit == 0 {
		return 0, 0, false, false
	}
	return ordinal & (1<<parentBits - 1), int(ordinal >> parentBits & (1<<serialBits - 1)), ordinal&sideBit != 0, true
}

// branch is a move that a finished game did not play.
type branch struct {
	ply  int // of the parent's line
	move chess.Move
	side bool
}

// branches are those of the game just finished that are still to be played.
type branches struct {
	line   *chess.History // of the parent
	parent uint64
	list   []branch
	next   int
}

// settleOrigin says what the game of an ordinal is and whose ordinal ages it.
func settleOrigin(ordinal uint64) (o origin, age uint64) {
	parent, _, side, ok := BranchOrdinal(ordinal)
	switch {
	case !ok:
		return ticketGame, ordinal
	case side:
		return sidePosition, parent
	}
	return forkedGame, parent
}

// branchOff decides what branches off the game just finished.
func (g *game) branchOff(r *record.Game) {
	b, f := &g.branches, &g.cfg.Fork
	if g.kind != ticketGame {
		return // its parent may have more
	}
	b.list, b.next = b.list[:0], 0
	if f.off() || r.Ordinal >= 1<<parentBits || len(r.Plies) == 0 {
		return
	}
	if b.line == nil {
		b.line = chess.NewHistory(chess.StartBoard())
	}
	b.line.CopyFrom(g.search.History())
	b.parent = r.Ordinal
	rng := g.stream(streamFork)
	for i := range r.Plies {
		if r.Plies[i].Visits == 0 || rng.Float64() >= f.SidePositions || len(b.list) >= 1<<serialBits-2 {
			continue
		}
		if m, ok := g.otherMove(&r.Plies[i], i); ok {
			b.list = append(b.list, branch{i, m, true})
		}
	}
	early := rng.Float64() < f.Early
	if !early && rng.Float64() >= f.Late {
		return
	}
	for range forkTries {
		i := g.forkPly(len(r.Plies), early)
		if m, ok := g.otherMove(&r.Plies[i], i); ok {
			b.list = append(b.list, branch{i, m, false})
			return
		}
	}
}

// forkPly draws a ply of n.
func (g *game) forkPly(n int, early bool) int {
	rng := g.stream(streamFork)
	if !early {
		return rng.IntN(n)
	}
	mean := cmp.Or(g.cfg.Fork.EarlyPlies, defaultEarlyPlies)
	return int(min(float64(n-1), rng.ExpFloat64()*mean))
}

// otherMove draws a legal move of ply i of the finished game that was not
// played and does not end the game; ok = false: the draw gave none.
func (g *game) otherMove(p *record.Ply, i int) (m chess.Move, ok bool) {
	rng := g.stream(streamFork)
	g.line.CopyFrom(g.branches.line)
	g.line.Truncate(i + 1)
	var l chess.MoveList
	g.line.Board().GenerateMoves(&l)
	byPolicy := rng.Float64() < 0.5 && p.Kind != record.PolicyNone
	g.weights = g.weights[:0]
	others := 0
	for k, m := range l.Slice() {
		w := 1.0
		switch {
		case m == p.Move:
			w = 0
		case byPolicy && p.Kind == record.PolicyCounts:
			w = float64(p.Counts[k])
		case byPolicy:
			w = float64(p.Probs[k])
		}
		if w > 0 {
			others++
		}
		g.weights = append(g.weights, w)
	}
	if others == 0 {
		return chess.NoMove, false
	}
	m = l.Moves[sample(g.weights, 1, 0, rng)]
	g.line.Push(m)
	if gameOver(g.line) != chess.NotOver {
		return chess.NoMove, false
	}
	return m, true
}

// nextBranch begins, in the place of the game just finished, what branched off
// it, up to its first search. It returns false when there is nothing more.
func (g *game) nextBranch(w *WorkerConfig, net Net) bool {
	b := &g.branches
	if b.next >= len(b.list) {
		return false
	}
	serial := uint64(b.next)
	at := b.list[b.next]
	b.next++
	ordinal := branchBit | serial<<parentBits | b.parent
	g.line.CopyFrom(b.line)
	g.line.Truncate(at.ply + 1)
	g.line.Push(at.move)
	if at.side {
		ordinal |= sideBit
		shorten(g.line)
	}
	g.seed(w, ordinal)
	g.open(w, ordinal, net)
	if at.side {
		w.Stats.SidePositions.Add(1)
	} else {
		w.Stats.Forks.Add(1)
	}
	return true
}

// shownBoards is how many boards of a line the input planes show.
const shownBoards = 8

// shorten forgets the moves of h that its newest position does not depend on:
// the line begins with a board that no longer shows in the planes, or is the
// oldest that does, and that no later board can repeat an earlier one of.
func shorten(h *chess.History) {
	from := h.Len() - shownBoards
	for from > 0 && h.At(from).Rule50() != 0 {
		from--
	}
	if from <= 0 {
		return
	}
	start, n := *h.At(from), h.Len()-1
	moves := make([]chess.Move, 0, n-from)
	for i := from; i < n; i++ {
		moves = append(moves, h.MoveAt(i))
	}
	h.Reset(start)
	for _, m := range moves {
		h.Push(m)
	}
}
