package rescore

import (
	"context"
	"errors"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

const policyDoc = "sharpens or flattens the policy targets and lifts the fastest table wins"

var policySettings = []stage.Setting{
	{Name: "temperature", Doc: "T: below 1 sharpens, above 1 flattens", Min: 0.01, Max: 100, Default: "1"},
	{Name: "offset", Doc: "added to each legal move's probability", Min: -1, Max: 1, Default: "0"},
	{Name: "dtz_boost", Doc: "shared among the moves that win fastest by the tables; needs paths", Min: 0, Max: 100, Default: "0"},
	{Name: "paths", Doc: pathsDoc, Text: true},
}

// PolicyTemperature changes each policy over its legal moves to
//
//	p = max(0, p + Offset + Boost/n)^(1/Temperature), divided by the sum
//
// where Boost goes to the n moves that win with the least DTZ, in positions that
// the tables know and the side to move has won. A policy of which nothing would
// be left stays as it is, as do positions without a policy. KLD stays that of
// the search.
type PolicyTemperature struct {
	Temperature float64 // > 0
	Offset      float64 //
	Boost       float64 // 0 = none
	Tables      Tables  // nil without Boost
}

func newPolicyTemperature(v stage.Values) (stage.Rescorer, error) {
	p := PolicyTemperature{Temperature: v.Number("temperature"), Offset: v.Number("offset"), Boost: v.Number("dtz_boost")}
	paths := v.Text("paths")
	switch {
	case p.Boost == 0 && paths != "":
		return nil, errors.New("setting paths: tables are used by dtz_boost only, which is 0")
	case p.Boost == 0:
		return p, nil
	}
	var err error
	p.Tables, err = openTables(paths)
	return p, err
}

func (PolicyTemperature) Name() string { return "policy-temperature" }

// Err names the tables found broken while rescoring; nil while there is none.
func (p PolicyTemperature) Err() error { return tablesErr(p.Tables) }

// Rescore returns g, or a copy with other policies. The error is for a start
// position that is none.
func (p PolicyTemperature) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	if p.Temperature == 1 && p.Offset == 0 && p.Boost == 0 {
		return g, ctx.Err()
	}
	b, err := g.StartBoard()
	if err != nil {
		return nil, err
	}
	out := g
	for i := range g.Plies {
		ply := &g.Plies[i]
		probs := p.change(distribution(ply), &b)
		b.Make(ply.Move)
		if probs == nil {
			continue
		}
		if out == g {
			out = g.Clone()
		}
		changed := &out.Plies[i]
		changed.Kind, changed.Counts, changed.Probs = record.PolicyProbs, nil, probs
	}
	return out, ctx.Err()
}

// distribution returns the policy of a ply beside its legal moves, nil where
// it has none or a single move.
func distribution(p *record.Ply) []float64 {
	var dist []float64
	switch p.Kind {
	case record.PolicyProbs:
		for _, v := range p.Probs {
			dist = append(dist, float64(v))
		}
	case record.PolicyCounts:
		sum := 0.0
		for _, n := range p.Counts {
			sum += float64(n)
		}
		for _, n := range p.Counts {
			dist = append(dist, float64(n)/sum)
		}
	}
	if len(dist) < 2 {
		return nil
	}
	return dist
}

// change returns the policy of b that dist becomes, nil where it stays.
func (p PolicyTemperature) change(dist []float64, b *chess.Board) []float32 {
	if dist == nil {
		return nil
	}
	boosted := p.fastest(b)
	if boosted == nil && p.Temperature == 1 && p.Offset == 0 {
		return nil
	}
	most := 0.0
	for j := range dist {
		dist[j] += p.Offset
		if boosted != nil {
			dist[j] += boosted[j]
		}
		dist[j] = max(0, dist[j])
		most = max(most, dist[j])
	}
	if most == 0 {
		return nil
	}
	sum := 0.0
	for j, v := range dist {
		v /= most // keeps the largest from vanishing at low temperatures
		if p.Temperature != 1 {
			v = chance.Power(v, 1/p.Temperature)
		}
		dist[j] = v
		sum += v
	}
	probs := make([]float32, len(dist))
	for j, v := range dist {
		probs[j] = float32(v / sum)
	}
	return probs
}

// fastest returns Boost/n beside those legal moves of b that win with the
// least DTZ within the fifty moves, 0 beside others; nil where there is none.
func (p PolicyTemperature) fastest(b *chess.Board) []float64 {
	if p.Boost == 0 {
		return nil
	}
	if wdl, ok := p.Tables.WDL(b); !ok || wdl != 2 {
		return nil
	}
	var list chess.MoveList
	b.GenerateMoves(&list)
	boost := make([]float64, list.N)
	best, n := draw50-b.Rule50()+1, 0
	for j, m := range list.Slice() {
		child := *b
		child.Make(m)
		d, ok := p.winIn(&child)
		if !ok || d > best || n == 0 && d == best {
			continue
		}
		if d < best {
			clear(boost)
			best, n = d, 0
		}
		boost[j] = p.Boost
		n++
	}
	if n == 0 {
		return nil
	}
	for j := range boost {
		boost[j] /= float64(n)
	}
	return boost
}

// winIn returns the plies to the next capture, pawn move or mate of a move that
// wins, counting it, by the position after it; 0 for mate.
func (p PolicyTemperature) winIn(after *chess.Board) (plies int, ok bool) {
	var replies chess.MoveList
	if after.GenerateMoves(&replies); replies.N == 0 {
		return 0, after.InCheck()
	}
	wdl, ok := p.Tables.WDL(after)
	if !ok || wdl != -2 {
		return 0, false
	}
	if after.Rule50() == 0 {
		return 1, true
	}
	dtz, ok := p.Tables.DTZ(after)
	return abs(dtz) + 1, ok
}
