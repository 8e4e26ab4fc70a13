package main

import (
	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
)

func newPluginsSwap() *cobra.Command {
	var process uint64
	var set []string
	c := &cobra.Command{
		Use:   "swap RUN KIND NAME[,NAME]",
		Short: "Replace a stage of a running train or selfplay",
		Long: `Replaces the rescorers, the sampler or the exporter of the trainer that works on the
run directory RUN, or with --process N the rescorers of a process of chessbrain
selfplay. KIND is rescorer, sampler or exporter; NAME is a built-in stage or a
program of the plugin directories that the process was started with. Rescorers
work in the order in which they are named; identity alone changes nothing.

The process starts the new stage first: where that fails, the old one stays and the
exit code is 1. It takes over at the next group of games, batch, or export; no row
is lost or comes twice. The run's configuration on disk follows.`,
		Example: "  chessbrain plugins swap runs/a rescorer deblunder,mine --set deblunder.threshold=0.2\n  chessbrain plugins swap runs/a sampler hanse",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 3 {
				return usagef("%s: want a run directory, a kind and names, got %d arguments", c.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			kind, err := stage.ParseKind(args[1])
			if err != nil || kind == "" {
				return usagef("kind %q: want rescorer, sampler or exporter", args[1])
			}
			chosen, err := stage.ParseChoices(kind, args[2], set)
			if err != nil {
				return usageError{err}
			}
			swap := run.Swap{Kind: string(kind)}
			for _, one := range chosen {
				swap.Stages = append(swap.Stages, run.SwapStage(one))
			}
			m, err := swap.Message()
			if err != nil {
				return err
			}
			return control(c, args[0], process, m)
		},
	}
	c.Flags().Uint64Var(&process, "process", 0, "swap in this playing process (chessbrain selfplay --process N) and not in the trainer")
	c.Flags().StringArrayVar(&set, "set", nil, "a setting, STAGE.SETTING=VALUE; may come several times")
	return c
}
