package api

import (
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/record"
)

const (
	numValues  = 12 // floats of a ply in Game.values: root, best, played, orig, each Q, D, M
	numResults = 3  // floats of a ply in Game.results: Q, D, M
)

// GameSize returns about how many bytes g has on the wire.
func GameSize(g *record.Game) int {
	n := 64 + len(g.Start) + len(g.NetID) + len(g.Extra) + 66*len(g.Plies) + 4*numResults*len(g.Results)
	for i := range g.Plies {
		n += len(g.Plies[i].Counts) + len(g.Plies[i].Counts)/8 + 4*len(g.Plies[i].Probs)
	}
	return n
}

// resize returns a slice of n elements whose content does not matter, in the
// memory of s where it is large enough.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// encodeFor fills p with g, with its legal moves where a plugin needs them.
func encodeFor(p *pluginpb.Game, g *record.Game, legal bool) error {
	encodeGame(p, g)
	if !legal {
		return nil
	}
	return encodeLegalMoves(p, g)
}

// encodeGame fills p with all of g but the legal moves, in p's memory.
func encodeGame(p *pluginpb.Game, g *record.Game) {
	p.Id = append(p.Id[:0], g.ID[:]...)
	p.Start, p.NetId, p.Seed, p.Ordinal = g.Start, g.NetID, g.Seed, g.Ordinal
	p.Flags, p.End, p.WhiteResult = uint32(g.Flags), uint32(g.End), int32(g.WhiteResult)
	p.Extra = append(p.Extra[:0], g.Extra...)
	p.Moves = resize(p.Moves, len(g.Plies))
	for i := range g.Plies {
		p.Moves[i] = uint32(g.Plies[i].Move)
	}
	p.LegalMoves = p.LegalMoves[:0]
	for _, c := range columns {
		c.encode(p, g.Plies)
	}
	encodeResults(p, g.Results)
}

// columns are those of the plies that a rescorer may change.
var columns = [...]struct {
	same   func(a, b *record.Ply) bool
	encode func(p *pluginpb.Game, plies []record.Ply)
}{
	{samePolicy, encodePolicies},
	{sameValues, encodeValues},
	{func(a, b *record.Ply) bool { return a.Visits == b.Visits }, func(p *pluginpb.Game, plies []record.Ply) {
		p.Visits = column(p.Visits, plies, func(ply *record.Ply) uint32 { return ply.Visits })
	}},
	{func(a, b *record.Ply) bool { return sameBits(a.Weight, b.Weight) }, func(p *pluginpb.Game, plies []record.Ply) {
		p.Weights = column(p.Weights, plies, func(ply *record.Ply) float32 { return ply.Weight })
	}},
	{func(a, b *record.Ply) bool { return sameBits(a.KLD, b.KLD) }, func(p *pluginpb.Game, plies []record.Ply) {
		p.Klds = column(p.Klds, plies, func(ply *record.Ply) float32 { return ply.KLD })
	}},
	{func(a, b *record.Ply) bool { return a.Flags == b.Flags }, func(p *pluginpb.Game, plies []record.Ply) {
		p.PlyFlags = column(p.PlyFlags, plies, func(ply *record.Ply) byte { return byte(ply.Flags) })
	}},
}

// column returns one number of each ply, in the memory of dst.
func column[T any](dst []T, plies []record.Ply, of func(*record.Ply) T) []T {
	dst = resize(dst, len(plies))
	for i := range plies {
		dst[i] = of(&plies[i])
	}
	return dst
}

func encodePolicies(p *pluginpb.Game, plies []record.Ply) {
	p.PolicyKind, p.PolicySize = resize(p.PolicyKind, len(plies)), resize(p.PolicySize, len(plies))
	p.Counts, p.Probs = p.Counts[:0], p.Probs[:0]
	for i := range plies {
		ply := &plies[i]
		p.PolicyKind[i], p.PolicySize[i] = byte(ply.Kind), uint32(len(ply.Counts)+len(ply.Probs))
		p.Counts, p.Probs = append(p.Counts, ply.Counts...), append(p.Probs, ply.Probs...)
	}
}

