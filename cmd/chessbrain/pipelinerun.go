package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
		return answer(c, o.json, pipeline.NewPlanned(o.Options, goesOn))
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	file := filepath.Join(o.logDir, "pipeline_"+o.T+".log")
	shown, err := openShown(file, o.quiet)
	if err != nil {
		return err
	}
	o.Log, o.Progress = shown.log, shown.progress
	if goesOn {
		o.Log.Info("goes on with the unfinished run", "T", o.T)
	}
	state, err := pipeline.Run(ctx, o.Options)
	if err != nil {
		shown.log.Info("the pipeline ended early", "T", o.T, "error", err) // the terminal gets it as the command's error
	}
	if closeErr := shown.Close(); closeErr != nil {
		err = errors.Join(err, closeErr)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, run.ErrInterrupted) {
		return interruptedf("interrupted; all work is kept, and the same command goes on with run %s (or --resume %s)", o.T, o.T)
	}
	if err != nil {
		return badInput(err)
	}
	return answer(c, o.json, &pipeline.Report{State: state, Log: file})
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

// badInput makes usage errors of inputs that are missing or belong to something
// else.
func badInput(err error) error {
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

// shownLog is a log in a file and on the terminal, with the progress of training.
type shownLog struct {
	log      *slog.Logger
	progress *monitor.Progress
	file     io.Closer
}

// openShown opens the log.
func openShown(file string, quiet bool) (*shownLog, error) {
	s := &shownLog{progress: monitor.NewProgress(monitor.ProgressOptions{
		Out: os.Stderr, Terminal: monitor.IsTerminal(os.Stderr), Width: monitor.TerminalWidth(os.Stderr), Quiet: quiet})}
	var err error
	d := config.Defaults().GetLog()
	s.log, s.file, err = monitor.NewLogger(monitor.LogOptions{File: file, MaxBytes: int64(d.GetMaxMib()) << 20, Keep: int(d.GetKeep()),
		Terminal: s.progress, Quiet: quiet})
	if err != nil {
		return nil, pathError(fmt.Errorf("open log %s: %w; name another place with --log-dir", file, err))
	}
	return s, nil
}

// Close ends the display and closes the file.
func (s *shownLog) Close() error { return errors.Join(s.file.Close(), s.progress.Close()) }

// commandLine is the command as it was typed, for locks.
func commandLine(c *cobra.Command) string {
	return strings.Join(append([]string{c.Root().Name()}, os.Args[min(1, len(os.Args)):]...), " ")
}
