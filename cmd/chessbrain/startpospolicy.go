package main

import (
	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/replay/chunks"
)

func newStartposPolicy() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "startpos-policy FILE|DIR...",
		Short: "Average the policy of the start position over games or Leela chunks",
		Long: `Averages the policy target of the standard start position over the games of Leela's
chunks (*.gz, *.tar) and of our own *.games, in files or directories: its mean, its
standard deviation between games, and how often each move was played. Games that
begin elsewhere, or have no policy there, are only counted. What is damaged is named
and left out, and the exit code is 3.`,
		Args: someFiles,
		RunE: func(c *cobra.Command, args []string) error {
			s := chunks.NewStartPolicy()
			return reportGames(c, args, asJSON, s.Add, func() printed { r := s.Report(); return &r })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return c
}
