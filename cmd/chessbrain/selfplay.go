package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
)

func newSelfplay() *cobra.Command {
	s := &session{plan: setup.DryRunSelfPlay, rereads: true}
	var process uint64
	var games int64
	c := &cobra.Command{
		Use:   "selfplay",
		Short: "Only play: for a trainer with --source dir, or from a directory of nets",
		Long: `Plays games with the newest net and stores them: that of the run's newest checkpoint, for a trainer with
--source dir, or with --models-dir the newest .safetensors file there; while there is none, random weights play. Any
number of such processes may share a directory, each with its own --process number.

The first Ctrl-C or SIGTERM saves unfinished games, which go on at the next start, and exits with 5; a second one
ends at once.`,
		Example: "  chessbrain selfplay --models-dir base/models --output-dir base/selfplay --max-games-total 5000",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if games < 0 {
				return usagef("--max-games-total %d: want 0 (until stopped) or more", games)
			}
			return perform(c, s, func(ctx context.Context) (*play.PlaySummary, error) {
				return play.SelfPlay(ctx, play.SelfPlayOptions{
					Effective: s.effective, Process: process, MaxGames: games, Command: s.command, Version: version(), Log: s.log, Readers: s.readers, Reload: s.reload,
				})
			})
		},
	}
	s.bind(c, config.SelfPlayGroups)
	c.Flags().Uint64Var(&process, "process", 0, "number of this process among those of the run, from 1; 0 = the first that is free")
	c.Flags().Int64Var(&games, "max-games-total", 0, "games of this process in all, those on disk included; 0 = until stopped")
	takeNames(c, map[string]string{"max-games": "max-games-total"}) // its name in the first builds
	return c
}
