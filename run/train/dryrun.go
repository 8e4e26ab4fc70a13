package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// bytesPerPosition is about what a stored position takes.
const bytesPerPosition = 200

// DryRun checks configuration, inputs, disk and devices, holds them against the run
// that is there, and prints the effective configuration and what a start would read
// and write. It creates nothing.
func DryRun(e *config.Effective, w io.Writer) error { return dryRun(e, w, holdRun) }

// DryRunStep is DryRun for a step whose configuration is not whole before the steps
// ahead of it are done: it is not held against the run that is there.
func DryRunStep(e *config.Effective, w io.Writer) error { return dryRun(e, w, lookAtRun) }

func dryRun(e *config.Effective, w io.Writer, look func(*config.Effective) (*start, error)) (err error) {
	if err := checkPlays(e); err != nil {
		return err
	}
	if err := setup.CheckTrains(e); err != nil {
		return err
	}
	there, err := look(e)
	if err != nil {
		return err
	}
	c, arch, dir := e.Config, there.initial.Arch, there.dir
	if _, err := setup.TrainerConfig(c, arch); err != nil {
		return &config.Error{Field: "training", Reason: err.Error()}
	}
	stages, err := tryStages(e, setup.TrainUses(c))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stages.Close()) }()
	free, err := fsx.FreeSpace(fsx.OS, fsx.NearestDir(c.GetRunDir()))
	if err != nil {
		return err
	}
	begins := "begins"
	if there.exists {
		begins = "goes on"
	}
	fmt.Fprintf(w, "%s\nrun %s %s (dry run: nothing is created)\n", e.Format(), dir.Root, begins)
	a := setup.ArithmeticOf(c, true, true)
	fmt.Fprintf(w, "devices: trainer %s in %s, producers %s in %s, kernels %s\n", setup.TrainerDevice(c).Describe(), a.Precision, setup.PlayerDevice(c).Describe(), a.ProducerPrecision, a.Kernels)
	if lacks := setup.LacksPrecision(e, true, true); lacks != "" {
		fmt.Fprintf(w, "warning: %s\n", lacks)
	}
	fmt.Fprintf(w, "net: %s; a checkpoint takes about %d KiB\n", arch.Summary(), arch.NumParams()*16/1024)
	stages.DescribeTo(w)
	if err := describeSource(w, e, dir, stages); err != nil {
		return err
	}
	fmt.Fprintf(w, "training: batch %d x %d -> %s\n", c.GetTraining().GetBatchSize(), c.GetTraining().GetGradAccumSteps(), dir.Checkpoints)
	fmt.Fprintf(w, "metrics -> %s; nets -> %s\n", dir.Metrics, describeExport(c, dir))
	_, err = fmt.Fprintf(w, "disk: %d MiB may be used\n", free>>20)
	return err
}

