package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/cycle"
	"github.com/chessbrain/chessbrain/run/setup"
)

// loopDir is the run directory of a plain chessbrain run: not that of a plain
// chessbrain train, whose training a closed loop cannot take over.
const loopDir = "runs/loop"

func newRun() *cobra.Command {
	s := &session{plan: cycle.DryRun, runDir: loopDir, rereads: true}
	var stage string
	var show bool
	c := &cobra.Command{
		Use:   "run",
		Short: "The closed loop on this machine: gate, play, shuffle, train, export, in a circle",
		Long: `Goes round from an empty directory on: the gatekeeper tests the newest net, the accepted one plays, the
newest rows are shuffled, the net is trained on them, and the new net is a candidate of the next cycle. It ends when
a stop condition holds (--cycles, --games, --hours, --elo), or at Ctrl-C with 5; after a stop or a kill the same
command goes on. chessbrain status RUN shows where it is.

--stage NAME does one stage and ends: gatekeeper, rating, selfplay, shuffle, train, export or gc. Exit code 0: it is
done, or was; 2: another stage is next, which it names; 6: too few rows, self-play is next; 7: a stop condition
holds.`,
		Example: "  chessbrain run --run-dir runs/a --config configs/laptop.textproto --hours 8",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := s.resolve(c); err != nil {
				return err
			}
			var only cycle.Stage
			if stage != "" {
				var err error
				if only, err = cycle.ParseStage(stage); err != nil {
					return err
				}
				s.logName = "stages.log" // one for all: there are some seven a cycle
			}
			if show {
				settled, err := setup.NewCycle(s.effective)
				if err == nil {
					_, err = c.OutOrStdout().Write(config.Format(settled.Config))
				}
				return err
			}
			return perform(c, s, func(ctx context.Context) (*cycle.Summary, error) {
				return cycle.Run(ctx, cycle.Options{
					Effective: s.effective, Command: s.command, Version: version(), Log: s.log, Readers: s.readers, Progress: s.progress, Reload: s.reload,
					Stage: only,
				})
			})
		},
	}
	s.bind(c, config.RunGroups)
	c.Flags().BoolVar(&show, "print-config", false, "print the configuration that all stages share, for --config, and end")
	c.Flags().StringVar(&stage, "stage", "", "do this stage, if it is next, and end")
	return c
}
