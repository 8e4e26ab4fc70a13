package setup

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
)

// overridden resolves a configuration of nothing but overrides.
func overridden(t *testing.T, overrides ...string) *config.Effective {
	t.Helper()
	e, err := config.Resolve(config.Input{Overrides: overrides})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// effective resolves a file's text.
func effective(t *testing.T, text string) *config.Effective {
	t.Helper()
	file, err := config.Parse("test.textproto", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e, err := config.Resolve(config.Input{File: file})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestParseGrowth(t *testing.T) {
	large := nntest.Named("32x2-se8-noml")
	text, err := json.Marshal(large)
	if err != nil {
		t.Fatal(err)
	}
	g, err := parseGrowth(" 16x1 @0, "+string(text)+"@ 7000,b6c64@9000000000", nil)
	if err != nil || len(g) != 3 || g[0].arch.String() != "16x1-se" || !g[1].arch.Equal(large) || g[1].from != 7000 || g[2].from != 9e9 {
		t.Errorf("%v %v", g, err)
	}
	if g, err := parseGrowth("16x1@9, 32x2@0elo,64x4@20,b6c64@1200elo", nil); err != nil || g[0].elo || !g[1].elo || g[2].elo || !g[3].elo || g[3].from != 1200 {
		t.Errorf("rows and Elo: %v %v", g, err)
	}
	if g, err := parseGrowth("  ", nil); g != nil || err != nil {
		t.Errorf("nothing: %v %v", g, err)
	}
	for text, want := range map[string]string{
		"64x6":      "step 1: ",
		"64x6@":     `step 1: "" is no number of rows`,
		"64x6@many": `step 1: "many" is no number of rows`,
		"64x6@1e3":  `step 1: "1e3" is no number of rows`,

		"64x6@99999999999999999999": `step 1: "99999999999999999999" is no number of rows`,

		"64x6@-1":         "step 1 begins at -1 rows: want 0 or more",
		"64x6@1,,":        "step 2: ",
		"64x6@elo":        `step 1: "" is no number of rows or, before elo, of Elo`,
		"64x6@1.5elo":     `step 1: "1.5" is no number of rows or, before elo, of Elo`,
		"64x6@5 elo":      `step 1: "5 " is no number of rows or, before elo, of Elo`,
		"64x6@-1elo":      "step 1 begins at -1 Elo: want 0 or more",
		"64x6@100001elo":  "step 1 begins at 100001 Elo: want at most 100000",
		"@5":              "step 1: ",
		"64x6@9,128x6@9":  "step 2 begins at 9 rows: want 0 or more, and more than the step before",
		`{"blocks":[]}@5`: "step 1: ",

		"64x6@9elo,128x6@50,128x8@9elo": "step 3 begins at 9 Elo: want 0 or more, and more than the step before",
		`{"blocks":`:                    "step 1: ",
		"64x6@1,128x6-nil@2":            `unknown suffix "nil"`,
	} {
		if _, err := parseGrowth(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestGrown: the last step that is due holds. A net that grew does not grow to what it was,
// whatever the schedule says of steps that it has done.
func TestGrown(t *testing.T) {
	g, err := parseGrowth("32x2@100,64x4@200", nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := &Training{Source: Shuffles, e: effective(t, `loop { grow: "32x2@100,64x4@200" }`)}
	for _, c := range []struct {
		have string
		rows int64
		want string
	}{
		{"16x1", 0, "16x1"}, {"16x1", 99, "16x1"}, {"16x1", 100, "32x2"}, {"16x1", 1000, "64x4"},
		{"32x2", 0, "32x2"}, {"32x2", 150, "32x2"}, {"32x2", 200, "64x4"}, {"64x4", 0, "64x4"}, {"64x4", 1000, "64x4"},
	} {
		have := nntest.Named(c.have)
		got, err := tr.Grown(run.Dir{}, have, c.rows)
		if err != nil || got.String() != c.want+"-se" {
			t.Errorf("%s with %d rows: %s %v, want %s", c.have, c.rows, got, err, c.want)
		}
		if err := g.check(have); err != nil {
			t.Errorf("%s: %v", c.have, err)
		}
	}
	for _, s := range []Source{OwnGames, OtherGames, LoaderRows} {
		other := &Training{Source: s, e: tr.e}
		if got, err := other.Grown(run.Dir{}, nn.Tower(16, 1), 1e9); err != nil || got.String() != "16x1-se" {
			t.Errorf("rows of kind %d: %s %v", s, got, err)
		}
	}
}

// TestGrownByElo: a step by Elo is due once the newest accepted net has so much, not what an
// older one had, and not while it has no rating.
func TestGrownByElo(t *testing.T) {
	tr := &Training{Source: Shuffles, e: effective(t, `loop { grow: "32x2@100elo,64x4@200elo,64x6@5000" }`)}
	d := run.Dir{Root: t.TempDir()}
	grown := func(have nn.Arch, rows int64, want string) {
		t.Helper()
		if got, err := tr.Grown(d, have, rows); err != nil || got.String() != want+"-se" {
			t.Errorf("%s with %d rows: %s %v, want %s", have, rows, got, err, want)
		}
	}
	small := nn.Tower(16, 1)
	grown(small, 0, "16x1")
	list := &catalogue.Catalogue{Ratings: []catalogue.Rating{{Name: "old", Elo: 900}, {Name: "new", Elo: 99.9}}}
	rate := func(elo float64) {
		t.Helper()
		list.Ratings[1].Elo = elo
		if _, err := list.Write(fsx.OS, d.Catalogue()); err != nil {
			t.Fatal(err)
		}
	}
	rate(99.9)
	grown(small, 0, "16x1") // no net is accepted
	if err := os.MkdirAll(d.Models(), 0o777); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, filepath.Join(d.Models(), "new.safetensors"), "")
	grown(small, 0, "16x1")
	grown(small, 5000, "64x6") // its rows are enough
	rate(100)
	grown(small, 0, "32x2")
	rate(1200)
	grown(small, 0, "64x4")
	filetest.Write(t, filepath.Join(d.Models(), "newest.safetensors"), "")
	grown(small, 0, "16x1") // which has no rating yet
	for more, want := range map[string]string{"": "", " gating: false rating { games: 2 }": "",
		" gating: false": "loop.grow = \"32x2@9elo\": no match rates the nets"} {
		_, err := NewCycle(effective(t, fmt.Sprintf(`run_dir: %q model { net: "16x1" } loop { grow: "32x2@9elo"%s }`, t.TempDir(), more)))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", more, err, want)
		}
	}
}

// TestGrowthOfPlainTraining: a training on other rows than shuffled ones does not pass over
// its schedule in silence.
func TestGrowthOfPlainTraining(t *testing.T) {
	const begins = `run_dir: %q model { net: "16x1" } loop { grow: "32x2@9" } `
	_, err := TrainingOf(effective(t, fmt.Sprintf(begins, t.TempDir()))).Hold()
	if err == nil || !strings.Contains(err.Error(), `loop.grow = "32x2@9": only a training on shuffled rows grows its net; use chessbrain run, or train --source shuffled; chessbrain grow`) {
		t.Error(err)
	}
	if _, err := TrainingOf(effective(t, fmt.Sprintf(begins, t.TempDir())+"training { source: SHUFFLED }")).Hold(); err != nil {
		t.Error(err)
	}
}

// TestGrowthRefused: a step that is no widening is refused by its field, with both nets and
// the reason.
func TestGrowthRefused(t *testing.T) {
	const begins = `model { arch { conv_tower { filters: 64 blocks: 6 } } } `
	for grow, want := range map[string]string{
		"32x4@5":             "64x6-se does not grow to 32x4-se: filters is 32, fewer than 64, blocks is 4, fewer than 6",
		"128x6-mish@5":       "64x6-se does not grow to 128x6-se-mish: its activation is mish, not relu",
		"128x6@5,96x8@9":     "128x6-se does not grow to 96x8-se: filters is 96, fewer than 128",
		"sparse128@5":        `its body is of kind "sparse"`,
		"128@5":              "want filters x blocks like 64x6",
		"128x6@5,128x6-aux@": `step 2: "" is no number of rows or, before elo, of Elo; want NET@ROWS or NET@ELOelo`,
		"128x8@5,64x6@9":     "128x8-se does not grow to 64x6-se: filters is 64, fewer than 128",
	} {
		_, err := NewCycle(effective(t, fmt.Sprintf("run_dir: %q %s loop { grow: %q }", t.TempDir(), begins, grow)))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "loop.grow = ") {
			t.Errorf("%s: %v, want %q", grow, err, want)
		}
	}
	for _, grow := range []string{"64x7@5,128x8@9", "64x6@5", "32x4@2,64x6@5,64x7@9"} { // steps up to the net itself are done
		if _, err := NewCycle(effective(t, fmt.Sprintf("%s loop { grow: %q }", begins, grow))); err != nil {
			t.Error(err)
		}
	}
}

// TestGrowthOfOther: what a run keeps of one training's growth is not for another, which may
// have a net of its own.
func TestGrowthOfOther(t *testing.T) {
	d := run.Dir{Root: t.TempDir()}
	kept := effective(t, `loop { grow: "128x10@5" games: 7 }`)
	filetest.Write(t, d.ConfigFile(), config.Format(kept.Config))
	for name, want := range map[string]string{"": "128x10@5", "training.training_name=main": "128x10@5", "training.training_name=small": ""} {
		over := []string{"run_dir=" + d.Root}
		if name != "" {
			over = append(over, name)
		}
		e, err := config.Resolve(config.Input{Overrides: over, OfRun: OfRun})
		if err != nil {
			t.Fatal(err)
		}
		if l := e.Config.GetLoop(); l.GetGrow() != want || l.GetGames() != 7 {
			t.Errorf("%q: loop.grow %q, want %q; %d games", name, l.GetGrow(), want, l.GetGames())
		}
	}
}