// describeSource says where training rows come from and how long it goes on.
// Inputs that must be there already are opened.
func describeSource(w io.Writer, e *config.Effective, dir run.Dir, stages *setup.Stages) error {
	s, t := e.Config.GetSelfplay(), e.Config.GetTraining()
	until := "until it is stopped"
	if t.GetSteps() > 0 {
		until = fmt.Sprintf("%d steps", t.GetSteps())
	}
	from := t.GetSourceDir()
	switch t.GetSource() {
	case config.Training_SELFPLAY:
		plies, err := longestGame(e.Config)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "self-play: %d episodes of at most %d plies -> %s, at most about %d MiB; %d steps an episode\n", s.GetEpisodes(), plies,
			dir.Selfplay(), s.GetEpisodes()*int64(plies)*bytesPerPosition>>20, t.GetStepsPerEpisode())
	case config.Training_DIR:
		if from == "" {
			from = dir.Selfplay()
		}
		fmt.Fprintf(w, "games: those that other processes write below %s; %d steps a game, %s\n", from, t.GetStepsPerEpisode(), until)
	case config.Training_SHUFFLED:
		if from == "" {
			from = dir.Shuffled()
		}
		source, err := shuffle.OpenLatest(from)
		if errors.Is(err, shuffle.ErrNone) { // it may be an earlier step's to make
			_, err = fmt.Fprintf(w, "rows: none yet in %s: run chessbrain shuffle before\n%s", from, describeEpochs(t))
			return err
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "rows: %d of %s in %s, %s\n%s", source.NumRows(), source.Manifest().Name, from, until, describeEpochs(t))
		return source.Close()
	case config.Training_LOADER:
		l, err := setup.New(context.Background(), e, host.Look{Host: stages.Host()})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "rows: of the %d stages of data_loader, %s\n", len(e.Config.GetDataLoader().GetStage()), until)
		if s := t.GetSchedule(); s.GetStepsPerNetwork() > 0 {
			fmt.Fprintf(w, "schedule: %d steps a net, each after %d new chunks (0 = it never waits)\n", s.GetStepsPerNetwork(), s.GetChunksPerNetwork())
		}
		for _, warning := range setup.MixedSchedule(e.Config) {
			fmt.Fprintf(w, "warning: %s\n", warning)
		}
		return l.Close()
	}
	return nil
}

// describeExport says where nets go.
func describeExport(c *config.Config, dir run.Dir) string {
	switch c.GetTraining().GetExportMode() {
	case config.Training_MAIN:
		return dir.ToExport() + ", for chessbrain export"
	case config.Training_EXTRA:
		return dir.ToExportExtra() + ", for chessbrain export"
	case config.Training_TRAINONLY:
		return "nowhere (export mode TRAINONLY)"
	}
	return fmt.Sprintf("%s (%s)", dir.NetPath(c.GetExport().GetPath()), c.GetExport().GetExporter())
}

// describeEpochs says in which epochs a training on shuffles goes, and how the
// train bucket limits it; "" where there are none.
func describeEpochs(t *config.Training) string {
	if t.GetSamplesPerEpoch() == 0 {
		return ""
	}
	text := fmt.Sprintf("epochs: %d samples each", t.GetSamplesPerEpoch())
	if n := t.GetMaxEpochsThisInstance(); n > 0 {
		text += fmt.Sprintf(", at most %d in this process", n)
	}
	if n := t.GetEpochsPerExport(); n > 0 {
		text += fmt.Sprintf("; a net after every %d\n", n)
	} else {
		text += "; a net at the end\n"
	}
	b, limited := t.GetBucket(), "waits"
	if b.GetStopWhenLimited() {
		limited = "ends"
	}
	if b.GetPerNewRow() > 0 {
		text += fmt.Sprintf("train bucket: %g samples for each new row, at most %d; the training %s where it holds too little\n", b.GetPerNewRow(),
			max(b.GetSize(), t.GetSamplesPerEpoch()), limited)
	}
	return text
}

// longestGame is the number of plies at which the longest games are cut.
func longestGame(c *config.Config) (int, error) {
	g, err := setup.GameConfig(c)
	if err != nil || len(g.Schedule.MaxPlies) == 0 {
		return g.MaxPlies, err
	}
	longest := 0
	for _, step := range g.Schedule.MaxPlies {
		longest = max(longest, step.Value)
	}
	return longest, nil
}

