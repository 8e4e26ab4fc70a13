package selfplay

import (
	"math"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// smallestNormal is added to every KLD, so that 0 means absent (Leela's V6).
const smallestNormal = 0x1p-126

// leastPrior stands in for a prior that underflowed in the KLD.
const leastPrior = 1e-12

// openingPly returns the record of a random move at the game's start: nothing
// is known of its position, and it is not trained on.
func openingPly(m chess.Move) record.Ply {
	return record.Ply{
		Move: m,
		Kind: record.PolicyNone,
		Root: encoding.UnknownQDM, Best: encoding.UnknownQDM,
		Played: encoding.UnknownQDM, Orig: encoding.UnknownQDM,
	}
}

// row returns the record of a searched position. All values are from the
// mover's view. Orig is the network's own answer for the position, also where a
// reused tree or the cache brought it. Played is unknown (NaN) where the move
// was picked without a visit.
func (g *game) row(root *mcts.RootStats, picked int) record.Ply {
	p := record.Ply{
		Move:   root.Moves[picked].Move,
		Kind:   record.PolicyCounts,
		Counts: make([]uint32, len(root.Moves)),
		Root:   root.Value,
		Best:   root.Moves[root.Best].QDM(),
		Played: root.Moves[picked].QDM(),
		Orig:   root.Raw,
		Visits: root.N,
		Weight: 1,
		KLD:    policyKLD(root.Moves) + smallestNormal,
		Flags:  record.FullSearch,
	}
	for i := range root.Moves {
		p.Counts[i] = root.Moves[i].N
	}
	if root.Moves[root.Best].Proven != mcts.Unproven {
		p.Flags |= record.BestProven
	}
	if g.resigner >= 0 {
		p.Flags |= record.PlayedOn
	}
	return p
}

// policyKLD returns KL(visits, network's priors) in nats, 0 without visits.
func policyKLD(moves []mcts.MoveStats) float32 {
	var total float64
	for i := range moves {
		total += float64(moves[i].N)
	}
	var kld float64
	for i := range moves {
		if n := float64(moves[i].N); n > 0 {
			kld += n / total * math.Log(n/total/max(float64(moves[i].P), leastPrior))
		}
	}
	return float32(max(kld, 0))
}

// finish completes the record of a game that ended and returns it; the caller
// owns it.
func (g *game) finish(end record.EndReason) *record.Game {
	r := g.rec
	g.rec = nil
	r.End = end
	board := g.search.History().Board()
	ours := int8(1) // the result's sign for the side to move
	if board.SideToMove() == chess.Black {
		ours = -1
	}
	switch end {
	case record.EndCheckmate:
		r.WhiteResult = -ours
	case record.EndResign:
		r.WhiteResult = -1
		if chess.Color(g.resigner) == chess.Black {
			r.WhiteResult = 1
		}
	case record.EndTablebase:
		wdl, _ := g.adjudicate(board)
		r.WhiteResult = ours * int8(wdl)
	case record.EndMaxPlies:
		r.Flags |= record.MaxPliesHit
	}
	if end == record.EndResign || end == record.EndTablebase || end == record.EndMaxPlies {
		for i := range r.Plies {
			r.Plies[i].Flags |= record.Adjudicated
		}
	}
	return r
}
