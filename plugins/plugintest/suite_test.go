package plugintest

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// TestProperStages runs the suite on proper samplers and exporters: nothing is
// found, and both ways give the same output.
func TestProperStages(t *testing.T) {
	for name, d := range map[string]*stage.Definition{
		"sampler":             samplerOf(func() stage.Sampler { return sampleFunc(sampleRows) }),
		"exporter":            exporterOf(false, exportRaw),
		"exporter with games": exporterOf(true, exportRaw),
	} {
		t.Run(name, func(t *testing.T) { bothWays(t, d, nil) })
	}
}

// finds runs the suite on a broken stage and fails unless exactly the check with
// the given words finds something, or one of several such checks.
func finds(t *testing.T, s Subject, words ...string) {
	t.Helper()
	var failed []string
	for _, r := range Check(t.Context(), s, 1) {
		if r.Err != nil {
			failed = append(failed, r.Name)
			if !strings.HasPrefix(r.String(), "FAIL") {
				t.Errorf("a failed check is printed as %q", r)
			}
		}
	}
	for _, w := range words {
		if !slices.ContainsFunc(failed, func(name string) bool { return strings.Contains(name, w) }) {
			t.Errorf("%q found nothing; what was found: %q", w, failed)
		}
	}
	if len(words) == 0 && len(failed) > 0 {
		t.Errorf("found: %q", failed)
	}
}

// rescoreFunc is a rescorer made of a function.
type rescoreFunc func(ctx context.Context, g *record.Game) (*record.Game, error)

func (rescoreFunc) Name() string { return "broken" }
func (f rescoreFunc) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	return f(ctx, g)
}

// broken defines a rescorer made of a function.
func broken(f rescoreFunc) *stage.Definition {
	return &stage.Definition{Kind: stage.KindRescorer, Name: "broken", Version: "1", Doc: "breaks a rule",
		Capabilities: []stage.Capability{stage.Deterministic},
		NewRescorer:  func(stage.Values) (stage.Rescorer, error) { return f, nil }}
}

// changed is a rescorer that changes a copy of each game with plies.
func changed(change func(g *record.Game)) rescoreFunc {
	return func(ctx context.Context, g *record.Game) (*record.Game, error) {
		out := g.Clone()
		if len(g.Plies) > 0 {
			change(out)
		}
		return out, ctx.Err()
	}
}

// TestBrokenRescorers breaks one rule after another: the suite finds each.
func TestBrokenRescorers(t *testing.T) {
	var calls atomic.Int64
	const keeps = "games stay valid"
	for name, c := range map[string]struct {
		f    rescoreFunc
		find string
	}{
		"changes its argument": {func(ctx context.Context, g *record.Game) (*record.Game, error) {
			for i := range g.Plies {
				g.Plies[i].Weight++
			}
			return g, ctx.Err()
		}, keeps},
		"returns nothing":     {func(context.Context, *record.Game) (*record.Game, error) { return nil, nil }, keeps},
		"fails":               {func(context.Context, *record.Game) (*record.Game, error) { return nil, errors.New("no") }, keeps},
		"panics":              {func(context.Context, *record.Game) (*record.Game, error) { panic("no") }, keeps},
		"another id":          {changed(func(g *record.Game) { g.ID[0] ^= 1 }), keeps},
		"another result":      {changed(func(g *record.Game) { g.End, g.WhiteResult = record.EndUnknown, 0 }), keeps},
		"another net":         {changed(func(g *record.Game) { g.NetID = "other" }), keeps},
		"a ply less":          {changed(func(g *record.Game) { g.Plies, g.Results, g.End = g.Plies[:len(g.Plies)-1], nil, record.EndUnknown }), keeps},
		"a bad weight":        {changed(func(g *record.Game) { g.Plies[0].Weight = float32(math.NaN()) }), keeps},
		"extra bytes":         {changed(func(g *record.Game) { g.Extra = []byte("x") }), keeps},
		"does not stop":       {func(_ context.Context, g *record.Game) (*record.Game, error) { return g, nil }, "canceled call"},
		"is not the same":     {changed(func(g *record.Game) { g.Plies[0].Visits = uint32(calls.Add(1)) }), "equal games"},
		"stops for all times": {stopsForever(), "canceled call"},
	} {
		t.Run(name, func(t *testing.T) { finds(t, Bare(broken(c.f), nil), c.find) })
	}
}