func encodeValues(p *pluginpb.Game, plies []record.Ply) {
	p.Values = resize(p.Values, numValues*len(plies))
	for i := range plies {
		ply := &plies[i]
		v := (*[numValues]float32)(p.Values[numValues*i:])
		v[0], v[1], v[2] = ply.Root.Q, ply.Root.D, ply.Root.M
		v[3], v[4], v[5] = ply.Best.Q, ply.Best.D, ply.Best.M
		v[6], v[7], v[8] = ply.Played.Q, ply.Played.D, ply.Played.M
		v[9], v[10], v[11] = ply.Orig.Q, ply.Orig.D, ply.Orig.M
	}
}

func encodeResults(p *pluginpb.Game, results []encoding.QDM) {
	p.Results = resize(p.Results, numResults*len(results))
	for i, v := range results {
		p.Results[3*i], p.Results[3*i+1], p.Results[3*i+2] = v.Q, v.D, v.M
	}
}

// encodeLegalMoves fills p's legal moves from those of g's plies that have a
// policy. Errors are *record.InvalidError.
func encodeLegalMoves(p *pluginpb.Game, g *record.Game) error {
	b, err := g.StartBoard()
	if err != nil {
		return err
	}
	p.LegalMoves = p.LegalMoves[:0]
	var list chess.MoveList
	for i := range g.Plies {
		ply := &g.Plies[i]
		if n := len(ply.Counts) + len(ply.Probs); n > 0 {
			list.N = 0
			if b.GenerateMoves(&list); list.N != n {
				return &record.InvalidError{Ply: i, Field: "policy", Reason: fmt.Sprintf("%d entries, want %d, one a legal move", n, list.N)}
			}
			for _, m := range list.Slice() {
				p.LegalMoves = append(p.LegalMoves, uint32(m))
			}
		}
		b.Make(ply.Move)
	}
	return nil
}

// encodeChanges returns what became of g: an outcome without fields where nothing
// changed, the id and the changed columns where only those differ that may, the
// whole game where anything else does (the host refuses it and says why).
func encodeChanges(g, now *record.Game) *pluginpb.Outcome {
	if now == g {
		return &pluginpb.Outcome{}
	}
	p := &pluginpb.Game{}
	if len(now.Plies) == 0 && len(g.Plies) > 0 { // would read as columns that stay
		return &pluginpb.Outcome{Error: fmt.Sprintf("the stage returned a game without plies for one of %d", len(g.Plies))}
	}
	if !sameFixed(g, now) {
		encodeGame(p, now)
		return &pluginpb.Outcome{Changed: p}
	}
	changed := false
	for _, c := range columns {
		for i := range g.Plies {
			if !c.same(&g.Plies[i], &now.Plies[i]) {
				c.encode(p, now.Plies)
				changed = true
				break
			}
		}
	}
	if !slices.EqualFunc(g.Results, now.Results, encoding.QDM.SameBits) {
		encodeResults(p, now.Results)
		if len(now.Results) == 0 { // taken away
			p.Results = slices.Repeat([]float32{float32(math.NaN())}, numResults*len(now.Plies))
		}
		changed = true
	}
	if !changed {
		return &pluginpb.Outcome{}
	}
	p.Id = slices.Clone(g.ID[:])
	return &pluginpb.Outcome{Changed: p}
}

// sameFixed says whether two games agree in all that may not change.
func sameFixed(a, b *record.Game) bool {
	return a.ID == b.ID && a.Start == b.Start && a.NetID == b.NetID && a.Seed == b.Seed && a.Ordinal == b.Ordinal &&
		a.Flags == b.Flags && a.End == b.End && a.WhiteResult == b.WhiteResult && string(a.Extra) == string(b.Extra) &&
		(len(b.Results) == 0 || len(b.Results) == len(b.Plies)) &&
		slices.EqualFunc(a.Plies, b.Plies, func(a, b record.Ply) bool { return a.Move == b.Move })
}

func samePolicy(a, b *record.Ply) bool {
	return a.Kind == b.Kind && slices.Equal(a.Counts, b.Counts) && slices.EqualFunc(a.Probs, b.Probs, sameBits)
}

func sameValues(a, b *record.Ply) bool {
	return a.Root.SameBits(b.Root) && a.Best.SameBits(b.Best) && a.Played.SameBits(b.Played) && a.Orig.SameBits(b.Orig)
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
