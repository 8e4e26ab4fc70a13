package plugintest

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/faulty"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// samplerFaults are the modes of a sampler's call, with words of what the host
// says of them.
var samplerFaults = map[faulty.Mode]string{
	faulty.Exit: "exit status 7", faulty.Panic: "panicking in the middle of a call", faulty.Status: "no luck today",
	faulty.Hang: "no answer within 1s", faulty.Drip: "no answer within 1s", faulty.Huge: "larger than max",
	faulty.Endless: "1001 batches in a message", faulty.BadBatch: "0 batches, want 1 to",
	faulty.TooFew: "0 games", faulty.TooMany: "8 games", faulty.NaN: "weight NaN",
	faulty.BadIndex: "game 1125899906842624", faulty.BadPly: "ply 1048576",
}

// sampleAll makes the suite's draws with a plan.
func sampleAll(t *testing.T, plan faulty.Plan, draws []stage.Draw) (*trial, [][]stage.RowRef) {
	t.Helper()
	r := try(t, plan, nil)
	s, err := r.Sampler(t.Context(), stage.Choice{Name: faulty.Name})
	if err != nil {
		t.Fatal(err)
	}
	p := &sampling{suite: &suite{ctx: t.Context()}, draws: draws}
	rows, err := p.makeAll(p.from(s, 2), 0)
	if err != nil {
		t.Fatal(err)
	}
	return r, rows
}

// TestSamplerFaultsOnce lets a process misbehave in each way, in the first draw
// and in a later one: the rows are those of a sampler that never failed, none
// lost, none twice, over a window that slides.
func TestSamplerFaultsOnce(t *testing.T) {
	draws := makeDraws(freshSeed(t))[:9]
	_, want := sampleAll(t, faulty.Plan{Kind: stage.KindSampler}, draws)
	for mode, words := range samplerFaults {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			call := 6
			if mode == faulty.Exit || mode == faulty.TooFew {
				call = 1
			}
			dir := t.TempDir()
			plan := faulty.Plan{Kind: stage.KindSampler, Mode: mode, Call: call, Once: filepath.Join(dir, "once"), Starts: filepath.Join(dir, "starts")}
			r, got := sampleAll(t, plan, draws)
			if err := compareDraws(got, want, 0); err != nil {
				t.Error(err)
			}
			r.wantFailure(stage.KindSampler, words)
			r.wantOneRestart(plan)
		})
	}
}

// TestSamplerGivenUp lets every process misbehave: without Continue the draw is
// an error that names the plugin, with it the built-in uniform sampler takes
// over.
func TestSamplerGivenUp(t *testing.T) {
	window := makeDraws(freshSeed(t))[0].Index
	for _, mode := range []faulty.Mode{faulty.Exit, faulty.BadIndex} {
		for _, goOn := range []bool{false, true} {
			t.Run(string(mode), func(t *testing.T) {
				t.Parallel()
				r := try(t, faulty.Plan{Kind: stage.KindSampler, Mode: mode}, func(o *host.Options) {
					o.Restarts, o.Continue, o.Builtin = 1, goOn, sample.Definitions()
				})
				s, err := r.Sampler(t.Context(), stage.Choice{Name: faulty.Name})
				if err != nil {
					t.Fatal(err)
				}
				p := &sampling{suite: &suite{ctx: t.Context()}}
				_, err = p.make1(p.from(s, 2), stage.Draw{Index: window, Rows: 64})
				if goOn {
					if err != nil || len(r.eventsIn(host.Replaced)) != 1 {
						t.Errorf("%v, events %+v: want rows, and one event that says where they come from", err, r.eventsIn(""))
					}
					return
				}
				wantError(t, err, stage.KindSampler, samplerFaults[mode])
				if !errors.Is(err, host.ErrGivenUp) {
					t.Errorf("error %v is not ErrGivenUp", err)
				}
			})
		}
	}
}
