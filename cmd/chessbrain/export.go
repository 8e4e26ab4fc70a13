package main

import (
	"context"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/exporting"
)

// exportFlags are the flags of export beside those of the configuration.
type exportFlags struct {
	from, to string
	gating   string
	once     bool
	poll     time.Duration
	lockWait time.Duration
}

func newExport() *cobra.Command {
	var o exportFlags
	s := &session{}
	c := &cobra.Command{
		Use:   "export",
		Short: "Make candidates of the nets that trainers hand over",
		Long: `Takes the nets that chessbrain train --export-mode main puts into toexport/ of the run, oldest first,
writes the files that --exporter makes of them into modelstobetested/, or with --gating 0 into models/, and then
removes what it took. Those of --export-mode extra go from toexport_extra/ to models_extra/.

A kill at any moment costs nothing: the next start does what is missing, and no net is made twice. The first Ctrl-C
or SIGTERM ends it with 5.`,
		Example: `  chessbrain export --run-dir runs/a --exporter lc0 --poll 30s`,
		Args:    noArgs,
	}
	s.bind(c, config.ExportGroups)
	o.bind(c)
	c.RunE = func(c *cobra.Command, _ []string) error { return o.run(c, s) }
	return c
}

// bind declares the flags.
func (o *exportFlags) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.from, "models-dir", "", "directory that trainers hand nets over in (default: toexport/ and toexport_extra/ of the run)")
	f.StringVar(&o.to, "output-dir", "", "directory of the nets made (default: modelstobetested/ of the run, models/ with --gating 0)")
	f.StringVar(&o.gating, "gating", "1", "1 = nets must win a match of chessbrain gatekeeper before they play; 0 = they play at once")
	f.BoolVar(&o.once, "once", false, "end when no net is left")
	f.DurationVar(&o.poll, "poll", exporting.DefaultPoll, "time between two looks for nets")
	f.DurationVar(&o.lockWait, "lock-wait", 0, "wait so long for another exporter of the run to end; 0 = exit with 2 at once")
	bindJSON(c, "one JSON object at the end")
}

// run resolves the configuration and exports.
func (o *exportFlags) run(c *cobra.Command, s *session) error {
	switch {
	case o.poll <= 0:
		return usagef("--poll %v: want a time above 0", o.poll)
	case o.lockWait < 0:
		return usagef("--lock-wait %v: want 0 or more", o.lockWait)
	case o.once && c.Flags().Changed("poll"):
		return usagef("--once: --poll is given too; keep one of the two")
	}
	gating, err := strconv.ParseBool(o.gating)
	if err != nil {
		return usagef("--gating %q: want 0 or 1", o.gating)
	}
	if err := s.resolve(c); err != nil {
		return err
	}
	if o.from != "" && s.effective.Origin("run_dir") == "default" { // locks and logs lie beside the nets
		s.effective.Config.RunDir = new(filepath.Dir(filepath.Clean(o.from)))
	}
	opt := exporting.Options{Effective: s.effective, Gating: gating, From: o.from, To: o.to, Once: o.once, Poll: o.poll, LockWait: o.lockWait,
		Command: s.command, Version: version()}
	s.plan = func(_ *config.Effective, w io.Writer) error { return exporting.DryRun(opt, w) }
	return perform(c, s, func(ctx context.Context) (*exporting.Summary, error) {
		opt.Log, opt.Readers = s.log, s.readers
		return exporting.Run(ctx, opt)
	})
}
