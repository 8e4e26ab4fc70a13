package selfplay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/record"
)

// Unfinished is a game that a stop left under way, as it stood before the
// search of its next move: its record so far, its random streams and what the
// rules of resignation had counted. The tree is not kept, so that the move is
// searched afresh; with tree reuse off the game is then the one it would have
// been without the stop, with reuse on its moves up to the stop are. Going on
// with other weights (another net id) marks the game NetChanged, unless none of
// its moves was searched yet.
//
// A game that was over when its sink refused it is unfinished too; it is handed
// out again as it is. The zero value is no game.
type Unfinished struct {
	rec   *record.Game
	state gameState
}

// gameState is what a game has beside its record. Its size and order are on
// disk: a change needs a new unfinishedVersion.
type gameState struct {
	Streams  [numStreams][pcgSize]byte // rand.PCG's own form
	BadPlies [2]uint16
	// PolicyEnd is the ply at which the part of the opening that the policy draws ends.
	PolicyEnd uint16
	Resigner  int8 // colour that first met the resign rule, -1 = none
	PlayOn    bool
	Resign    struct {
		Enabled     bool
		Q           float64
		Plies       uint16
		PlayThrough float64
	}
}

// pcgSize is the size of a rand.PCG's binary form.
const pcgSize = 20

// Ordinal returns the game's number within its process.
func (u *Unfinished) Ordinal() uint64 { return u.rec.Ordinal }

// Seed returns the seed of the run that the game belongs to.
func (u *Unfinished) Seed() uint64 { return u.rec.Seed }

// Finished reports whether the game is over and only waits for a sink.
func (u *Unfinished) Finished() bool { return u.rec.End != record.EndUnknown }

// belongsTo returns an error if u is no game of cfg's process and run.
func (u *Unfinished) belongsTo(cfg *WorkerConfig) error {
	switch {
	case u.rec == nil:
		return fmt.Errorf("%w: it is empty", ErrUnfinished)
	case u.rec.Seed != cfg.RunSeed || u.rec.ID != record.GameID(cfg.RunSeed, cfg.Process, u.rec.Ordinal):
		return fmt.Errorf("%w: game %d with seed %d is not of the run with seed %d, process %d; give it to the process that began it",
			ErrUnfinished, u.rec.Ordinal, u.rec.Seed, cfg.RunSeed, cfg.Process)
	}
	return nil
}

// mark notes the streams as they stand before the search of a move.
func (g *game) mark() {
	for i := range g.pcg {
		g.marked[i] = *g.pcg[i]
	}
}

// state returns what g has beside its record, as the search under way found it.
func (g *game) state() gameState {
	s := gameState{Resigner: int8(g.resigner), PlayOn: g.playOn, PolicyEnd: uint16(min(g.policyEnd, math.MaxUint16))}
	for i := range g.marked {
		g.marked[i].AppendBinary(s.Streams[i][:0]) // never fails
	}
	for i, n := range g.badPlies {
		s.BadPlies[i] = uint16(min(n, math.MaxUint16))
	}
	s.Resign.Enabled, s.Resign.Q, s.Resign.PlayThrough = g.resign.Enabled, g.resign.Q, g.resign.PlayThrough
	s.Resign.Plies = uint16(min(g.resign.Plies, math.MaxUint16))
	return s
}

// unfinished takes the game under way off g.
func (g *game) unfinished() Unfinished {
	u := Unfinished{rec: g.rec, state: g.state()}
	g.rec = nil
	return u
}

// finished takes the game that ended off g.
func (g *game) finished(end record.EndReason) Unfinished {
	return Unfinished{rec: g.finish(end), state: g.state()}
}

// resume goes on with u, whose record is g's from now on, with the search of
// its next move. u is valid and not finished.
func (g *game) resume(w *WorkerConfig, u *Unfinished, net Net) {
	s := &u.state
	for i := range g.pcg {
		*g.pcg[i] = pcgOf(&s.Streams[i])
	}
	g.rec = u.rec
	if g.rec.NetID != net.ID {
		if unsearched(g.rec) {
			g.rec.NetID = net.ID // none of it is the other net's
		} else {
			g.rec.Flags |= record.NetChanged
		}
	}
	g.dropTree = false
	g.resigner, g.playOn = int(s.Resigner), s.PlayOn
	g.badPlies = [2]int{int(s.BadPlies[0]), int(s.BadPlies[1])}
	g.resign = Resign{Enabled: s.Resign.Enabled, Q: s.Resign.Q, Plies: int(s.Resign.Plies), PlayThrough: s.Resign.PlayThrough}
	lineOf(g.line, g.rec)
	g.settle(w, net)
	g.policyEnd = int(s.PolicyEnd)
	g.branches.list, g.branches.next = g.branches.list[:0], 0
	g.search.Reset(g.line)
	g.begin()
}

// unsearched reports whether the network has had no part in r's moves.
func unsearched(r *record.Game) bool {
	return !slices.ContainsFunc(r.Plies, func(p record.Ply) bool { return !unknown(p.Orig) })
}

// pcgOf returns the generator with a valid binary form.
func pcgOf(form *[pcgSize]byte) (p rand.PCG) {
	if err := p.UnmarshalBinary(form[:]); err != nil {
		panic(fmt.Sprintf("selfplay: %v", err)) // forms are made by mark or checked by the decoder
	}
	return p
}

// lineOf makes h the line of rec's moves. rec is valid.
func lineOf(h *chess.History, rec *record.Game) {
	start, err := rec.StartBoard()
	if err != nil {
		panic(fmt.Sprintf("selfplay: unfinished game %d: %v", rec.Ordinal, err)) // checked by the decoder
	}
	h.Reset(start)
	for i := range rec.Plies {
		h.Push(rec.Plies[i].Move)
	}
}
