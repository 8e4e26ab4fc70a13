package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/config"
	"github.com/chessbrain/chessbrain/loop"
)

func newSelfplay() *cobra.Command {
	s := &session{}
	var process uint64
	var games int64
	c := &cobra.Command{
		Use:   "selfplay",
		Short: "Only play, for a trainer that runs with --source dir",
		Long: `Plays games with the newest net of the run directory and stores them there. Any
number of such processes may share a run directory, each with its own --process
number; they never play one game twice. A trainer with --source dir learns from
all of them.`,
		Example: "  chessbrain selfplay --run-dir runs/a --process 1 &\n  chessbrain train --run-dir runs/a --source dir --steps 10000",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if err := s.resolve(c); err != nil {
				return err
			}
			if process < 1 {
				return usagef("--process %d: count from 1; 0 is the process that plays inside train", process)
			}
			if games < 0 {
				return usagef("--max-games %d: want 0 (until stopped) or more", games)
			}
			if s.dryRun {
				return s.check(c.OutOrStdout())
			}
			ctx, stop := interruptible(c.Context())
			defer stop()
			if err := s.open(c); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.close()) }()
			n, err := loop.SelfPlay(ctx, loop.SelfPlayOptions{
				Effective: s.effective, Process: process, MaxGames: games, Command: s.command, Log: s.log,
			})
			fmt.Fprintf(c.OutOrStdout(), "%d games of process %d are on disk\n", n, process)
			return err
		},
	}
	s.bind(c, config.SelfPlayGroups)
	c.Flags().Uint64Var(&process, "process", 1, "number of this process among those of the run, from 1")
	c.Flags().Int64Var(&games, "max-games", 0, "games of this process in all, those on disk included; 0 = until stopped")
	return c
}
