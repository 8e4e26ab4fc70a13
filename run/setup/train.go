package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/selfplay"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Training is what a configuration says of a training, in plain values, and makes the
// parts of it. The values are for one process: nobody changes them.
type Training struct {
	e *config.Effective

	Root, Name string // of the run directory, of the training
	Seed       uint64

	Source     Source
	SourceDir  string // of games or shuffles; "" = inside the run
	Data       string // the data set that is trained on; "" = none
	Steps      int64  // that end the training; 0 = no such limit
	Batch      int
	Accumulate int

	Window      Window
	Episodes    Episodes
	Epochs      Epochs
	Schedule    Schedule
	Checkpoints Checkpoints
	Validation  Validation
	Export      Export
	Metrics     Metrics

	Averages        bool // the trainer keeps averaged weights
	HaltOnGradients bool // where their norms are too often above ClipNorm
	ClipNorm        float64
	ReportEvery     time.Duration // what programs did
}

// Source is where training rows come from, in the schema's order.
type Source int

const (
	OwnGames   Source = iota // that this process plays
	OtherGames               // that other processes write into a directory
	Shuffles
	LoaderRows
)

// HasGames says whether games enter the training one by one.
func (s Source) HasGames() bool { return s == OwnGames || s == OtherGames }

// Window is the rows that a training draws from.
type Window struct {
	record.Extra         // targets that rows have
	Rows         int64   // at most
	Share        float64 // at most so many of all rows, 0 = no limit
	Least        int64   // but at least so many
	HeldOut      float64 // share of the games that are never trained on
	Symmetries   bool    // a row is shown in one of its symmetries, drawn anew each time
}

// RowsOf is how many rows the window of a run holds that has had so many.
func (w *Window) RowsOf(all int64) int64 {
	if w.Share == 0 {
		return w.Rows
	}
	return min(w.Rows, max(w.Least, int64(w.Share*float64(all))))
}

// leastBatches of rows are in a window, as far as there are so many, whatever its share of all rows is.
const leastBatches = 10

// CheckShuffle refuses the shuffle in dir if its rows lack targets that are learnt.
func (w *Window) CheckShuffle(dir string, m *shuffle.Manifest) error {
	if w.Ahead && !m.Ahead {
		return fmt.Errorf("%s has no targets for this run's losses of replies and auxiliary ones: shuffle it again with --ahead, or leave these losses away", dir)
	}
	return nil
}

// Episodes is how a training on games goes on.
type Episodes struct {
	Number int64 // own games asked for
	Steps  int   // that a game pays for

	Workers      int     // that play beside the trainer; 0 = it plays between steps
	Cohort       uint64  // games that one net plays where the trainer plays
	Queue        int     // durable games that may wait
	MaxFalseRate float64 // of resignations
	Resign       selfplay.Resign
	Forms        GameForms
}

// Epochs is how a training on shuffles goes on.
type Epochs struct {
	Samples   int64 // of an epoch; 0 = there are none
	PerExport int64 // epochs, or nets of a schedule, between two exports; 0 = at the end alone
	Most      int64 // of this process; 0 = no limit
	Once      bool  // each row of a shuffle once
	Quit      bool  // end where there is no shuffle, or no newer one

	BucketPerRow float64 // samples that a new row pays for; 0 = training is not limited
	BucketSize   int64
	BucketStops  bool // end where the bucket holds too little
}

// Schedule is how a training on the data loader's rows goes on.
type Schedule struct {
	Steps  int64 // of a net; 0 = there is no schedule
	Chunks int   // new ones that a net waits for; 0 = it never waits
}

// Checkpoints is when a checkpoint is written, and where.
type Checkpoints struct {
	Dir      string // outside the run; "" = inside
	Episodes int64  // between two
	Steps    int64  // between two; 0 = they do not follow steps
	Keep     checkpoint.Retention
}

// Validation is when nets are measured on rows that are never trained on.
type Validation struct {
	Every int64 // steps; 0 = at checkpoints alone
	Rows  int
}

