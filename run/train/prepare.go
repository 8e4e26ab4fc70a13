package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// prepareDir takes the run for this process, checks the configuration against the run
// that lies there, and writes down how a new run was started: a start of one that is there
// may be refused yet, and then changes nothing that the next one goes by. Who plays the games itself
// holds the run alone; else it is shared with the processes that play.
func (r *training) prepareDir(ctx context.Context) (err error) {
	if err := fsx.DefaultReserve.Check(fsx.OS, fsx.NearestDir(r.cfg.Root), replay.ChunkBytes); err != nil {
		return err
	}
	foreign := run.Foreign(r.cfg.Root, r.opt.Locked)
	o := run.Options{Run: run.RunShared, Locked: r.opt.Locked, LockWait: r.opt.LockWait, Command: r.opt.Command, Log: r.log}
	if r.cfg.Source == setup.OwnGames {
		o.Run = run.RunAlone
	}
	if r.process, err = run.Open(ctx, run.Dir{Root: r.cfg.Root}, run.Trainer(r.cfg.Name), o); err != nil {
		return err
	}
	r.process.OnClose(r.release)
	return r.alone(ctx, func() error { return r.prepareFiles(foreign) })
}

// startWait is how long a start waits for another one on the run.
const startWait = time.Minute

// alone does what writes files that all trainings of a run share, and what removes what a
// killed process left of them: one process at a time, or one would remove, or lose, what
// another is writing.
func (c *core) alone(ctx context.Context, do func() error) error {
	lock, err := fsx.AcquireWithin(ctx, run.Dir{Root: c.cfg.Root}.Lock("start"), fsx.LockOptions{Command: c.opt.Command}, startWait)
	if err != nil {
		return err
	}
	return errors.Join(do(), lock.Release())
}

// prepareFiles is the part of prepareDir that reads and writes them. foreign is a file that
// was in the directory before.
func (r *training) prepareFiles(foreign string) error {
	there, err := r.cfg.Hold()
	if there != nil {
		for _, c := range there.Changes {
			r.log.Info("configuration changed", "change", c.String())
		}
	}
	if err != nil {
		return err
	}
	if foreign != "" && !there.Exists {
		r.log.Warn("the directory of the new run is not empty; the run's files go beside what is there", "dir", r.cfg.Root, "found", foreign)
	}
	r.info, r.dir, r.initial, r.arch = there.Info, there.Dir, there.Initial, there.Arch
	if from := r.cfg.NetFile(); from != "" && !there.Exists { // the run keeps it, wherever the file goes
		if err := writeInitial(r.opt, r.initial, from); err != nil {
			return err
		}
	}
	for _, d := range []string{r.dir.History(), r.dir.Logs(), r.dir.Checkpoints, filepath.Dir(r.dir.TrainingConfig()), r.dir.Learning} {
		if err := fsx.MkdirAll(fsx.OS, d); err != nil {
			return fmt.Errorf("make run directory: %w", err)
		}
	}
	// Another run of the same job id could write into directories outside the run.
	for _, d := range []struct{ outside, dir string }{{r.cfg.Checkpoints.Dir, r.dir.Checkpoints}, {r.cfg.Metrics.Dir, r.dir.Learning}} {
		if d.outside == "" {
			continue
		}
		if err := r.process.Lock(filepath.Join(d.dir, ".trainer"), false); err != nil {
			return err
		}
	}
	if there.Exists {
		return nil
	}
	return r.writeStart()
}

// Begin makes the run directory of a configuration whose stages the caller does
// one after the other, or holds the configuration against the run that is there, as
// Train would. The caller holds the run's lock: opt.Locked.
func Begin(opt Options) (dir run.Dir, info run.RunInfo, err error) {
	r := newTraining(opt)
	if err = r.cfg.Check(); err == nil {
		err = r.prepareDir(context.Background())
	}
	if err == nil {
		err = r.noteStart(context.Background())
	}
	return r.dir, r.info, r.close(err)
}

