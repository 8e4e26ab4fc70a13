package loop

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/chessbrain/chessbrain/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
)

// bytesPerPosition is about what a stored position takes.
const bytesPerPosition = 200

// DryRun checks configuration, inputs, disk and devices and prints the effective
// configuration and what a start would read and write. It creates nothing.
func DryRun(e *config.Effective, w io.Writer) error {
	net, err := checkInputs(e)
	if err == nil {
		err = checkTrains(e)
	}
	if err != nil {
		return err
	}
	c, arch := e.Config, net.Arch
	if _, err := trainerConfig(c, arch); err != nil {
		return &config.Error{Field: "training", Reason: err.Error()}
	}
	free, err := fsx.FreeSpace(fsx.OS, nearestDir(c.GetRunDir()))
	if err != nil {
		return err
	}
	info, exists, err := ReadRunInfo(c.GetRunDir())
	if err != nil {
		return err
	}
	job := newJob(c)
	begins := "begins"
	if exists {
		job, begins = info.Job, "goes on"
	}
	dir := NewDir(c.GetRunDir(), c.GetTraining().GetTrainingName(), job, c.GetTraining().GetCheckpoint().GetDir(), c.GetMetrics().GetDir())
	fmt.Fprintf(w, "%s\nrun %s %s (dry run: nothing is created)\n", e.Format(), dir.Root, begins)
	a := arithmeticOf(c, true, true)
	fmt.Fprintf(w, "devices: trainer %s in %s, producers %s in %s, kernels %s\n", deviceCPU, a.Precision, deviceCPU, a.ProducerPrecision, a.Kernels)
	if lacks := lacksBF16(e, true, true); lacks != "" {
		fmt.Fprintf(w, "warning: %s\n", lacks)
	}
	fmt.Fprintf(w, "net: %s; a checkpoint takes about %d KiB\n", arch.Summary(), arch.NumParams()*16/1024)
	s := c.GetSelfplay()
	fmt.Fprintf(w, "self-play: %d episodes of at most %d plies -> %s, at most about %d MiB\n", s.GetEpisodes(), s.GetMaxPlies(),
		dir.selfplay(), s.GetEpisodes()*int64(s.GetMaxPlies())*bytesPerPosition>>20)
	fmt.Fprintf(w, "training: %s -> %d steps an episode, batch %d x %d -> %s\n", c.GetTraining().GetSource(), c.GetTraining().GetStepsPerEpisode(),
		c.GetTraining().GetBatchSize(), c.GetTraining().GetGradAccumSteps(), dir.Checkpoints)
	fmt.Fprintf(w, "metrics -> %s; nets -> %s%s\n", dir.Metrics, dir.netPath(c.GetExport().GetPath()), NetSuffix)
	_, err = fmt.Fprintf(w, "disk: %d MiB may be used\n", free>>20)
	return err
}

// DryRunSelfPlay is DryRun for a process that only plays.
func DryRunSelfPlay(e *config.Effective, w io.Writer) error {
	net, err := checkInputs(e)
	if err != nil {
		return err
	}
	c := e.Config
	free, err := fsx.FreeSpace(fsx.OS, nearestDir(c.GetRunDir()))
	if err != nil {
		return err
	}
	dir := NewDir(c.GetRunDir(), c.GetTraining().GetTrainingName(), newJob(c), c.GetTraining().GetCheckpoint().GetDir(), c.GetMetrics().GetDir())
	dir.Games = c.GetSelfplay().GetOutputDir()
	if _, err := newNetFinder(e, dir, newJob(c)); err != nil {
		return err
	}
	from := "the newest checkpoint in " + dir.Checkpoints
	if models := c.GetSelfplay().GetModelsDir(); models != "" {
		from = "the newest file in " + models
	}
	a := arithmeticOf(c, false, true)
	fmt.Fprintf(w, "%s\nself-play below %s (dry run: nothing is created)\n", e.Format(), dir.Root)
	fmt.Fprintf(w, "devices: producers %s in %s, kernels %s\n", deviceCPU, a.ProducerPrecision, a.Kernels)
	if lacks := lacksBF16(e, false, true); lacks != "" {
		fmt.Fprintf(w, "warning: %s\n", lacks)
	}
	fmt.Fprintf(w, "net: %s; before there is one, random weights of %s\n", from, net.Arch.Summary())
	fmt.Fprintf(w, "games: at most %d plies -> %s, about %d bytes a position\n", c.GetSelfplay().GetMaxPlies(), dir.selfplay(), bytesPerPosition)
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
	if err := errors.Join(CheckConfig(e), checkRunDir(e)); err != nil {
		return nil, err
	}
	c := e.Config
	net, err := initialNet(e, c.GetSeed())
	if err != nil {
		return nil, err
	}
	if _, err := gameConfig(c); err != nil {
		if bad, ok := errors.AsType[*config.Error](err); ok {
			return nil, e.Errorf(bad.Field, bad.Remedy, "%s", bad.Reason)
		}
		return nil, &config.Error{Field: "selfplay", Reason: err.Error()}
	}
	if _, err := stagesOf(c); err != nil {
		return nil, &config.Error{Reason: err.Error()}
	}
	return net, nil
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
		parent := nearestDir(d.path)
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
