package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/retain"
	"github.com/chessbrain/chessbrain/run/setup"
)

// gcOptions are the flags of gc.
type gcOptions struct {
	flags  *config.FlagSet
	file   string
	dryRun bool
}

func newGC() *cobra.Command {
	o := gcOptions{flags: config.NewFlagSet(config.Group_RETENTION)}
	c := &cobra.Command{
		Use:   "gc RUN",
		Short: "Remove what a run does not need any more: old shuffles, games, nets",
		Long: `Removes from the run directory RUN what the section loop.retention of its newest configuration, or of
--config, does not keep; flags win. chessbrain run does this once a cycle. A run at work may be treated so. Whatever
the limits say, what is still needed stays, and what the run did not make or is pinned (chessbrain pin PATH).`,
		Example: "  chessbrain gc runs/a --keep-game-rows 5000000 --max-gib 200 --dry-run",
		Args:    exactArgs(1, "name one run directory"),
		RunE:    func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	bindConfig(c, o.flags)
	c.Flags().StringVar(&o.file, "config", "", "configuration file whose section loop.retention is taken (default: that of the run's newest start)")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would be removed")
	bindJSON(c, "print one JSON object")
	return c
}

func (o *gcOptions) run(c *cobra.Command, root string) error {
	path, read := o.file, config.Load
	if path == "" {
		if _, _, err := setup.OpenDir(root); err != nil {
			return usageError{err}
		}
		path, read = run.Dir{Root: root}.ConfigFile(), config.LoadKept
	}
	file, err := read(path)
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
	return errors.Join(err, answer(c, report))
}

func newPin() *cobra.Command {
	var remove bool
	c := &cobra.Command{
		Use:   "pin PATH...",
		Short: "Exempt directories or files of a pipeline from clean-up",
		Long: `Puts a file .pinned into a directory, or NAME.pinned beside a file: clean-up then leaves the directory and
all that is in it, or the file, alone.`,
		Args: someArgs("name directories or files"),
		RunE: func(c *cobra.Command, args []string) error {
			change, word := prepare.Pin, "pinned"
			if remove {
				change, word = prepare.Unpin, "no longer pinned"
			}
			for _, path := range args {
				if err := change(fsx.OS, path); err != nil {
					return pathError(err)
				}
				fmt.Fprintf(c.OutOrStdout(), "%s is %s\n", path, word)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&remove, "remove", false, "take the pin away")
	return c
}