// stopsForever is a rescorer that works no more after one canceled call.
func stopsForever() rescoreFunc {
	var over atomic.Bool
	return func(ctx context.Context, g *record.Game) (*record.Game, error) {
		if ctx.Err() != nil {
			over.Store(true)
		}
		if over.Load() {
			return nil, context.Canceled
		}
		return g, nil
	}
}

// shuffled returns the games of a batch in another order.
type shuffled struct{ rescoreFunc }

func (s shuffled) RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	slices.Reverse(games)
	return games, ctx.Err()
}

// TestBrokenBatch finds a batch that comes back in another order.
func TestBrokenBatch(t *testing.T) {
	d := broken(nil)
	d.NewRescorer = func(stage.Values) (stage.Rescorer, error) { return shuffled{changed(func(*record.Game) {})}, nil }
	finds(t, Bare(d, nil), "a batch gives")
}

// TestOneAtATime holds the suite and the server to a description that allows one
// call at a time.
func TestOneAtATime(t *testing.T) {
	var inside atomic.Int64
	d := broken(func(ctx context.Context, g *record.Game) (*record.Game, error) {
		defer inside.Add(-1)
		if inside.Add(1) > 1 {
			return nil, errors.New("two at a time")
		}
		for range 10 {
			runtime.Gosched() // gives others the chance to come in
		}
		return g, ctx.Err()
	})
	d.Concurrency = 1
	finds(t, Bare(d, nil))
	finds(t, InProcess(d, nil))
}

// TestBrokenDescriptions finds wrong descriptions and settings that are not
// checked.
func TestBrokenDescriptions(t *testing.T) {
	same := changed(func(*record.Game) {})
	for name, c := range map[string]struct {
		change func(d *stage.Definition, s *Subject)
		find   string
	}{
		"bad name":   {func(d *stage.Definition, _ *Subject) { d.Name = "Broken!" }, "the description is valid"},
		"no doc":     {func(d *stage.Definition, _ *Subject) { d.Doc = "" }, "has a version"},
		"other name": {func(d *stage.Definition, _ *Subject) { d.Name = "other" }, "the description's name"},
		"defaults do not work": {func(d *stage.Definition, _ *Subject) {
			d.NewRescorer = func(v stage.Values) (stage.Rescorer, error) {
				if v.Number("depth") == 2 {
					return nil, errors.New("depth is not good")
				}
				return same, nil
			}
		}, "defaults"},
		"needs what has a default": {func(d *stage.Definition, s *Subject) {
			s.Settings = map[string]string{"depth": "3"}
			s.New = func(_ context.Context, settings map[string]string) (Stage, error) {
				if settings["depth"] == "" {
					return Stage{}, errors.New("setting depth: none given")
				}
				return Stage{Rescorer: same}, nil
			}
		}, "without settings"},
		"another description": {func(d *stage.Definition, s *Subject) {
			s.Describe = func(context.Context) (*stage.Definition, error) {
				other := *d
				other.Version = "2"
				return &other, nil
			}
		}, "the same on the other side"},
		"takes everything": {func(d *stage.Definition, s *Subject) {
			s.New = func(context.Context, map[string]string) (Stage, error) { return Stage{Rescorer: same}, nil }
		}, "unknown setting"},
		"takes every number": {func(d *stage.Definition, s *Subject) {
			s.New = func(_ context.Context, settings map[string]string) (Stage, error) {
				if len(settings) > 0 && settings["depth"] == "" {
					return Stage{}, errors.New("unknown setting " + noSetting)
				}
				return Stage{Rescorer: same}, nil
			}
		}, "out of range"},
		"does not name the setting": {func(d *stage.Definition, s *Subject) {
			s.New = func(ctx context.Context, settings map[string]string) (Stage, error) {
				if _, err := d.Values(settings); err != nil {
					return Stage{}, errors.New("bad settings")
				}
				return Stage{Rescorer: same}, nil
			}
		}, "out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			d := broken(same)
			d.Settings = []stage.Setting{{Name: "depth", Doc: "a number", Min: 1, Max: 3, Default: "2", Whole: true}}
			s := Bare(d, nil)
			c.change(d, &s)
			finds(t, s, c.find)
		})
	}
}
