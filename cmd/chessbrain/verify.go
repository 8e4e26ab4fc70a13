package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/monitor"
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
		if asJSON {
			err = json.NewEncoder(c.OutOrStdout()).Encode(r)
		} else {
			err = writeVerified(c.OutOrStdout(), r)
		}
		if err != nil {
			return err
		}
	}
	if problems > 0 {
		return corruptf("%d problems found; each is listed with what to do", problems)
	}
	return nil
}

// writeVerified prints a report as text.
func writeVerified(out io.Writer, r *verify.Report) error {
	for _, p := range r.Problems {
		fmt.Fprintln(out, p)
	}
	if more := r.NumProblems - len(r.Problems); more > 0 {
		fmt.Fprintf(out, "... and %d more problems\n", more)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row(r.What, "%s", r.Path)
	count := func(show bool, name, format string, args ...any) {
		if show {
			row(name, format, args...)
		}
	}
	count(r.Chunks > 0, "games", "%d in %s: %s, %s", r.Games, monitor.Count(r.Chunks, "file"), monitor.Count(r.Positions, "position"), monitor.Count(r.Rows, "row"))
	count(r.Entries > 0, "journal", "%s", monitor.Count(r.Entries, "game"))
	count(r.Checkpoints > 0, "checkpoints", "%d", r.Checkpoints)
	count(r.Shuffles > 0, "shuffles", "%d: %s", r.Shuffles, monitor.Count(r.ShuffledRows, "row"))
	count(r.Nets > 0, "nets", "%d", r.Nets)
	count(r.Events > 0, "events", "%d", r.Events)
	count(r.Matches > 0, "matches", "%d: %s", r.Matches, monitor.Count(r.MatchGames, "game"))
	count(r.Cycles > 0, "cycles", "%s", monitor.Count(r.Cycles, "line"))
	count(r.Catalogued > 0, "catalogue", "%s", monitor.Count(r.Catalogued, "net"))
	count(r.LeelaChunks > 0, "Leela chunks", "%d: %s", r.LeelaChunks, monitor.Count(r.Records, "record"))
	count(r.PGNGames > 0, "PGN", "%s", monitor.Count(r.PGNGames, "game"))
	count(r.Unfinished > 0, "unfinished", "%s", monitor.Count(r.Unfinished, "game"))
	count(r.Manifests > 0, "steps", "%d", r.Manifests)
	count(r.Others > 0, "not looked at", "%s (logs, plots and the like)", monitor.Count(r.Others, "file"))
	row("problems", "%d", r.NumProblems)
	for _, note := range r.Notes {
		row("note", "%s", note)
	}
	return w.Flush()
}
