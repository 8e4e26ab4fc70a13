package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/chunks"
)

func newResultDistribution() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "result-distribution FILE|DIR...",
		Short: "Count results, lengths and ends of games or Leela chunks",
		Long: `Counts the games of Leela's chunks (*.gz, *.tar) and of our own *.games, in files or
directories: how many white won, were drawn, black won, their lengths in plies, why
they ended, and of what version and input format they are. What is damaged is named
and left out, and the exit code is 3.`,
		Args: someFiles,
		RunE: func(c *cobra.Command, args []string) error {
			t := chunks.NewTally()
			return reportGames(c, args, asJSON, t.Add, func() printed { r := t.Report(); return &r })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return c
}

// reportGames walks over the games of args and writes the report on them, as JSON
// if asked for; what is damaged is named at the end.
func reportGames(c *cobra.Command, args []string, asJSON bool, add func(*chunks.Game), report func() printed) error {
	problems, err := chunks.Walk(c.Context(), fsx.OS, args, func(g *chunks.Game) error {
		add(g)
		return nil
	})
	if err != nil {
		return inputError(err)
	}
	return errors.Join(answer(c, asJSON, report()), reportProblems(c, problems))
}

// someFiles wants at least one argument.
func someFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s: name files or directories", c.CommandPath())
	}
	return nil
}

// inputError makes usage errors of inputs that cannot be used.
func inputError(err error) error {
	if errors.Is(err, chunks.ErrInput) || errors.Is(err, chunks.ErrExists) {
		return usageError{err}
	}
	return pathError(err)
}

// reportProblems names what could not be read, and makes an error of it.
func reportProblems(c *cobra.Command, problems []error) error {
	for _, p := range problems {
		tell(c)("%v", p)
	}
	if len(problems) == 0 {
		return nil
	}
	return corruptf("%d parts of the input could not be read and were left out", len(problems))
}
