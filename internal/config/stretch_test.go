package config

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

const longFile = `selfplay { episodes: 1000 max_plies: 70 simulations_schedule: "32@0,64@333" }
training {
  steps: 5 batch_size: 512 replay_size: 4000
  lr_rule { starting_step: 0 duration_steps: [200, 1] lr: [0.1, 0.2, 0.3] }
  lr_rule { starting_step: 900 duration_steps: 10 lr: 0.1 }
  losses { head: VALUE kind: WDL_CROSS_ENTROPY q_ratio_schedule: "1@0,0.6@8000" metric: "v" }
  losses { head: POLICY kind: CROSS_ENTROPY metric: "p" }
}
`

// TestStretch: what belongs to a run's length is multiplied, and nothing else.
func TestStretch(t *testing.T) {
	file, err := Parse("long", []byte(longFile))
	if err != nil {
		t.Fatal(err)
	}
	before := proto.CloneOf(file.Config)
	half, err := file.stretch(0.5)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(file.Config, before) {
		t.Error("the file itself was changed")
	}
	text := strings.NewReplacer("1000 max", "500 max", "@333", "@167", "steps: 5 b", "steps: 3 b",
		"4000", "2000", "[200, 1]", "[100, 1]", "900", "450", "duration_steps: 10", "duration_steps: 5", "@8000", "@4000").Replace(longFile)
	want, err := Parse("want", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(half.Config, want.Config) {
		t.Errorf("half of\n%s\nis\n%s", longFile, Marshal(half.Config))
	}
	if same, err := file.stretch(1); err != nil || !proto.Equal(same.Config, before) {
		t.Errorf("stretched by 1: %v, %v", same, err)
	}
	if most, err := (&File{Name: "most", Config: &Config{Selfplay: &SelfPlay{Episodes: proto.Int64(math.MaxInt64)}}}).stretch(maxStretch); err != nil || most.Config.Selfplay.GetEpisodes() < 1e18 {
		t.Errorf("the most: %v, %v", most.Config, err)
	}
}

// TestStretchRefuses: factors that are none, and files without a length.
func TestStretchRefuses(t *testing.T) {
	for want, in := range map[string]struct {
		text   string
		factor float64
	}{
		"--stretch: 0 is not within":             {longFile, 0},
		"--stretch: -1 is not within":            {longFile, -1},
		"--stretch: NaN is not within":           {longFile, math.NaN()},
		"--stretch: +Inf is not within":          {longFile, math.Inf(1)},
		"--stretch: there is nothing to stretch": {"", 2},
		"says neither selfplay.episodes nor":     {"mcts { simulations: 3 }", 2},
	} {
		var file *File
		if in.text != "" {
			var err error
			if file, err = Parse("f", []byte(in.text)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := file.stretch(in.factor); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%g: %v, want %q", in.factor, err, want)
		}
	}
}

// TestStretchedReload: a file that is read again is stretched again, once.
func TestStretchedReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.textproto")
	write := func(text string) {
		t.Helper()
		filetest.Write(t, path, text)
	}
	write("selfplay { episodes: 100 }")
	factor := 3.0
	e := mustResolve(t, Input{Path: path, Stretch: &factor})
	write("selfplay { episodes: 200 }")
	again, err := e.Reload()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := e.Config.Selfplay.GetEpisodes(), again.Config.Selfplay.GetEpisodes(); a != 300 || b != 600 {
		t.Errorf("%d, then %d episodes", a, b)
	}
}