// Metrics is what is written about the steps.
type Metrics struct {
	Dir         string // outside the run; "" = inside
	TensorBoard bool
	Every       int64 // steps
	Measures    []Measure
}

// ExportMode is where the nets of a training go, in the schema's order.
type ExportMode int

const (
	ExportDirectly ExportMode = iota // through the exporter to Export.Path
	HandOver                         // to the directory of the process that exports
	HandOverExtra                    // the same for nets that never play
	ExportNever
)

// Export is how nets leave a training. A swap of stages changes it.
type Export struct {
	Mode             ExportMode
	Path             string // with its placeholders
	Name             string // of the exporter
	Exporter         string // name and settings in one line
	Weights          string // RAW or SWA
	Averaged         bool   // SWA: the averaged weights, where there are any
	Keep             int    // published sets; 0 = all
	EveryCheckpoints int64  // between two; 0 = at the end alone
	MayFail          bool   // the run goes on without an exporter that fails
}

// TrainingOf reads a configuration.
func TrainingOf(e *config.Effective) *Training {
	c := e.Config
	t, s := c.GetTraining(), c.GetSelfplay()
	k, v, m, b := t.GetCheckpoint(), t.GetValidation(), c.GetMetrics(), t.GetBucket()
	return &Training{
		e: e, Root: c.GetRunDir(), Name: t.GetTrainingName(), Seed: c.GetSeed(),
		Source: Source(t.GetSource()), SourceDir: t.GetSourceDir(), Data: t.GetData(), Steps: t.GetSteps(),
		Batch: int(t.GetBatchSize()), Accumulate: int(t.GetGradAccumSteps()),
		Window: windowOf(c),
		Episodes: Episodes{Number: s.GetEpisodes(), Steps: int(t.GetStepsPerEpisode()), Workers: Producers(s),
			Cohort: uint64(s.GetCohortSize()), Queue: int(s.GetProducerQueueSize()), MaxFalseRate: s.GetResign().GetMaxFalseRate(),
			Resign: ResignOf(s.GetResign()), Forms: GameFormsOf(c)},
		Epochs: Epochs{Samples: t.GetSamplesPerEpoch(), PerExport: int64(t.GetEpochsPerExport()), Most: t.GetMaxEpochsThisInstance(),
			Once: t.GetNoRepeatFiles(), Quit: t.GetQuitIfNoData(),
			BucketPerRow: b.GetPerNewRow(), BucketSize: b.GetSize(), BucketStops: b.GetStopWhenLimited()},
		Schedule: Schedule{Steps: t.GetSchedule().GetStepsPerNetwork(), Chunks: int(t.GetSchedule().GetChunksPerNetwork())},
		Checkpoints: Checkpoints{Dir: k.GetDir(), Episodes: k.GetInterval(), Steps: k.GetIntervalSteps(),
			Keep: checkpoint.Retention{Last: int(k.GetKeepLast()), Every: int64(k.GetKeepEvery())}},
		Validation: Validation{Every: v.GetEvery(), Rows: int(v.GetMaxRows())},
		Export:     ExportOf(c),
		Metrics:    Metrics{Dir: m.GetDir(), TensorBoard: m.GetTensorboard(), Every: int64(m.GetEvery()), Measures: measuresOf(m)},
		Averages:   t.GetSwa().GetPeriod() > 0, HaltOnGradients: t.GetHaltOnGradientNorm(), ClipNorm: t.GetClipNorm(),
		ReportEvery: ReportEvery(c),
	}
}

// windowOf reads which rows a training draws from.
func windowOf(c *config.Config) Window {
	t := c.GetTraining()
	return Window{Extra: record.Extra{ShortTerm: t.GetStTheta(), Ahead: ahead(c)},
		Rows: t.GetReplaySize(), Share: t.GetReplayShare(), Least: leastBatches * int64(t.GetBatchSize()),
		HeldOut: t.GetValidation().GetShare(), Symmetries: t.GetSymmetries()}
}

