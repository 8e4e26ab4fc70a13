package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// bytesPerPosition is about what a stored position takes.
const bytesPerPosition = 200

// DryRun checks configuration, inputs, disk and devices, holds them against the run
// that is there, and prints the settings that are not the defaults and what a trainer
// would read and write. It creates nothing.
func DryRun(e *config.Effective, w io.Writer) error { return dryRun(e, w, (*Training).Hold) }

// DryRunStep is DryRun for a step whose configuration is not whole before the steps
// ahead of it are done: it is not held against the run that is there.
func DryRunStep(e *config.Effective, w io.Writer) error { return dryRun(e, w, (*Training).look) }

func dryRun(e *config.Effective, w io.Writer, look func(*Training) (*Start, error)) (err error) {
	if err := cmp.Or(checkPlays(e), CheckTrains(e)); err != nil {
		return err
	}
	s, err := look(TrainingOf(e))
	if err != nil {
		return err
	}
	arch := s.Arch
	if _, err := s.Trainer(arch); err != nil {
		return err
	}
	if err := s.checkFiles(); err != nil {
		return err
	}
	stages, err := LookAtStages(e, TrainUses(e.Config))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stages.Close()) }()
	begins := "begins"
	if s.Exists {
		begins = "goes on"
	}
	fmt.Fprintf(w, "%s\nrun %s %s (dry run: nothing is created)\n", e.Changed(), s.Dir.Root, begins)
	c := e.Config
	a := ArithmeticOf(c, true, true)
	fmt.Fprintf(w, "devices: trainer %s in %s, producers %s in %s, kernels %s\n", TrainerDevice(c).Describe(), a.Precision, PlayerDevice(c).Describe(), a.ProducerPrecision, a.Kernels)
	if lacks := LacksPrecision(e, true, true); lacks != "" {
		fmt.Fprintf(w, "warning: %s\n", lacks)
	}
	fmt.Fprintf(w, "net: %s; a checkpoint takes about %d KiB\n", arch.Summary(), arch.NumParams()*16/1024)
	stages.DescribeTo(w)
	if err := s.describeSource(w, stages); err != nil {
		return err
	}
	fmt.Fprintf(w, "training: batch %d x %d -> %s\n", s.Batch, s.Accumulate, s.Dir.Checkpoints)
	fmt.Fprintf(w, "metrics -> %s; nets -> %s\n", s.Dir.Learning, s.describeExport())
	return DescribeSpace(w, s.Root)
}

// checkFiles refuses what a start would refuse to go on from: a full disk, a damaged
// journal, and checkpoints of which none is whole.
func (s *Start) checkFiles() error {
	if err := fsx.DefaultReserve.Check(fsx.OS, fsx.NearestDir(s.Root), replay.ChunkBytes); err != nil {
		return err
	}
	if _, _, err := run.ReadJournal(s.Dir.Journal()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; put it back from a copy, or begin a new run", err)
	}
	_, err := checkpoint.Load(fsx.OS, s.Dir.Checkpoints)
	if errors.Is(err, checkpoint.ErrNoCheckpoint) {
		return nil
	}
	return err
}

// DescribeSpace says how much may be written below a directory, which need not be there.
func DescribeSpace(w io.Writer, dir string) error {
	disk, err := fsx.OS.Space(fsx.NearestDir(dir))
	if err != nil {
		return err
	}
	reserve := fsx.DefaultReserve
	_, err = fmt.Fprintf(w, "disk: %d MiB may be used, %d MiB stay free\n", reserve.Usable(disk)>>20, reserve.Of(disk)>>20)
	return err
}

// describeSource says where training rows come from and how long it goes on.
// Inputs that must be there already are opened.
func (s *Start) describeSource(w io.Writer, stages *Stages) error {
	until := "until it is stopped"
	if s.Steps > 0 {
		until = fmt.Sprintf("%d steps", s.Steps)
	}
	switch s.Source {
	case OwnGames:
		plies, err := longestGame(s.e.Config)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "self-play: %d episodes of at most %d plies -> %s, at most about %d MiB; %d steps an episode\n", s.Episodes.Number, plies,
			s.Dir.Selfplay(), s.Episodes.Number*int64(plies)*bytesPerPosition>>20, s.Episodes.Steps)
	case OtherGames:
		fmt.Fprintf(w, "games: those that other processes write below %s; %d steps a game, %s\n", s.From(s.Dir), s.Episodes.Steps, until)
	case Shuffles:
		from := s.From(s.Dir)
		source, err := shuffle.OpenLatest(fsx.OS, from)
		if errors.Is(err, shuffle.ErrNone) { // it may be an earlier step's to make
			_, err = fmt.Fprintf(w, "rows: none yet in %s: run chessbrain shuffle before\n%s", from, s.Epochs.describe())
			return err
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "rows: %d of %s in %s, %s\n%s", source.NumRows(), source.Manifest().Name, from, until, s.Epochs.describe())
		return source.Close()
	case LoaderRows:
		l, warnings, err := s.OpenLoader(context.Background(), host.Look{Host: stages.Host()})
		if err != nil {
			return err
		}
		if s.Data != "" {
			if s.Steps == 0 {
				until = "then it ends"
			}
			fmt.Fprintf(w, "rows: all positions of %s but the share of games held out, %s; %s\n", s.Data,
				monitor.Count(s.e.Config.GetTraining().GetEpochs(), "time"), until)
		} else {
			fmt.Fprintf(w, "rows: of the %d stages of data_loader, %s\n", len(s.e.Config.GetDataLoader().GetStage()), until)
		}
		if s.Schedule.Steps > 0 {
			fmt.Fprintf(w, "schedule: %d steps a net, each after %d new chunks (0 = it never waits)\n", s.Schedule.Steps, s.Schedule.Chunks)
		}
		for _, warning := range warnings {
			fmt.Fprintf(w, "warning: %s\n", warning)
		}
		return l.Close()
	}
	return nil
}

