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

// openingPly returns the record of a move before the first search: nothing is
// known of its position, and it is not trained on.
func openingPly(m chess.Move) record.Ply {
	return record.Ply{
		Move: m,
		Kind: record.PolicyNone,
		Root: encoding.UnknownQDM, Best: encoding.UnknownQDM,
		Played: encoding.UnknownQDM, Orig: encoding.UnknownQDM,
	}
}

// unknown reports whether nothing is known of a value.
func unknown(v encoding.QDM) bool { return math.IsNaN(float64(v.Q)) }

// row returns the record of the position under way. All values are from the
// mover's view. Orig is the network's own answer for the position, also where a
// reused tree or the cache brought it. Played is unknown (NaN) where the move
// was picked without a visit. A full search's policy is the target that the
// search gives, if it gives one, else the visits. A ply left to the policy has
// Orig and its move only.
func (g *game) row(root *mcts.RootStats, picked int) record.Ply {
	if g.mode == policyPly {
		p := openingPly(root.Moves[picked].Move)
		p.Orig = root.Raw
		return p
	}
	p := record.Ply{Move: root.Moves[picked].Move, Weight: g.weight}
	fill(&p, root, picked, g.mode == fullSearch)
	if g.resigner >= 0 {
		p.Flags |= record.PlayedOn
	}
	return p
}

// fill puts what a search says of its root, of which the picked move is played, in the
// place of p's policy, values, visits and their marks. full: as of a full search.
func fill(p *record.Ply, root *mcts.RootStats, picked int, full bool) {
	p.Root, p.Best, p.Played, p.Orig = root.Value, root.Moves[root.Best].QDM(), root.Moves[picked].QDM(), root.Raw
	p.Visits = root.N
	p.Flags &^= record.FullSearch | record.BestProven
	if full {
		p.Flags |= record.FullSearch
	}
	if root.Moves[root.Best].Proven != mcts.Unproven {
		p.Flags |= record.BestProven
	}
	setPolicy(p, root, full)
}

// setPolicy fills in p's policy and its KLD.
func setPolicy(p *record.Ply, root *mcts.RootStats, full bool) {
	p.Counts, p.Probs = nil, nil
	if full && root.Target != nil {
		p.Kind = record.PolicyProbs
		p.Probs = make([]float32, len(root.Moves))
		for i, v := range root.Target {
			p.Probs[i] = min(v, 1) // its sum is 1 but for rounding
		}
		p.KLD = policyKLD(root.Moves, func(i int) float64 { return float64(p.Probs[i]) }) + smallestNormal
		return
	}
	p.Kind = record.PolicyCounts
	p.Counts = make([]uint32, len(root.Moves))
	total := 0.0
	for i := range root.Moves {
		p.Counts[i] = root.Moves[i].N
		total += float64(p.Counts[i])
	}
	p.KLD = policyKLD(root.Moves, func(i int) float64 { return float64(p.Counts[i]) / total }) + smallestNormal
}

// policyKLD returns KL(policy, network's priors) in nats, of which share is that of a
// move.
func policyKLD(moves []mcts.MoveStats, share func(move int) float64) float32 {
	var kld float64
	for i := range moves {
		if t := share(i); t > 0 {
			kld += float64(t * math.Log(t/max(float64(moves[i].P), leastPrior)))
		}
	}
	return float32(max(kld, 0))
}

// surpriseWeights moves the share s of the weight of the trained rows to where
// the search surprised the policy: row i of weight w gets
//
//	(1-s)*w + s*w*KLD * (sum of w) / (sum of w*KLD)
//
// over the full searches with a weight, so that the sum stays. KLD is in nats;
// where all are 0 nothing changes.
func surpriseWeights(plies []record.Ply, s float64) {
	sum, surprise := 0.0, 0.0
	for i := range plies {
		if p := &plies[i]; p.Flags&record.FullSearch != 0 {
			sum += float64(p.Weight)
			surprise += float64(p.Weight) * float64(p.KLD)
		}
	}
	if s <= 0 || sum == 0 || surprise <= float64(len(plies))*smallestNormal {
		return
	}
	for i := range plies {
		if p := &plies[i]; p.Flags&record.FullSearch != 0 {
			w := float64(p.Weight)
			p.Weight = float32(float64((1-s)*w) + float64(s*w*float64(p.KLD)*(sum/surprise)))
		}
	}
}

// finish completes the record of a game that ended, decides what branches off
// it, and returns it; the caller owns it.
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
	case record.EndMaxPlies:
		r.Flags |= record.MaxPliesHit
		r.WhiteResult = ours * leader(board, g.cfg.MaxPliesMaterial)
	}
	if end == record.EndResign || end == record.EndMaxPlies {
		for i := range r.Plies {
			r.Plies[i].Flags |= record.Adjudicated
		}
	}
	surpriseWeights(r.Plies, g.cfg.PolicySurprise)
	g.branchOff(r)
	return r
}
