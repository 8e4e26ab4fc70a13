package api

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/record"
)

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
	if len(p.Results) > 0 && allUnknown(out.Results) {
		out.Results = nil
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

// allUnknown says whether results say nothing.
func allUnknown(results []encoding.QDM) bool {
	return !slices.ContainsFunc(results, func(v encoding.QDM) bool { return v.Q == v.Q || v.D == v.D || v.M == v.M })
}

func invalid(ply int, field, format string, args ...any) error {
	return &record.InvalidError{Ply: ply, Field: field, Reason: fmt.Sprintf(format, args...)}
}
