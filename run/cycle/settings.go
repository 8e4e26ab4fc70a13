package cycle

import (
	"errors"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run/setup"
)

// What a cycle trains where the configuration does not say: KataGo's synchronous
// loop (v1.17).
const (
	defaultEpoch     = 100_000 // samples
	defaultPerNewRow = 8       // samples that a new row pays for
)

// Settle returns the configuration that all stages of a cycle share: training on
// the run's own shuffles in epochs, as far as the train bucket goes, with nets for
// the exporter. What contradicts that is refused (exit code 2).
func Settle(e *config.Effective) (*config.Effective, error) {
	c := e.Config
	t, s := c.GetTraining(), c.GetSelfplay()
	var errs []error
	refuse := func(bad bool, field, remedy, reason string) {
		if bad {
			errs = append(errs, e.Errorf(field, remedy, "%s", reason))
		}
	}
	source := t.GetSource() != config.Training_SHUFFLED && e.Origin("training.source") != "default"
	mode := t.GetExportMode() != config.Training_MAIN && e.Origin("training.export_mode") != "default"
	refuse(source, "training.source", "leave it away, or use chessbrain train", "a cycle trains on its own shuffles")
	refuse(mode, "training.export_mode", "leave it away, or use chessbrain train", "a cycle exports each net for the gatekeeper or self-play")
	refuse(t.GetSourceDir() != "", "training.source_dir", "leave it away, or use chessbrain train", "a cycle trains on its own shuffles")
	refuse(t.GetSteps() > 0, "training.steps", "leave it away; loop.cycles says how long a run is", "has no meaning in a cycle")
	refuse(s.GetModelsDir() != "", "selfplay.models_dir", "leave it away, or use chessbrain selfplay", "a cycle plays with its own nets")
	refuse(s.GetOutputDir() != "", "selfplay.output_dir", "leave it away, or use chessbrain selfplay", "a cycle keeps its games in the run directory")
	refuse(c.GetDeterministic(), "deterministic", "use chessbrain train", "a cycle plays with workers that do not wait for each other")
	_, err := setup.RatingOf(e)
	errs = append(errs, err)
	if err := shuffleSettings(c).Validate(); err != nil {
		errs = append(errs, e.Errorf("loop.shuffle", "", "%v", err))
	}
	settled := with(e, func(c *config.Config) {
		t := c.GetTraining()
		t.Source, t.ExportMode = config.Training_SHUFFLED.Enum(), config.Training_MAIN.Enum()
		t.QuitIfNoData, t.Bucket.StopWhenLimited = new(true), new(true)
		t.SamplesPerEpoch, t.MaxEpochsThisInstance = new(epochSamples(c)), new(cycleEpochs(c))
		if e.Origin("training.epochs_per_export") == "default" {
			t.EpochsPerExport = new(int32(0)) // the gatekeeper would reject all but the newest
		}
		if e.Origin("training.bucket.per_new_row") == "default" {
			t.Bucket.PerNewRow = new(float64(defaultPerNewRow))
		}
	})
	if err := errors.Join(append(errs, setup.CheckConfig(settled))...); err != nil {
		return nil, err
	}
	return settled, nil
}

// with returns e with a changed copy of its configuration.
func with(e *config.Effective, change func(*config.Config)) *config.Effective {
	other := *e
	other.Config = config.Clone(e.Config)
	change(other.Config)
	return &other
}

// shuffleSettings are those of the cycle's shuffles. Share and theta of the
// validation games are the trainer's, so that no game is on both sides.
func shuffleSettings(c *config.Config) shuffle.Settings {
	s, w := shuffle.DefaultSettings(), c.GetLoop().GetShuffle()
	s.Window = shuffle.WindowOptions{MinRows: w.GetMinRows(), MaxRows: w.GetMaxRows(), KeepRows: w.GetKeepTargetRows(),
		Expand: w.GetExpandWindowPerRow(), Exponent: w.GetTaperWindowExponent(), Scale: w.GetTaperWindowScale(), AddToData: w.GetAddToDataRows()}
	s.RowsPerFile = w.GetApproxRowsPerFile()
	s.Seed, s.Validation, s.ShortTerm = c.GetSeed(), c.GetTraining().GetValidation().GetShare(), c.GetTraining().GetStTheta()
	return s
}
