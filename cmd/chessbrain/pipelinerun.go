package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/pipeline"
)

// run checks, runs the steps and prints what they came to.
func (o *pipelineFlags) run(c *cobra.Command, args []string) error {
	if err := handOverFor("device", "auto"); err != nil { // its configurations say what trains where
		return err
	}
	goesOn, err := o.prepare(c, args)
	if err != nil {
		return err
	}
	if err := o.chooseNet(); err != nil {
		return err
	}
	if err := pipeline.Check(o.Options); err != nil {
		if as[*prepare.ManifestError](err) {
			return corrupt(err)
		}
		return usageError{err} // nothing was begun: flags, or what they name
	}
	if o.dryRun {
		return answer(c, pipeline.NewPlanned(o.Options, goesOn))
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	file := filepath.Join(o.logDir, "pipeline_"+o.T+".log")
	var state *pipeline.State
	err = shown(file, o.quiet, func(log *slog.Logger, progress *monitor.Progress) (err error) {
		o.Log, o.Progress = log, progress
		if goesOn {
			log.Info("goes on with the unfinished run", "T", o.T)
		}
		if state, err = pipeline.Run(ctx, o.Options); err != nil {
			log.Info("the pipeline ended early", "T", o.T, "error", err) // the terminal gets it as the command's error
		}
		return err
	})
	if err != nil {
		return endedBy(err, "interrupted; all work is kept, and the same command goes on with run %s (or --resume %s)", o.T, o.T)
	}
	return answer(c, &pipeline.Report{State: state, Log: file})
}

// chooseNet finds the net that plays, before anything is made.
func (o *pipelineFlags) chooseNet() error {
	spec := o.net
	if o.step >= 0 {
		if spec == "" {
			return usagef("--step %d: name the run or the directory of checkpoints with --net", o.step)
		}
		spec = fmt.Sprintf("%s@%d", spec, o.step)
	}
	if spec == "" {
		return nil
	}
	if _, err := pipeline.ReadState(o.Base, o.T); err == nil {
		return nil // it was kept when the run began
	}
	net, err := openNet(spec)
	if err != nil {
		return err
	}
	o.Net, o.NetName = net.Net, net.Name
	return nil
}

// endedBy is the error of a pipeline or a sweep: inputs that are missing or belong to
// something else are usage errors, and of an interrupt format says what is kept.
func endedBy(err error, format string, args ...any) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, run.ErrInterrupted) {
		return interruptedf(format, args...)
	}
	for _, target := range []error{prepare.ErrNoInput, prepare.ErrOther, prepare.ErrForeign} {
		if errors.Is(err, target) {
			return usageError{err}
		}
	}
	if as[*prepare.ManifestError](err) {
		return corrupt(err)
	}
	return pathError(err)
}

// shown does work with a log in a file and on the terminal, and the progress of training.
func shown(file string, quiet bool, work func(*slog.Logger, *monitor.Progress) error) error {
	progress := monitor.NewProgress(monitor.ProgressOptions{
		Out: os.Stderr, Terminal: monitor.IsTerminal(os.Stderr), Width: monitor.TerminalWidth(os.Stderr), Quiet: quiet})
	d := config.Defaults().GetLog()
	log, closer, err := monitor.NewLogger(monitor.LogOptions{File: file, MaxBytes: int64(d.GetMaxMib()) << 20, Keep: int(d.GetKeep()),
		Terminal: progress, Quiet: quiet})
	if err != nil {
		return pathError(fmt.Errorf("open log %s: %w; name another place with --log-dir", file, err))
	}
	return errors.Join(work(log, progress), closer.Close(), progress.Close())
}

// commandLine is the command as it was typed, for locks.
func commandLine(c *cobra.Command) string {
	return strings.Join(append([]string{c.Root().Name()}, os.Args[min(1, len(os.Args)):]...), " ")
}
