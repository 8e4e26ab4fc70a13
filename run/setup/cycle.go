package setup

import (
	"errors"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/replay/shuffle"
)

// What a cycle trains where the configuration does not say: KataGo's synchronous
// loop (v1.17).
const (
	defaultEpoch     = 100_000 // samples
	defaultPerNewRow = 8       // samples that a new row pays for
)

// Cycle is what a closed loop does by its configuration.
type Cycle struct {
	*config.Effective // that all stages share

	Root      string
	Seed      uint64
	Gating    bool // a net plays once it has won a match
	Shuffle   shuffle.Settings
	Retention Retention

	GamesPerCycle   int64
	SamplesPerCycle int64
	EpochSamples    int64
	Epochs          int64   // of a cycle at most
	PerNewRow       float64 // samples that a new row pays for

	GateGames, GateVisits int32
	RatingGames           int32
	LadderGames           int32 // at most against a rung

	// What ends the run; 0 = never.
	StopCycles int32
	StopGames  int64
	StopHours  float64
	StopElo    float64
}

// NewCycle settles the configuration that all stages of a cycle share: training on
// the run's own shuffles in epochs, as far as the train bucket goes, with nets for
// the exporter. What contradicts that is refused (exit code 2).
func NewCycle(e *config.Effective) (*Cycle, error) {
	c := e.Config
	t, s, l := c.GetTraining(), c.GetSelfplay(), c.GetLoop()
	var errs []error
	refuse := refusals(e, &errs)
	source := t.GetSource() != config.Training_SHUFFLED && e.Origin("training.source") != "default"
	mode := t.GetExportMode() != config.Training_MAIN && e.Origin("training.export_mode") != "default"
	refuse(source, "training.source", "leave it away, or use chessbrain train", "a cycle trains on its own shuffles")
	refuse(mode, "training.export_mode", "leave it away, or use chessbrain train", "a cycle exports each net for the gatekeeper or self-play")
	refuse(t.GetSourceDir() != "", "training.source_dir", "leave it away, or use chessbrain train", "a cycle trains on its own shuffles")
	refuse(t.GetSteps() > 0, "training.steps", "leave it away; loop.cycles says how long a run is", "has no meaning in a cycle")
	refuse(s.GetModelsDir() != "", "selfplay.models_dir", "leave it away, or use chessbrain selfplay", "a cycle plays with its own nets")
	refuse(s.GetOutputDir() != "", "selfplay.output_dir", "leave it away, or use chessbrain selfplay", "a cycle keeps its games in the run directory")
	refuse(c.GetDeterministic(), "deterministic", "use chessbrain train", "a cycle plays with workers that do not wait for each other")
	_, err := RatingOf(e)
	errs = append(errs, err)
	if arch, err := firstArch(c); err == nil {
		errs = append(errs, checkGrowth(e, arch))
	}
	y := &Cycle{
		Root: c.GetRunDir(), Seed: c.GetSeed(), Gating: l.GetGating(), Shuffle: cycleShuffle(c), Retention: RetentionOf(c),
		GamesPerCycle: l.GetGamesPerCycle(), SamplesPerCycle: l.GetSamplesPerCycle(), EpochSamples: t.GetSamplesPerEpoch(),
		GateGames: l.GetGatekeeper().GetGames(), GateVisits: l.GetGatekeeper().GetVisits(), RatingGames: l.GetRating().GetGames(), LadderGames: l.GetRating().GetLadderGames(),
		StopCycles: l.GetCycles(), StopGames: l.GetGames(), StopHours: l.GetHours(), StopElo: l.GetElo(),
	}
	if err := y.Shuffle.Validate(); err != nil {
		errs = append(errs, e.Errorf("loop.shuffle", "", "%v", err))
	}
	if y.EpochSamples <= 0 {
		y.EpochSamples = defaultEpoch
	}
	y.Epochs = max(1, y.SamplesPerCycle/y.EpochSamples)
	y.Effective = with(e, func(c *config.Config) {
		t := c.GetTraining()
		t.Source, t.ExportMode = config.Training_SHUFFLED.Enum(), config.Training_MAIN.Enum()
		t.QuitIfNoData, t.Bucket.StopWhenLimited = new(true), new(true)
		t.SamplesPerEpoch, t.MaxEpochsThisInstance = new(y.EpochSamples), new(y.Epochs)
		if e.Origin("training.epochs_per_export") == "default" {
			t.EpochsPerExport = new(int32(0)) // the gatekeeper would reject all but the newest
		}
		if e.Origin("training.bucket.per_new_row") == "default" {
			t.Bucket.PerNewRow = new(float64(defaultPerNewRow))
		}
		y.PerNewRow = t.GetBucket().GetPerNewRow()
	})
	checkPace(y.Effective.Config.GetTraining(), refuse)
	if err := errors.Join(append(errs, CheckConfig(y.Effective))...); err != nil {
		return nil, err
	}
	return y, nil
}

// Playing is the configuration of the cycle's self-play, with the nets of models.
func (y *Cycle) Playing(models string) *config.Effective {
	return with(y.Effective, func(c *config.Config) { c.Selfplay.ModelsDir = &models })
}

// Training is the configuration of a start of training that does so many epochs.
func (y *Cycle) Training(epochs int64) *config.Effective {
	return with(y.Effective, func(c *config.Config) { c.Training.MaxEpochsThisInstance = &epochs })
}

// with returns e with a changed copy of its configuration.
func with(e *config.Effective, change func(*config.Config)) *config.Effective {
	other := *e
	other.Config = config.Clone(e.Config)
	change(other.Config)
	return &other
}

// cycleShuffle are the settings of the cycle's shuffles. Share and theta of the
// validation games are the trainer's, so that no game is on both sides.
func cycleShuffle(c *config.Config) shuffle.Settings {
	s, w := shuffle.DefaultSettings(), c.GetLoop().GetShuffle()
	s.Window = shuffle.WindowOptions{MinRows: w.GetMinRows(), MaxRows: w.GetMaxRows(), KeepRows: w.GetKeepTargetRows(),
		Expand: w.GetExpandWindowPerRow(), Exponent: w.GetTaperWindowExponent(), Scale: w.GetTaperWindowScale(), AddToData: w.GetAddToDataRows()}
	s.RowsPerFile = w.GetApproxRowsPerFile()
	s.Seed, s.Validation, s.ShortTerm, s.Ahead = c.GetSeed(), c.GetTraining().GetValidation().GetShare(), c.GetTraining().GetStTheta(), ahead(c)
	return s
}
