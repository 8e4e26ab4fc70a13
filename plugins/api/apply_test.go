package api

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/record"
)

// What may change arrives as it was made, and nothing else travels.
func TestApplyChanges(t *testing.T) {
	rng := freshRand(t)
	for range 300 {
		g := randomGame(t, rng, 1+rng.IntN(60))
		before := bytesOf(t, g)
		for _, c := range []struct {
			name   string
			change func(*record.Game)
		}{
			{"policy", func(c *record.Game) { changePolicies(rng, c) }},
			{"values", func(c *record.Game) { c.Plies[rng.IntN(len(c.Plies))].Best = encoding.UnknownQDM }},
			{"visits", func(c *record.Game) { c.Plies[0].Visits++ }},
			{"weights", func(c *record.Game) { c.Plies[len(c.Plies)-1].Weight += 0.25 }},
			{"klds", func(c *record.Game) { c.Plies[0].KLD += 0.25 }},
			{"flags", func(c *record.Game) { c.Plies[0].Flags ^= record.PlayedOn }},
			{"results", func(c *record.Game) { c.SetResult(0, encoding.QDM{Q: 0.25, D: 0.5, M: 1000}) }},
			{"no results", func(c *record.Game) { c.Results = nil }},
			{"nothing", func(*record.Game) {}},
			{"two columns", func(c *record.Game) { changePolicies(rng, c); c.Plies[0].Weight = 3 }},
		} {
			name := c.name
			want := g.Clone()
			c.change(want)
			p := overWire(t, encodeChanges(g, want))
			if p.Changed != nil && (len(p.Changed.Moves) > 0 || name == "results" && len(p.Changed.Values)+len(p.Changed.PolicyKind) > 0) {
				t.Fatalf("%s: more travels than has changed: %v", name, p.Changed)
			}
			got, err := apply(g, p.Changed)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sameGames(t, []*record.Game{got}, []*record.Game{want})
			if (got == g) != bytes.Equal(before, bytesOf(t, want)) {
				t.Fatalf("%s: the same game: %v", name, got == g)
			}

			whole := &pluginpb.Game{}
			encodeGame(whole, want)
			if name == "no results" && g.Results != nil {
				whole.Results = unknownResults(len(g.Plies))
			}
			if got, err = apply(g, whole); err != nil {
				t.Fatalf("%s: whole game: %v", name, err)
			}
			sameGames(t, []*record.Game{got}, []*record.Game{want})
			if !bytes.Equal(before, bytesOf(t, g)) {
				t.Fatalf("%s: the game itself was changed", name)
			}
		}
	}
}

// changePolicies gives some plies another policy of the same number of moves.
func changePolicies(rng *rand.Rand, g *record.Game) {
	for i := range g.Plies {
		p := &g.Plies[i]
		if n := len(p.Counts) + len(p.Probs); n > 0 && rng.IntN(2) == 0 {
			randomPolicy(rng, p, n)
		}
	}
}

func unknownResults(plies int) []float32 {
	out := make([]float32, numResults*plies)
	for i := range out {
		out[i] = float32(math.NaN())
	}
	return out
}

