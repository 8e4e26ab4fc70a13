package main

import (
	"context"
	"io"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/exporting"
)

func newExport() *cobra.Command {
	var opt exporting.Options
	var gating string
	s := &session{}
	s.plan = func(_ *config.Effective, w io.Writer) error { return exporting.DryRun(opt, w) }
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
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		switch {
		case opt.Poll <= 0:
			return usagef("--poll %v: want a time above 0", opt.Poll)
		case opt.LockWait < 0:
			return usagef("--lock-wait %v: want 0 or more", opt.LockWait)
		case opt.Once && given(c, "poll") != "":
			return usagef("--once: --poll is given too; keep one of the two")
		}
		if opt.Gating, err = strconv.ParseBool(gating); err != nil {
			return usagef("--gating %q: want 0 or 1", gating)
		}
		if err := s.resolve(c); err != nil {
			return err
		}
		if opt.From != "" && s.effective.Origin("run_dir") == "default" { // locks and logs lie beside the nets
			s.effective.Config.RunDir = new(filepath.Dir(filepath.Clean(opt.From)))
		}
		opt.Effective, opt.Command, opt.Version = s.effective, s.command, version()
		return perform(c, s, func(ctx context.Context) (*exporting.Summary, error) {
			opt.Log, opt.Readers = s.log, s.readers
			return exporting.Run(ctx, opt)
		})
	}
	s.bind(c, config.ExportGroups)
	f := c.Flags()
	f.StringVar(&opt.From, "models-dir", "", "directory that trainers hand nets over in (default: toexport/ and toexport_extra/ of the run)")
	f.StringVar(&opt.To, "output-dir", "", "directory of the nets made (default: modelstobetested/ of the run, models/ with --gating 0)")
	f.StringVar(&gating, "gating", "1", "1 = nets must win a match of chessbrain gatekeeper before they play; 0 = they play at once")
	f.BoolVar(&opt.Once, "once", false, "end when no net is left")
	f.DurationVar(&opt.Poll, "poll", exporting.DefaultPoll, "time between two looks for nets")
	f.DurationVar(&opt.LockWait, "lock-wait", 0, "wait so long for another exporter of the run to end; 0 = exit with 2 at once")
	bindJSON(c, "one JSON object at the end")
	return c
}
