package main

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
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
			problems, err := chunks.Walk(c.Context(), fsx.OS, args, func(g *chunks.Game) error {
				s.Add(g)
				return nil
			})
			if err != nil {
				return inputError(err)
			}
			r := s.Report()
			if asJSON {
				err = json.NewEncoder(c.OutOrStdout()).Encode(&r)
			} else {
				err = r.Write(c.OutOrStdout())
			}
			return errors.Join(err, reportProblems(c, problems))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return c
}