// ExportOf reads how nets leave a training.
func ExportOf(c *config.Config) Export {
	x := c.GetExport()
	id := x.GetExporter()
	for _, name := range slices.Sorted(maps.Keys(x.GetSettings())) {
		id += fmt.Sprintf(" %s=%q", name, x.GetSettings()[name])
	}
	return Export{Mode: ExportMode(c.GetTraining().GetExportMode()), Path: x.GetPath(), Name: x.GetExporter(), Exporter: id,
		Weights: x.GetWeights().String(), Averaged: x.GetWeights() == config.Export_SWA, Keep: int(x.GetKeep()), EveryCheckpoints: int64(x.GetEveryCheckpoints()),
		MayFail: c.GetPlugins().GetOnFailure() == config.Plugins_CONTINUE}
}

// StepsFor is the number of optimizer steps that see so many rows.
func (t *Training) StepsFor(rows int64) int64 {
	step := int64(t.Batch) * int64(t.Accumulate)
	return (rows + step - 1) / step
}

// From is the directory of the games or shuffles that the training reads.
func (t *Training) From(d run.Dir) string {
	own := d.Selfplay()
	if t.Source == Shuffles {
		own = d.Shuffled()
	}
	return cmp.Or(t.SourceDir, own)
}

// Check refuses what a trainer of this build cannot do. Its errors have exit code 2.
func (t *Training) Check() error { return errors.Join(CheckConfig(t.e), CheckTrains(t.e)) }

// Text is the whole configuration, for a file, and Hash stands for it.
func (t *Training) Text() []byte { return config.Format(t.e.Config) }
func (t *Training) Hash() string { return config.Hash(t.e.Config) }

// Search is the MetaSearch of the training's nets.
func (t *Training) Search() string { return searchText(t.e.Config) }

// plays says whether the process plays, too.
func (t *Training) plays() bool { return t.Source == OwnGames }

// Arithmetic is what the process computes with.
func (t *Training) Arithmetic() run.Arithmetic { return ArithmeticOf(t.e.Config, true, t.plays()) }

// Devices names the devices of the trainer and of the games, and lacks says what they
// cannot do of what was asked for, "" = nothing.
func (t *Training) Devices() (trains, plays, lacks string) {
	c := t.e.Config
	return TrainerDevice(c).Describe(), PlayerDevice(c).Describe(), LacksPrecision(t.e, true, t.plays())
}

// OpenStages opens the stages that a trainer uses and what exchanges them; the caller
// sets its Exchange and Save.
func (t *Training) OpenStages(ctx context.Context, plugins *PluginMonitor) (*Stages, *Swapper, error) {
	return OpenSwapper(ctx, t.e, TrainUses(t.e.Config), plugins)
}

// Trainer is how a net of a form is trained.
func (t *Training) Trainer(arch nn.Arch) (trainer.Config, error) {
	return TrainerConfig(t.e.Config, arch)
}

// DeviceRows is how many rows of the window the trainer's device shall keep, 0 = none.
func (t *Training) DeviceRows() int {
	if TrainerDevice(t.e.Config).isCPU() || !t.e.Config.GetTraining().GetDeviceWindow() || !t.Source.HasGames() {
		return 0
	}
	return int(t.Window.Rows)
}

// OpenInference opens what the own games are played with.
func (t *Training) OpenInference() (Inference, error) { return OpenInference(t.e.Config) }

// Worker says how the own games are played, by the process of a number.
func (t *Training) Worker(process uint64, resign *selfplay.ResignWatch, course *selfplay.CourseWatch, stats *selfplay.Stats) (selfplay.WorkerConfig, error) {
	return WorkerConfig(t.e.Config, process, resign, course, stats)
}

// OpenLoader builds the data loader; warnings say what of it the trainer mixes.
func (t *Training) OpenLoader(ctx context.Context, r Rescorers) (l *loader.Loader, warnings []string, err error) {
	l, err = New(ctx, t.e, r)
	return l, MixedSchedule(t.e.Config), err
}