// noteStart is writeStart where that was not done yet.
func (c *core) noteStart(ctx context.Context) error {
	if c.noted {
		return nil
	}
	return c.alone(ctx, c.writeStart)
}

// writeStart writes the effective configuration, its history and run.json.
func (c *core) writeStart() error {
	before, there, err := run.ReadRunInfo(c.dir.Root) // another training may have started since the run was looked at
	if err != nil {
		return err
	}
	if !there {
		before = c.info
	}
	c.noted, c.info.Starts = true, before.Starts
	c.info.ConfigHash = c.cfg.Hash()
	c.info.Program, c.info.Go = c.opt.Version, runtime.Version()
	c.info.Arithmetic = c.cfg.Arithmetic()
	c.info.Arch = c.arch.String()
	if c.opt.Locked && before.Starts > 0 && c.info == before {
		return nil
	}
	c.info.Starts++
	if err := c.writeConfig("", c.cfg.Text()); err != nil {
		return err
	}
	info := c.info
	if c.cfg.Joins() {
		info.ConfigHash, info.Arithmetic, info.Arch = before.ConfigHash, before.Arithmetic, before.Arch
	}
	return run.WriteJSON(c.dir.RunFile(), info)
}

// writeConfig writes an effective configuration, and a copy into the history, whose
// name ends with that suffix. The run's own stays where the training only joins it.
func (c *core) writeConfig(suffix string, text []byte) error {
	name := fmt.Sprintf("%04d_%s%s.textproto", c.info.Starts, time.Now().UTC().Format("20060102T150405"), suffix)
	paths := []string{filepath.Join(c.dir.History(), name), c.dir.TrainingConfig()}
	if !c.cfg.Joins() {
		paths = append(paths, c.dir.ConfigFile())
	}
	for _, path := range paths {
		if err := fsx.WriteFile(fsx.OS, path, text); err != nil {
			return fmt.Errorf("write configuration: %w", err)
		}
	}
	return nil
}

// Beginning is what Init puts into a new run. The zero value is what Train would
// begin with.
type Beginning struct {
	Net      *nn.Net               // nil = the configured one
	From     string                // what Net is, for its file
	Continue *trainer.Continuation // how far Net was trained; nil = not at all
}

// Init makes the run directory of a configuration with a first checkpoint, from
// which Train goes on with the same configuration. A run that is there already is
// refused (exit code 2).
func Init(ctx context.Context, opt Options, b Beginning) (path string, err error) {
	if err := opt.Training.CheckNew(b.Net, b.From); err != nil {
		return "", err
	}
	if b.Net != nil {
		if err := writeInitial(opt, b.Net, b.From); err != nil {
			return "", err
		}
	}
	r := newTraining(opt)
	if err = r.open(ctx); err == nil && b.Continue != nil {
		err = r.trainer.Continue(*b.Continue)
		r.saver.steps, r.reporter.firstStep, r.reporter.firstSample = r.trainer.NumSteps(), r.trainer.NumSteps(), r.trainer.NumSamples()
	}
	if err == nil {
		err = r.firstCheckpoint(ctx)
		path = filepath.Join(r.dir.Checkpoints, checkpoint.Name(r.info.Job, r.saver.steps))
	}
	return path, r.close(err)
}

// writeInitial puts the net that a run begins with into its directory; from says what it
// was.
func writeInitial(opt Options, net *nn.Net, from string) error {
	dir := run.Dir{Root: opt.Training.Root}
	if err := fsx.MkdirAll(fsx.OS, dir.Root); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	meta := map[string]string{"name": from, "program": "chessbrain " + opt.Version}
	write := func(w io.Writer) error { return nn.WriteSafetensors(w, net, meta) }
	if err := fsx.WriteFileFunc(fsx.OS, dir.InitialNet(), write); err != nil {
		return fmt.Errorf("write the net of the run: %w", err)
	}
	return nil
}