func overWire(t testing.TB, o *pluginpb.Outcome) *pluginpb.Outcome {
	t.Helper()
	wire, err := proto.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var out pluginpb.Outcome
	if err := proto.Unmarshal(wire, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// Whatever a plugin may not change, and every number out of range, is refused with
// the ply and the field; the game stays as it is.
func TestApplyFaults(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name   string
		change func(*pluginpb.Game)
		want   string
	}{
		{"no id", func(p *pluginpb.Game) { p.Id = nil }, "id"},
		{"other id", func(p *pluginpb.Game) { p.Id[3]++ }, "id"},
		{"start", func(p *pluginpb.Game) { p.Start = starts[1] }, "start: it was changed"},
		{"net id", func(p *pluginpb.Game) { p.NetId = "" }, "net id: it was changed"},
		{"seed", func(p *pluginpb.Game) { p.Seed++ }, "seed: it was changed"},
		{"ordinal", func(p *pluginpb.Game) { p.Ordinal = 0 }, "ordinal: it was changed"},
		{"game flags", func(p *pluginpb.Game) { p.Flags = 1 }, "flags: it was changed"},
		{"end", func(p *pluginpb.Game) { p.End = 0 }, "end: it was changed"},
		{"result", func(p *pluginpb.Game) { p.WhiteResult = 0 }, "result: it was changed"},
		{"extra", func(p *pluginpb.Game) { p.Extra = nil }, "extra: it was changed"},
		{"other move", func(p *pluginpb.Game) { p.Moves[1] = 11 + 27*64 }, "ply 1: move"},
		{"huge move", func(p *pluginpb.Game) { p.Moves[1] += 1 << 16 }, "ply 1: move"},
		{"fewer moves", func(p *pluginpb.Game) { p.Moves = p.Moves[:1] }, "moves: 1, want 2"},
		{"more moves", func(p *pluginpb.Game) { p.Moves = append(p.Moves, 5) }, "moves: 3, want 2"},
		{"a column too short", func(p *pluginpb.Game) { p.Values = p.Values[:12] }, "column values"},
		{"results too short", func(p *pluginpb.Game) { p.Results = p.Results[:3] }, "column results"},
		{"part of the policy", func(p *pluginpb.Game) { p.PolicyKind = nil }, "column policy_kind"},
		{"smaller policy", func(p *pluginpb.Game) { p.PolicySize[0], p.Counts = 19, p.Counts[:19] }, "ply 0: policy: 19 entries, want 20"},
		{"larger policy", func(p *pluginpb.Game) { p.PolicySize[0], p.Counts = 21, append(p.Counts, 0) }, "ply 0: policy: 21 entries, want 20"},
		{"new policy of a wrong size", func(p *pluginpb.Game) { p.PolicyKind[1], p.PolicySize[1], p.Probs = 2, 1, []float32{1} }, "ply 1: probs"},
		{"no visits at all", func(p *pluginpb.Game) { clear(p.Counts) }, "ply 0: counts"},
		{"unknown policy kind", func(p *pluginpb.Game) { p.PolicyKind[0] = 9 }, "ply 0: policy of kind 9"},
		{"sum of 2", func(p *pluginpb.Game) { probs(p)[0] = 1.75 }, "ply 0: probs"},
		{"sum not 1", func(p *pluginpb.Game) { probs(p)[0] = 0.7 }, "ply 0: probs: sum"},
		{"NaN policy", func(p *pluginpb.Game) { probs(p)[5] = nan }, "ply 0: probs: entry 5"},
		{"negative policy", func(p *pluginpb.Game) { v := probs(p); v[0], v[5] = 1, -0.25 }, "ply 0: probs"},
		{"Q above 1", func(p *pluginpb.Game) { p.Values[12+3] = 1.5 }, "ply 1: best: Q"},
		{"infinite Q", func(p *pluginpb.Game) { p.Values[0] = -inf }, "ply 0: root: Q"},
		{"D below 0", func(p *pluginpb.Game) { p.Values[7] = -0.5 }, "ply 0: played: D"},
		{"Q and D", func(p *pluginpb.Game) { p.Values[3], p.Values[4] = 0.75, 0.5 }, "ply 0: best"},
		{"infinite M", func(p *pluginpb.Game) { p.Values[12+11] = inf }, "ply 1: orig: M"},
		{"NaN weight", func(p *pluginpb.Game) { p.Weights[1] = nan }, "ply 1: weight"},
		{"negative weight", func(p *pluginpb.Game) { p.Weights[0] = -1 }, "ply 0: weight"},
		{"infinite weight", func(p *pluginpb.Game) { p.Weights[0] = inf }, "ply 0: weight"},
		{"NaN KLD", func(p *pluginpb.Game) { p.Klds[0] = nan }, "ply 0: kld"},
		{"unknown ply flag", func(p *pluginpb.Game) { p.PlyFlags[1] = 16 }, "ply 1: flags"},
		{"result out of range", func(p *pluginpb.Game) { p.Results[3] = 2 }, "ply 1: results"},
		{"half a result", func(p *pluginpb.Game) { p.Results[4] = 0.5 }, "ply 1: results"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := literalGame()
			before := bytesOf(t, g)
			p := &pluginpb.Game{}
			encodeGame(p, g)
			c.change(p)
			out, err := apply(g, p)
			wantError(t, err, c.want, "game 0102030000")
			if !errors.Is(err, ErrAnswer) || out != nil {
				t.Errorf("game %v, error %v does not wrap ErrAnswer", out, err)
			}
			if !bytes.Equal(before, bytesOf(t, g)) {
				t.Error("the game itself was changed")
			}
		})
	}
}