// describeExport says where nets go.
func (s *Start) describeExport() string {
	switch s.Export.Mode {
	case HandOver:
		return s.Dir.ToExport() + ", for chessbrain export"
	case HandOverExtra:
		return s.Dir.ToExportExtra() + ", for chessbrain export"
	case ExportNever:
		return "nowhere (export mode TRAINONLY)"
	}
	return fmt.Sprintf("%s (%s)", s.Dir.NetPath(s.Export.Path), s.e.Config.GetExport().GetExporter())
}

// describe says in which epochs a training on shuffles goes, and how the train bucket
// limits it; "" where there are none.
func (e *Epochs) describe() string {
	if e.Samples == 0 {
		return ""
	}
	text := fmt.Sprintf("epochs: %d samples each", e.Samples)
	if e.Most > 0 {
		text += fmt.Sprintf(", at most %d in this process", e.Most)
	}
	if e.PerExport > 0 {
		text += fmt.Sprintf("; a net after every %d\n", e.PerExport)
	} else {
		text += "; a net at the end\n"
	}
	limited := "waits"
	if e.BucketStops {
		limited = "ends"
	}
	if e.BucketPerRow > 0 {
		text += fmt.Sprintf("train bucket: %g samples for each new row, at most %d; the training %s where it holds too little\n",
			e.BucketPerRow, max(e.BucketSize, e.Samples), limited)
	}
	return text
}

// longestGame is the number of plies at which the longest games are cut.
func longestGame(c *config.Config) (int, error) {
	g, err := GameConfig(c)
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
	if err := checkPlays(e); err != nil {
		return err
	}
	start, err := TrainingOf(e).look()
	if err != nil {
		return err
	}
	c, s, dir := e.Config, e.Config.GetSelfplay(), start.Dir
	m, path, err := newestManifest(dir.Checkpoints)
	if err == nil && m != nil && s.GetModelsDir() == "" {
		err = start.checkNet(path)
	}
	if err != nil {
		return err
	}
	stages, err := LookAtStages(e, PlayUses)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stages.Close()) }()
	dir.Games = s.GetOutputDir()
	if err := cmp.Or(fsx.DefaultReserve.Check(fsx.OS, fsx.NearestDir(dir.Selfplay()), replay.ChunkBytes),
		CheckModels(e, dir)); err != nil {
		return err
	}
	from := "the newest checkpoint in " + dir.Checkpoints
	if models := s.GetModelsDir(); models != "" {
		from = "the newest file in " + models
	}
	a := ArithmeticOf(c, false, true)
	fmt.Fprintf(w, "%s\nself-play below %s (dry run: nothing is created)\n", e.Changed(), dir.Root)
	fmt.Fprintf(w, "devices: producers %s in %s, kernels %s\n", PlayerDevice(c).Describe(), a.ProducerPrecision, a.Kernels)
	if lacks := LacksPrecision(e, false, true); lacks != "" {
		fmt.Fprintf(w, "warning: %s\n", lacks)
	}
	stages.DescribeTo(w)
	fmt.Fprintf(w, "net: %s; before there is one, random weights of %s\n", from, start.Initial.Arch.Summary())
	plies, err := longestGame(c)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "games: at most %d plies -> %s, about %d bytes a position\n", plies, dir.Selfplay(), bytesPerPosition)
	if s.GetPgnShare() > 0 || s.GetLc0Chunks() {
		fmt.Fprintf(w, "other forms: PGN of %g of the games -> %s; Leela chunks %v -> %s\n", s.GetPgnShare(),
			filepath.Join(dir.Root, "pgn"), s.GetLc0Chunks(), filepath.Join(dir.Root, "lc0"))
	}
	return DescribeSpace(w, c.GetRunDir())
}

// checkPlays refuses what games cannot be played with.
func checkPlays(e *config.Effective) error {
	if err := errors.Join(CheckConfig(e), checkRunDir(e)); err != nil {
		return err
	}
	if _, err := GameConfig(e.Config); err != nil {
		if bad, ok := errors.AsType[*config.Error](err); ok {
			return e.Errorf(bad.Field, bad.Remedy, "%s", bad.Reason)
		}
		return &config.Error{Field: "selfplay", Reason: err.Error()}
	}
	return nil
}

// checkRunDir refuses directories that cannot be written, before anything is
// created.
func checkRunDir(e *config.Effective) error {
	for _, d := range []struct{ field, path string }{
		{"run_dir", e.Config.GetRunDir()},
		{"training.checkpoint.dir", e.Config.GetTraining().GetCheckpoint().GetDir()},
		{"metrics.dir", e.Config.GetMetrics().GetDir()},
		{"metrics.mlflow", e.Config.GetMetrics().GetMlflow()},
		{"metrics.wandb", e.Config.GetMetrics().GetWandb()},
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
		if disk, failed := fsx.OS.Space(parent); err == nil && failed == nil && disk.Total == 0 {
			err = fmt.Errorf("%s is no disk", parent) // the kernel's: it lets root write, and makes nothing
		}
		if _, bad := os.Stat(d.path); err == nil && !errors.Is(bad, fs.ErrNotExist) {
			err = bad // too long a name, a loop of links
		}
		if err != nil {
			return e.Errorf(d.field, "name a directory that can be written, or made", "%v", err)
		}
	}
	return nil
}
