package setup

import (
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
)

// TestTrainingEnums: sources, export modes and targets stand in the schema's order.
func TestTrainingEnums(t *testing.T) {
	for name, want := range map[string]Source{"SELFPLAY": OwnGames, "DIR": OtherGames, "SHUFFLED": Shuffles, "LOADER": LoaderRows} {
		if got := Source(config.Training_Source_value[name]); got != want {
			t.Errorf("source %s is %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]ExportMode{"DIRECT": ExportDirectly, "MAIN": HandOver, "EXTRA": HandOverExtra, "TRAINONLY": ExportNever} {
		if got := ExportMode(config.Training_ExportMode_value[name]); got != want {
			t.Errorf("export mode %s is %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]encoding.Target{"RESULT": encoding.TargetResult, "ROOT": encoding.TargetRoot, "BEST": encoding.TargetBest,
		"PLAYED": encoding.TargetPlayed, "ORIG": encoding.TargetOrig, "ST": encoding.TargetST} {
		if got := encoding.Target(config.Loss_Target_value[name]); got != want {
			t.Errorf("target %s is %d, want %d", name, got, want)
		}
	}
	if len(config.Loss_Target_value) != int(encoding.NumTargets) || len(config.Training_Source_value) != 4 || len(config.Training_ExportMode_value) != 4 {
		t.Error("the schema has values without a word here")
	}
}

// TestTrainingOfDefaults holds some of the plain values against the schema's defaults.
func TestTrainingOfDefaults(t *testing.T) {
	e := overridden(t, "run_dir=r,training.source=SHUFFLED,plugins.on_failure=CONTINUE")
	c, w := e.Config.GetTraining(), TrainingOf(e)
	if w.Root != "r" || w.Source != Shuffles || w.Source.HasGames() || !w.Export.MayFail || w.Export.Exporter != "safetensors" ||
		w.Batch != int(c.GetBatchSize()) || w.Checkpoints.Keep.Last != int(c.GetCheckpoint().GetKeepLast()) || w.Window.Rows != c.GetReplaySize() {
		t.Errorf("%+v", w)
	}
}

// A window is a share of all rows, between 10 batches and its size.
func TestRowsOf(t *testing.T) {
	e := overridden(t, "run_dir=r,training.batch_size=100,training.replay_size=20000,training.replay_share=0.25")
	w := TrainingOf(e).Window
	for all, want := range map[int64]int64{0: 1000, 4_000: 1000, 40_000: 10_000, 80_000: 20_000, 1 << 40: 20_000} {
		if got := w.RowsOf(all); got != want {
			t.Errorf("of %d rows %d are in the window, want %d", all, got, want)
		}
	}
	w.Share = 0
	if got := w.RowsOf(100); got != 20_000 {
		t.Errorf("without a share: %d rows", got)
	}
}
