package plugintest

import (
	"context"
	"os"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/faulty"
	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// TestMain lets the test binary be the faulty program, the sampler of
// TestLargeMessages and the rescorer of TestRun.
func TestMain(m *testing.M) {
	if plan, ok := faulty.FromEnv(); ok && Started() {
		faulty.Serve(plan)
	}
	if os.Getenv(bulkyEnv) != "" && Started() {
		plugins.Serve(bulky)
	}
	Main(m, lighter)
}

// lighter multiplies weights by a setting.
var lighter = &stage.Definition{
	Kind: stage.KindRescorer, Name: "lighter", Version: "1.2.3", Doc: "multiplies the weights of all rows",
	Capabilities: []stage.Capability{stage.Deterministic},
	Settings: []stage.Setting{
		{Name: "factor", Doc: "what weights are multiplied by", Min: 0, Max: 8, Default: "0.5"},
		{Name: "every", Doc: "plies from one position to the next that is changed", Min: 1, Max: 10, Default: "1", Whole: true},
		{Name: "side", Doc: "whose positions", Text: true, Choices: []string{"white", "black", "both"}, Default: "both"},
		{Name: "note", Doc: "is not used", Text: true},
	},
	NewRescorer: func(v stage.Values) (stage.Rescorer, error) {
		return weigher{float32(v.Number("factor")), int(v.Number("every")), v.Text("side")}, nil
	},
}

// weigher is the stage of lighter.
type weigher struct {
	factor float32
	every  int
	side   string
}

func (weigher) Name() string { return "lighter" }

func (w weigher) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	out := g.Clone()
	for i := 0; i < len(out.Plies); i += w.every {
		if w.side == "both" || w.side == g.SideAt(i).String() {
			out.Plies[i].Weight *= w.factor
		}
	}
	return out, ctx.Err()
}

// TestRun runs the whole suite on a proper rescorer in both ways.
func TestRun(t *testing.T) {
	Run(t, lighter, map[string]string{"factor": "0.25", "side": "white"})
}

// TestProgram holds a program to the suite: this test binary, as a plugin.
func TestProgram(t *testing.T) {
	RunProgram(t, selfIn(t, lighter.Name)+string(os.PathSeparator)+lighter.Name, nil)
}
