package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/run/cycle"
)

func newStatus() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status [RUN]",
		Short: "One page of a run's state: stage, progress, nets, Elo, rates, disk, and what limits it",
		Long: `Reads the files and locks of a run directory, asks the processes that work on it
over their control sockets, and prints one page. It changes nothing, needs no
running process, and works for chessbrain run, for scripts/synchronous_loop.sh and
for any mix of chessbrain selfplay, shuffle, train, export and gatekeeper.

"limits" says what holds the run up most, and which flag changes it.`,
		Example: "  chessbrain status runs/a\n  watch -n 5 chessbrain status runs/a\n  chessbrain status runs/a --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := cycle.ReadStatus(c.Context(), runArg(args))
			if err != nil {
				return pathError(err)
			}
			if asJSON {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(s)
			}
			return s.Write(c.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