// probs turns the policy of ply 0 into probabilities and returns them.
func probs(p *pluginpb.Game) []float32 {
	p.PolicyKind[0], p.Counts, p.Probs = 2, nil, make([]float32, 20)
	p.Probs[0], p.Probs[7] = 0.75, 0.25
	return p.Probs
}

// Fixed fields may be left out only of a game that is not whole.
func TestApplyPartial(t *testing.T) {
	g := literalGame()
	got, err := apply(g, &pluginpb.Game{Id: g.ID[:], Weights: []float32{0, 2}})
	if err != nil {
		t.Fatal(err)
	}
	want := g.Clone()
	want.Plies[0].Weight, want.Plies[1].Weight = 0, 2
	sameGames(t, []*record.Game{got}, []*record.Game{want})
	if _, err := apply(g, &pluginpb.Game{Id: g.ID[:], Seed: 8}); err == nil {
		t.Error("another seed was accepted")
	}
}

// A game that did not change is the game.
func TestApplyUnchanged(t *testing.T) {
	g := literalGame()
	if got, err := apply(g, nil); got != g || err != nil {
		t.Errorf("unchanged: %v", err)
	}
}

// A game that grows beyond what can be stored is refused.
func TestApplySize(t *testing.T) {
	g := literalGame()
	g.Extra = nil
	g.Extra = make([]byte, record.MaxBytes-len(bytesOf(t, g))-16) // probabilities need 70 bytes more than the counts
	bytesOf(t, g)
	p := &pluginpb.Game{}
	encodeGame(p, g)
	p.Weights[0] = 2
	if _, err := apply(g, p); err != nil {
		t.Error(err)
	}
	probs(p)
	_, err := apply(g, p)
	wantError(t, err, "at most")
}

// What a stage may not change travels whole, so that the host can refuse it.
func TestChangesOfFixedFields(t *testing.T) {
	for name, change := range map[string]func(*record.Game){
		"id":           func(g *record.Game) { g.ID[0]++ },
		"start":        func(g *record.Game) { g.Start = starts[1] },
		"net id":       func(g *record.Game) { g.NetID = "" },
		"seed":         func(g *record.Game) { g.Seed = 0 },
		"ordinal":      func(g *record.Game) { g.Ordinal = 0 },
		"flags":        func(g *record.Game) { g.Flags = 0 },
		"end":          func(g *record.Game) { g.End = record.EndUnknown },
		"result":       func(g *record.Game) { g.WhiteResult = 0 },
		"extra":        func(g *record.Game) { g.Extra = nil },
		"move":         func(g *record.Game) { g.Plies[1].Move++ },
		"moves":        func(g *record.Game) { g.Plies = g.Plies[:1] },
		"results":      func(g *record.Game) { g.Results = g.Results[:1] },
		"both columns": func(g *record.Game) { g.Plies[0].Probs = []float32{1} },
	} {
		g := literalGame()
		now := g.Clone()
		change(now)
		o := overWire(t, encodeChanges(g, now))
		if _, err := apply(g, o.GetChanged()); !errors.Is(err, ErrAnswer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	g := literalGame()
	if o := encodeChanges(g, &record.Game{ID: g.ID}); o.Error == "" || o.Changed != nil {
		t.Errorf("a game without its moves: %v", o)
	}
}
