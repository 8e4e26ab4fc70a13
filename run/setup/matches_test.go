package setup

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// TestRatingConfig takes the run's own configuration, wherever the run was moved to; flags
// win over it.
func TestRatingConfig(t *testing.T) {
	root := t.TempDir()
	e, _, err := RatingConfig(root, nil, func(k *config.Rating) { k.Games = new(int32(8)) })
	if err != nil {
		t.Fatal(err)
	}
	if e.Config.GetLoop().GetRating().GetGames() != 8 || e.Config.GetRunDir() != root || e.Config.GetLoop().GetRating().GetVisits() != 100 {
		t.Errorf("a run without a configuration: %v", e.Config)
	}
	text := "run_dir: \"elsewhere\" seed: 5 selfplay { producer_device: \"cuda\" } loop { rating { visits: 30 engine: \"e\" engine_nodes: 1000 } }"
	filetest.Write(t, filepath.Join(root, "config.textproto"), text)
	flags := config.NewFlagSet(config.Group_GATEKEEPER)
	e, left, err := RatingConfig(root, flags, func(*config.Rating) {})
	if err != nil {
		t.Fatal(err)
	}
	if k := e.Config.GetLoop().GetRating(); e.Config.GetRunDir() != root || e.Config.GetSeed() != 5 || k.GetVisits() != 30 ||
		e.Config.GetSelfplay().GetProducerDevice() != "cuda" {
		t.Errorf("%v", e.Config)
	}
	if k := e.Config.GetLoop().GetRating(); left != "e" || k.GetEngine() != "" || k.GetEngineNodes() != nil {
		t.Errorf("the engine that a run directory names is started: %v, left %q", k, left)
	}
	if e, left, err = RatingConfig(root, flags, func(k *config.Rating) { k.Engine = new("mine") }); err != nil {
		t.Fatal(err)
	}
	if k := e.Config.GetLoop().GetRating(); left != "" || k.GetEngine() != "mine" || !slices.Equal(k.GetEngineNodes(), []int64{1000}) {
		t.Errorf("an engine that the command names: %v, left %q", k, left)
	}
	e, _, err = RatingConfig(root, flags, func(k *config.Rating) { k.Engine, k.EngineSkill = new("mine"), []int32{0} })
	if k := e.Config.GetLoop().GetRating(); err != nil || !slices.Equal(k.GetEngineNodes(), []int64{1000}) || !slices.Equal(k.GetEngineSkill(), []int32{0}) {
		t.Errorf("an engine's strength, in part from the command: %v, %v", k, err)
	}
	if err := flags.Lookup("device").Set("cpu"); err != nil {
		t.Fatal(err)
	}
	if e, _, err = RatingConfig(root, flags, func(*config.Rating) {}); err != nil || e.Config.GetSelfplay().GetProducerDevice() != "cpu" {
		t.Errorf("--device cpu: %v, %v", e, err)
	}
}
