package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/run/verify"
)

func newVerify() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Read all that a run has written and list what is wrong",
		Long: `Reads everything below a run directory, or any other directory, a checkpoint or a
file (games, nets, metrics.jsonl, Leela's chunks and networks, PGN), and changes
nothing. Games are decoded, their moves played, their policies, ends and results
held against the board, and their rows rebuilt; checkpoints and nets are held
against their hashes; in a run each game of the journal must be on disk, once, and
each net where the gatekeeper decided. Matches are played through, too.

Each problem is a line: file, byte, what is wrong, what to do. The exit code is 0
only if there is none, and 3 otherwise. A run at work may be verified: what its
processes are just writing is no problem.`,
		Example: "  chessbrain verify runs/chessbrain\n  chessbrain verify games/*.games net.safetensors --json",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s: name a run, a directory, a checkpoint or a file", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runVerify(c, args, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a path")
	return c
}

// runVerify verifies the paths one after the other.
func runVerify(c *cobra.Command, paths []string, asJSON bool) error {
	problems := 0
	for _, path := range paths {
		r, err := verify.Path(c.Context(), path)
		if errors.Is(err, verify.ErrUnknown) {
			return usageError{err}
		}
		if err != nil {
			return pathError(err)
		}
		problems += r.NumProblems
		if err := answer(c, asJSON, r); err != nil {
			return err
		}
	}
	if problems > 0 {
		return corruptf("%d problems found; each is listed with what to do", problems)
	}
	return nil
}
