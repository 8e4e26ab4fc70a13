package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
)

// subjectFlags name the net that a tool works on, and the configuration that says
// how it is trained.
type subjectFlags struct {
	checkpoint, run, net, config string
	data                         string // of the tool's rows
	weights                      string // raw or swa; "" where there is no flag
	fresh                        bool   // without a net, the one that the configuration begins with will do
	madeUp                       bool   // without data, rows are made up
}

// tool is the run of a tool that works with a net on rows and saves nothing. validate
// refuses what cannot be, before anything is read. Where parts of the data could not be
// read the exit code is 3; the rest was used.
func (f *subjectFlags) tool(validate func() error, work func(*cobra.Command, *tools.Subject, *tools.Rows) error) func(*cobra.Command, []string) error {
	return stoppable(func(c *cobra.Command, _ []string) (err error) {
		var data error
		if f.data == "" && !f.madeUp {
			data = usagef("--data: name %s", dataHelp)
		}
		if err := errors.Join(f.named(c), data, validate()); err != nil {
			return err
		}
		s, err := f.open(c)
		if err != nil {
			return err
		}
		if f.data == "" && f.madeUp {
			return work(c, s, nil)
		}
		rows, err := tools.OpenRows(c.Context(), s, f.data)
		if err != nil {
			return pathError(err)
		}
		defer closeAfter(&err, rows)
		tellEach(c, "left out: %v", rows.Problems)
		err = work(c, s, rows)
		if err == nil && len(rows.Problems) > 0 {
			err = corruptf("%d parts of %s could not be read; the result is that of the rest", len(rows.Problems), rows.Name)
		}
		return err
	})
}

// bind registers the flags that all tools have.
func (f *subjectFlags) bind(c *cobra.Command) {
	c.Flags().StringVar(&f.config, "config", "", "configuration file (default: that of the run, else the defaults)")
	c.Flags().StringVar(&f.run, "run-dir", "", "a run, whose newest checkpoint is taken, or RUN@STEP")
	c.Flags().StringVar(&f.net, "net", "", tools.NetForms)
}

// named refuses flags that name no net, or more than one.
func (f *subjectFlags) named(c *cobra.Command) error {
	named := 0
	for _, name := range []string{f.checkpoint, f.run, f.net} {
		if name != "" {
			named++
		}
	}
	switch {
	case named > 1:
		return usagef("%s: more than one net is named; keep one flag", c.CommandPath())
	case named == 0 && (!f.fresh || f.config == ""):
		return usagef("%s: no net is named: want %s", c.CommandPath(), c.UseLine())
	}
	return nil
}

// open reads the net and the configuration.
func (f *subjectFlags) open(c *cobra.Command) (*tools.Subject, error) {
	path := cmp.Or(f.checkpoint, f.run)
	switch {
	case f.weights != "" && f.weights != "raw" && f.weights != "swa":
		return nil, usagef("--weights %q: want raw or swa", f.weights)
	case f.weights == "swa" && path == "":
		return nil, usagef("--weights swa: only a checkpoint has averaged weights; leave it away")
	}
	if path != "" {
		s, err := tools.OpenRun(path, tools.SubjectOptions{Config: f.config, Average: f.weights == "swa"})
		if err != nil {
			return nil, pathError(err)
		}
		if err := handOverOrCPU(c, s.Effective, true); err != nil {
			return nil, err
		}
		tellEach(c, "%s", s.Checkpoint.Warnings)
		return s, nil
	}
	e, err := config.Resolve(config.Input{Path: f.config})
	if err != nil {
		return nil, err
	}
	if err := handOverOrCPU(c, e, true); err != nil {
		return nil, err
	}
	if f.net != "" {
		n, err := openNet(f.net)
		if err != nil {
			return nil, err
		}
		return tools.NewSubject(n.Name, n.Net, e), nil
	}
	net, err := setup.InitialNet(e, e.Config.GetSeed())
	return tools.NewSubject("fresh net of "+f.config, net, e), err
}

// stoppable is the run of a tool that saves nothing: SIGINT and SIGTERM end the
// command's context, and its error says so.
func stoppable(run func(c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		c.SetContext(ctx)
		err := run(c, args)
		if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return codedError{errors.New("interrupted; nothing was saved"), exitKilled}
		}
		return err
	}
}

// closeAfter joins what closing says to err.
func closeAfter(err *error, c io.Closer) {
	if closeErr := c.Close(); *err == nil {
		*err = closeErr
	}
}

const dataHelp = "a run or a directory of games (*.games, Leela's *.gz and *.tar), a directory of shuffles, or loader (the section data_loader)"
