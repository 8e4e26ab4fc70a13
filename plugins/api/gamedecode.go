package api

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/record"
)

// decodeGame returns the game that p holds, which has all columns. The policies
// alias p. Columns of a wrong length and numbers that do not fit the record's
// fields are errors; whether the game is a legal one is not looked at
// (record.Game.Validate).
func decodeGame(p *pluginpb.Game) (*record.Game, error) {
	g := &record.Game{
		Start: p.GetStart(), NetID: p.GetNetId(), Seed: p.GetSeed(), Ordinal: p.GetOrdinal(),
		Flags: record.GameFlags(p.GetFlags()), End: record.EndReason(p.GetEnd()), WhiteResult: int8(p.GetWhiteResult()),
		Extra: p.GetExtra(),
	}
	switch {
	case len(p.GetId()) != len(g.ID):
		return nil, fmt.Errorf("game: id: %d bytes, want %d", len(p.GetId()), len(g.ID))
	case p.Flags > math.MaxUint16 || p.End > math.MaxUint8 || p.WhiteResult < -1 || p.WhiteResult > 1:
		return nil, fmt.Errorf("game %x: flags %#x, end %d, result %d: out of range", p.Id, p.Flags, p.End, p.WhiteResult)
	}
	copy(g.ID[:], p.Id)
	if len(p.Moves) == 0 {
		return g, columnError(p, 0, false)
	}
	g.Plies = make([]record.Ply, len(p.Moves))
	for i, m := range p.Moves {
		if m > math.MaxUint16 {
			return nil, fmt.Errorf("game %x: ply %d: move %d is none", p.Id, i, m)
		}
		g.Plies[i].Move = chess.Move(m)
	}
	if err := columnError(p, len(g.Plies), false); err != nil {
		return nil, err
	}
	return g, decodeColumns(g, p)
}

// columnError says which column of p does not have the length that it must have
// in a game of some plies. A partial game may lack columns: they are empty.
func columnError(p *pluginpb.Game, plies int, partial bool) error {
	for _, c := range [...]struct {
		name      string
		got, want int
		optional  bool
	}{
		{"policy_kind", len(p.PolicyKind), plies, partial && !hasPolicy(p)},
		{"policy_size", len(p.PolicySize), plies, partial && !hasPolicy(p)},
		{"values", len(p.Values), numValues * plies, partial},
		{"visits", len(p.Visits), plies, partial},
		{"weights", len(p.Weights), plies, partial},
		{"klds", len(p.Klds), plies, partial},
		{"ply_flags", len(p.PlyFlags), plies, partial},
		{"results", len(p.Results), numResults * plies, true},
	} {
		if c.got != c.want && !(c.optional && c.got == 0) {
			return fmt.Errorf("game %x: column %s: %d entries, want %d in a game of %d plies", p.Id, c.name, c.got, c.want, plies)
		}
	}
	if plies == 0 && len(p.Counts)+len(p.Probs) > 0 {
		return fmt.Errorf("game %x: column counts or probs: %d entries in a game without plies", p.Id, len(p.Counts)+len(p.Probs))
	}
	return nil
}

// hasPolicy says whether p has any of the columns of the policy.
func hasPolicy(p *pluginpb.Game) bool {
	return len(p.PolicyKind)+len(p.PolicySize)+len(p.Counts)+len(p.Probs) > 0
}

// decodeColumns writes those columns of p that may change and are there into g,
// whose Plies are the caller's. Their lengths have been checked.
func decodeColumns(g *record.Game, p *pluginpb.Game) error {
	if hasPolicy(p) {
		if err := decodePolicies(g.Plies, p); err != nil {
			return err
		}
	}
	for i := range p.Visits {
		g.Plies[i].Visits = p.Visits[i]
	}
	for i := range p.Weights {
		g.Plies[i].Weight = p.Weights[i]
	}
	for i := range p.Klds {
		g.Plies[i].KLD = p.Klds[i]
	}
	for i := range p.PlyFlags {
		g.Plies[i].Flags = record.PlyFlags(p.PlyFlags[i])
	}
	if len(p.Values) > 0 {
		for i := range g.Plies {
			ply, v := &g.Plies[i], (*[numValues]float32)(p.Values[numValues*i:])
			ply.Root = encoding.QDM{Q: v[0], D: v[1], M: v[2]}
			ply.Best = encoding.QDM{Q: v[3], D: v[4], M: v[5]}
			ply.Played = encoding.QDM{Q: v[6], D: v[7], M: v[8]}
			ply.Orig = encoding.QDM{Q: v[9], D: v[10], M: v[11]}
		}
	}
	if len(p.Results) > 0 {
		g.Results = make([]encoding.QDM, len(g.Plies))
		for i := range g.Results {
			g.Results[i] = encoding.QDM{Q: p.Results[3*i], D: p.Results[3*i+1], M: p.Results[3*i+2]}
		}
	}
	return nil
}

