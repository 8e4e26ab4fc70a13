package main

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/retain"
	"github.com/chessbrain/chessbrain/run/setup"
)

// gcOptions are the flags of gc.
type gcOptions struct {
	flags  *config.FlagSet
	file   string
	dryRun bool
	json   bool
}

func newGC() *cobra.Command {
	o := gcOptions{flags: config.NewFlagSet(config.Group_RETENTION)}
	c := &cobra.Command{
		Use:   "gc RUN",
		Short: "Remove what a run does not need any more: old shuffles, games, nets",
		Long: `Removes from the run directory RUN what the section loop.retention of its newest
configuration, or of --config, does not keep; flags win. chessbrain run does this
once a cycle. A run at work may be treated so.

Nothing that is referenced is removed, whatever the limits say: game files of the
newest shuffle's window and newer ones, games of the journal and of checkpoints'
windows, shuffles that a trainer goes on from, the first, the newest and the best
accepted net. Nothing is removed that the run did not make, and nothing that is
pinned (chessbrain pin PATH). Games that are removed go on to count among the rows
that were played (selfplay/removed.jsonl).

--dry-run lists what would go, and creates and removes nothing.`,
		Example: "  chessbrain gc runs/a --dry-run\n  chessbrain gc runs/a --keep-game-rows 5000000 --max-gib 200",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s: name one run directory", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	for _, v := range o.flags.Values() {
		f := c.Flags().VarPF(v, v.Flag().Name, "", v.Flag().Usage)
		f.NoOptDefVal = v.NoOptDefVal()
	}
	c.Flags().StringVar(&o.file, "config", "", "configuration file whose section loop.retention is taken (default: that of the run's newest start)")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would be removed")
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return c
}

func (o *gcOptions) run(c *cobra.Command, root string) error {
	path := o.file
	if path == "" {
		path = run.Dir{Root: root}.ConfigFile()
	}
	file, err := config.Load(path)
	if err != nil {
		return err
	}
	// The rest of the configuration has no part in this: files that it names may be
	// gone by now.
	file.Config = &config.Config{Loop: file.Config.GetLoop()}
	e, err := config.Resolve(config.Input{File: file, Env: os.LookupEnv, Flags: o.flags})
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	report, err := retain.Run(ctx, retain.Options{Root: root, Keep: setup.RetentionOf(e.Config), DryRun: o.dryRun,
		Command: strings.Join(os.Args, " ")})
	if report == nil {
		return pathError(err)
	}
	return errors.Join(err, answer(c, o.json, report))
}
