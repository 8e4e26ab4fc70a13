package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/loop"
)

// ctlCommands are the commands of the control socket.
var ctlCommands = []string{"status", "subscribe", "stop", "checkpoint-now", "start-training-now", "swap-plugin"}

func newCtl() *cobra.Command {
	return &cobra.Command{
		Use:   "ctl RUN COMMAND",
		Short: "Talk to a running process: status, subscribe, stop, checkpoint-now",
		Long: `Sends one command to the trainer that works on the run directory RUN, over its
control socket, and prints the answer as JSON lines. subscribe prints events
until the process ends.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("want a run directory and a command, see %s --help", c.CommandPath())
			}
			for _, known := range ctlCommands {
				if args[1] == known {
					return nil
				}
			}
			return usagef("unknown command %q; known: %s", args[1], strings.Join(ctlCommands, ", "))
		},
		RunE: func(c *cobra.Command, args []string) error {
			dir, _, err := loop.OpenDir(args[0])
			if err != nil {
				return usageError{err}
			}
			owners, err := fsx.Owners(filepath.Join(dir.Root, "locks", "trainer-"+dir.Training))
			if err != nil {
				return err
			}
			for _, o := range owners {
				if o.Socket == "" {
					continue
				}
				return loop.Send(c.Context(), o.Socket, args[1], func(m loop.Message) error {
					return json.NewEncoder(c.OutOrStdout()).Encode(m)
				})
			}
			return fmt.Errorf("nobody trains in %s now", args[0])
		},
	}
}