// DryRunSelfPlay is DryRun for a process that only plays.
func DryRunSelfPlay(e *config.Effective, w io.Writer) (err error) {
	net, err := checkInputs(e)
	if err != nil {
		return err
	}
	c := e.Config
	stages, err := tryStages(e, setup.PlayUses)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stages.Close()) }()
	free, err := fsx.FreeSpace(fsx.OS, fsx.NearestDir(c.GetRunDir()))
	if err != nil {
		return err
	}
	dir := run.NewDir(c.GetRunDir(), c.GetTraining().GetTrainingName(), setup.NewJob(c), c.GetTraining().GetCheckpoint().GetDir(), c.GetMetrics().GetDir())
	dir.Games = c.GetSelfplay().GetOutputDir()
	if err := setup.CheckModels(e, dir); err != nil {
		return err
	}
	from := "the newest checkpoint in " + dir.Checkpoints
	if models := c.GetSelfplay().GetModelsDir(); models != "" {
		from = "the newest file in " + models
	}
	a := setup.ArithmeticOf(c, false, true)
	fmt.Fprintf(w, "%s\nself-play below %s (dry run: nothing is created)\n", e.Format(), dir.Root)
	fmt.Fprintf(w, "devices: producers %s in %s, kernels %s\n", setup.PlayerDevice(c).Describe(), a.ProducerPrecision, a.Kernels)
	if lacks := setup.LacksPrecision(e, false, true); lacks != "" {
		fmt.Fprintf(w, "warning: %s\n", lacks)
	}
	stages.DescribeTo(w)
	fmt.Fprintf(w, "net: %s; before there is one, random weights of %s\n", from, net.Arch.Summary())
	plies, err := longestGame(c)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "games: at most %d plies -> %s, about %d bytes a position\n", plies, dir.Selfplay(), bytesPerPosition)
	if s := c.GetSelfplay(); s.GetPgnShare() > 0 || s.GetLc0Chunks() {
		fmt.Fprintf(w, "other forms: PGN of %g of the games -> %s; Leela chunks %v -> %s\n", s.GetPgnShare(),
			filepath.Join(dir.Root, "pgn"), s.GetLc0Chunks(), filepath.Join(dir.Root, "lc0"))
	}
	_, err = fmt.Fprintf(w, "disk: %d MiB may be used\n", free>>20)
	return err
}

// checkInputs reads everything that the configuration names for playing, and
// returns the net that plays first where there is no other.
func checkInputs(e *config.Effective) (*nn.Net, error) {
	if err := checkPlays(e); err != nil {
		return nil, err
	}
	return setup.InitialNet(e, e.Config.GetSeed())
}

// checkPlays is checkInputs without the net.
func checkPlays(e *config.Effective) error {
	if err := errors.Join(setup.CheckConfig(e), checkRunDir(e)); err != nil {
		return err
	}
	if _, err := setup.GameConfig(e.Config); err != nil {
		if bad, ok := errors.AsType[*config.Error](err); ok {
			return e.Errorf(bad.Field, bad.Remedy, "%s", bad.Reason)
		}
		return &config.Error{Field: "selfplay", Reason: err.Error()}
	}
	return nil
}

// tryStages looks at the stages of a process. Programs are found, hashed and held
// against the lock file; none is started, for who looks has not yet decided to run
// them.
func tryStages(e *config.Effective, u setup.Uses) (*setup.Stages, error) {
	return setup.LookAtStages(e, u, setup.HostOptions(e.Config.GetPlugins(), e.Config.GetRunDir(), slog.New(slog.DiscardHandler)))
}

// checkRunDir refuses directories that cannot be written, before anything is
// created.
func checkRunDir(e *config.Effective) error {
	for _, d := range []struct{ field, path string }{
		{"run_dir", e.Config.GetRunDir()},
		{"training.checkpoint.dir", e.Config.GetTraining().GetCheckpoint().GetDir()},
		{"metrics.dir", e.Config.GetMetrics().GetDir()},
		{"selfplay.output_dir", e.Config.GetSelfplay().GetOutputDir()},
	} {
		if d.path == "" {
			continue // inside the run directory
		}
		parent := fsx.NearestDir(d.path)
		info, err := os.Stat(parent)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is a file", parent)
		}
		if err == nil {
			err = writable(parent)
		}
		if err != nil {
			return e.Errorf(d.field, "name a directory that can be written, or made", "%v", err)
		}
	}
	return nil
}