// decodePolicies gives each ply its part of p's policy columns, which it aliases.
func decodePolicies(plies []record.Ply, p *pluginpb.Game) error {
	counts, probs := p.Counts, p.Probs
	for i := range plies {
		ply, n := &plies[i], int(p.PolicySize[i])
		ply.Kind, ply.Counts, ply.Probs = record.PolicyKind(p.PolicyKind[i]), nil, nil
		switch {
		case ply.Kind == record.PolicyNone && n == 0:
		case ply.Kind == record.PolicyCounts && n > 0 && n <= len(counts):
			ply.Counts, counts = counts[:n:n], counts[n:]
		case ply.Kind == record.PolicyProbs && n > 0 && n <= len(probs):
			ply.Probs, probs = probs[:n:n], probs[n:]
		default:
			return fmt.Errorf("game %x: ply %d: policy of kind %d and size %d, with %d counts and %d probs left in their columns",
				p.Id, i, ply.Kind, n, len(counts), len(probs))
		}
	}
	if len(counts)+len(probs) > 0 {
		return fmt.Errorf("game %x: columns counts and probs: %d and %d entries more than policy_size says", p.Id, len(counts), len(probs))
	}
	return nil
}

// apply returns what a changed game, or its changed columns, make of g: a copy that has
// taken over what may change (policy, values, visits, weights, KLD, ply flags, results)
// and shares the rest with g and p; g itself where p is nil. g is never changed. Anything
// else that differs, a policy of another size or of a wrong sum, a number out of range, a
// column of a wrong length is an error that wraps ErrAnswer and says ply and field.
func apply(g *record.Game, p *pluginpb.Game) (*record.Game, error) {
	if p == nil {
		return g, nil
	}
	out, err := change(g, p)
	if err != nil {
		return nil, fmt.Errorf("game %x: %w: %w", g.ID, ErrAnswer, err)
	}
	return out, nil
}

func change(g *record.Game, p *pluginpb.Game) (*record.Game, error) {
	if err := cmp.Or(checkFixed(g, p), columnError(p, len(g.Plies), true)); err != nil {
		return nil, err
	}
	out := *g
	out.Plies = slices.Clone(g.Plies)
	if err := decodeColumns(&out, p); err != nil {
		return nil, err
	}
	if len(p.Results) > 0 && !slices.ContainsFunc(out.Results, func(v encoding.QDM) bool { return v.Q == v.Q || v.D == v.D || v.M == v.M }) {
		out.Results = nil // they say nothing
	}
	for i := range out.Plies {
		old, now := &g.Plies[i], &out.Plies[i]
		n, m := len(old.Counts)+len(old.Probs), len(now.Counts)+len(now.Probs)
		if n > 0 && m > 0 && n != m {
			return nil, invalid(i, "policy", "%d entries, want %d as there were", m, n)
		}
	}
	if err := out.Validate(); err != nil {
		return nil, err
	}
	return &out, checkSize(&out)
}

// checkFixed compares what may not change. A game with moves is a whole game, in
// which all of it has to be equal; in one without, what is not there stays.
func checkFixed(g *record.Game, p *pluginpb.Game) error {
	if string(p.GetId()) != string(g.ID[:]) {
		return invalid(-1, "id", "%.80x, want %x: it may not change", p.GetId(), g.ID)
	}
	whole := len(p.Moves) > 0
	for _, f := range [...]struct {
		name    string
		same    bool
		missing bool
	}{
		{"start", p.Start == g.Start, p.Start == ""},
		{"net id", p.NetId == g.NetID, p.NetId == ""},
		{"seed", p.Seed == g.Seed, p.Seed == 0},
		{"ordinal", p.Ordinal == g.Ordinal, p.Ordinal == 0},
		{"flags", p.Flags == uint32(g.Flags), p.Flags == 0},
		{"end", p.End == uint32(g.End), p.End == 0},
		{"result", p.WhiteResult == int32(g.WhiteResult), p.WhiteResult == 0},
		{"extra", string(p.Extra) == string(g.Extra), len(p.Extra) == 0},
	} {
		if !f.same && (whole || !f.missing) {
			return invalid(-1, f.name, "it was changed, which it may not be")
		}
	}
	if whole && len(p.Moves) != len(g.Plies) {
		return invalid(-1, "moves", "%d, want %d: they may not change", len(p.Moves), len(g.Plies))
	}
	for i, m := range p.Moves {
		if m != uint32(g.Plies[i].Move) {
			return invalid(i, "move", "%#04x, want %#04x: it may not change", m, uint16(g.Plies[i].Move))
		}
	}
	return nil
}

// checkSize refuses a game that has grown beyond what can be stored. Encoding it
// would tell; that is left out where it fits for sure.
func checkSize(g *record.Game) error {
	most := 256 + len(g.Start) + len(g.NetID) + len(g.Extra) + (128+4*numResults)*len(g.Plies)
	for i := range g.Plies {
		most += 6*len(g.Plies[i].Counts) + 4*len(g.Plies[i].Probs)
	}
	if most <= record.MaxBytes {
		return nil
	}
	_, err := record.Append(nil, g)
	return err
}

func invalid(ply int, field, format string, args ...any) error {
	return &record.InvalidError{Ply: ply, Field: field, Reason: fmt.Sprintf(format, args...)}
}
