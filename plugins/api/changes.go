package api

import (
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/record"
)

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
	column := func(same func(a, b *record.Ply) bool, encode func(*pluginpb.Game, []record.Ply)) {
		for i := range g.Plies {
			if !same(&g.Plies[i], &now.Plies[i]) {
				encode(p, now.Plies)
				changed = true
				return
			}
		}
	}
	column(samePolicy, encodePolicies)
	column(sameValues, encodeValues)
	column(func(a, b *record.Ply) bool { return a.Visits == b.Visits }, encodeVisits)
	column(func(a, b *record.Ply) bool { return sameBits(a.Weight, b.Weight) }, encodeWeights)
	column(func(a, b *record.Ply) bool { return sameBits(a.KLD, b.KLD) }, encodeKLDs)
	column(func(a, b *record.Ply) bool { return a.Flags == b.Flags }, encodePlyFlags)
	if !slices.EqualFunc(g.Results, now.Results, sameQDM) {
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
	return sameQDM(a.Root, b.Root) && sameQDM(a.Best, b.Best) && sameQDM(a.Played, b.Played) && sameQDM(a.Orig, b.Orig)
}

func sameQDM(a, b encoding.QDM) bool {
	return sameBits(a.Q, b.Q) && sameBits(a.D, b.D) && sameBits(a.M, b.M)
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
