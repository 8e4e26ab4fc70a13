package selfplay

import (
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// game is a place for one game at a time, with its tree and random streams.
type game struct {
	cfg    *GameConfig
	conf   mcts.Config // the search's own, changed between searches
	search *mcts.Search
	line   *chess.History // scratch: the line to the first search
	pcg    [numStreams]*rand.PCG
	rng    [numStreams]*rand.Rand
	marked [numStreams]rand.PCG // the streams as the search under way found them
	rec    *record.Game
	begunN uint32 // root visits when the search began

	weights  []float64 // scratch of draws
	branches branches

	// What is settled as the game begins or is gone on with.
	kind        origin
	simulations int         // of a full search; 0 = no limit
	policyEnd   int         // plies before it are left to the policy
	maxPlies    int         // plies at which the game is cut
	oddsSide    chess.Color // that searches less; noSide = none
	oddsDivisor float64

	// How the position under way is searched.
	mode        mode
	weight      float32 // of its row
	gumbelNoise bool

	dropTree bool   // the net changed: the next search starts afresh
	badPlies [2]int // plies in a row on which a colour's Q was below the resign threshold
	resigner int    // colour that first met the resign rule, -1 = none
	playOn   bool   // this game is not resigned
	resign   Resign // the rule that held when the game began
}

func newGame(cfg *GameConfig, cache *mcts.Cache) *game {
	g := &game{cfg: cfg, conf: cfg.Search, line: chess.NewHistory(chess.StartBoard())}
	g.search = mcts.New(&g.conf, cache)
	for i := range g.pcg {
		g.pcg[i] = rand.NewPCG(0, 0)
		g.rng[i] = rand.New(g.pcg[i])
	}
	return g
}

func (g *game) stream(s stream) *rand.Rand { return g.rng[s-1] }

// start begins the game of an ordinal, up to its first search.
func (g *game) start(w *WorkerConfig, ordinal uint64, net Net) {
	g.seed(w, ordinal)
	if o := g.cfg.Openings; o != nil {
		o.begin(g.line, w.RunSeed, ordinal, w.front(), g.stream(streamOpening))
	} else {
		g.line.Reset(chess.StartBoard())
	}
	g.open(w, ordinal, net)
}

// open begins the game of an ordinal after the moves of g.line, up to its first
// search.
func (g *game) open(w *WorkerConfig, ordinal uint64, net Net) {
	g.rec = &record.Game{
		ID:      record.GameID(w.RunSeed, w.Process, ordinal),
		NetID:   net.ID,
		Seed:    w.RunSeed,
		Ordinal: ordinal,
		Plies:   make([]record.Ply, 0, 96),
	}
	if start := g.line.At(0); *start != chess.StartBoard() {
		g.rec.Start = start.FEN()
		if start.Castles960() {
			g.rec.Flags |= record.Chess960
		}
	}
	for i := range g.line.Len() - 1 {
		g.rec.Plies = append(g.rec.Plies, openingPly(g.line.MoveAt(i)))
	}
	g.settle(w, net)
	g.dropTree = false
	g.badPlies, g.resigner = [2]int{}, -1
	g.resign = g.cfg.Resign
	if w.Resign != nil {
		g.resign = w.Resign.Get()
	}
	if g.kind == sidePosition {
		g.resign = Resign{} // nobody plays it
	}
	g.playOn = g.resign.Enabled && g.stream(streamResign).Float64() < g.resign.PlayThrough
	if g.playOn {
		g.rec.Flags |= record.ResignDisabled
	}
	g.search.Reset(g.line)
	g.begin()
}

// begin starts the search of the next move. What it draws is drawn again when
// the game is gone on with after a stop.
func (g *game) begin() {
	g.mark()
	g.search.BeginWith(g.stream(streamNoise), g.options())
	g.begunN = g.search.Root().N
}

// netChanged notes that the rest of the game is played by other weights. The
// tree under way is kept for this move and dropped after it.
func (g *game) netChanged() {
	g.dropTree = true
	g.rec.Flags |= record.NetChanged
}

// play picks and plays the move of a finished search and returns how the game
// ended, or EndUnknown if it goes on; then the next search has begun.
func (g *game) play() record.EndReason {
	root := g.search.Root()
	if g.mode != policyPly {
		g.watchResign(g.search.History().Board().SideToMove(), root.Value.Q)
	}
	picked := g.pick(&root)
	if g.mode == policyPly && g.endsGame(root.Moves[picked].Move) {
		g.policyEnd = len(g.rec.Plies) // the search takes over one ply before the end
		g.begin()
		return record.EndUnknown
	}
	g.rec.Plies = append(g.rec.Plies, g.row(&root, picked))
	g.search.Advance(root.Moves[picked].Move)
	if g.dropTree || !g.cfg.TreeReuse {
		g.search.DropTree()
		g.dropTree = false
	}
	end := g.ended()
	if end == record.EndUnknown {
		g.begin()
	}
	return end
}

// ended returns how the game ended with the move just played, or EndUnknown.
// The rules come before a resignation: a mating move is a mate.
func (g *game) ended() record.EndReason {
	h := g.search.History()
	if over := gameOver(h); over != chess.NotOver {
		return record.EndOf(over)
	}
	if g.kind == sidePosition {
		return record.EndAborted
	}
	if g.resigner >= 0 && !g.playOn {
		return record.EndResign
	}
	if len(g.rec.Plies) >= g.maxPlies {
		return record.EndMaxPlies
	}
	return record.EndUnknown
}

// endsGame reports whether a legal move ends the game by rule.
func (g *game) endsGame(m chess.Move) bool {
	g.line.CopyFrom(g.search.History())
	g.line.Push(m)
	return gameOver(g.line) != chess.NotOver
}

// watchResign counts with the root's Q, from the mover's view, for how many
// plies in a row each side has stood below the threshold, and notes the first
// that should give up.
func (g *game) watchResign(mover chess.Color, q float32) {
	if !g.resign.Enabled || g.resigner >= 0 {
		return
	}
	for side := range g.badPlies {
		own := float64(q)
		if side != int(mover) {
			own = -own
		}
		if own >= g.resign.Q {
			g.badPlies[side] = 0
		} else if g.badPlies[side]++; g.badPlies[side] >= g.resign.Plies {
			g.resigner = side
		}
	}
}
