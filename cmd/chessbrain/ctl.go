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
	var process uint64
	c := &cobra.Command{
		Use:   "ctl RUN COMMAND",
		Short: "Talk to a running process: status, subscribe, stop, checkpoint-now",
		Long: `Sends one command to the trainer that works on the run directory RUN, over its
control socket, and prints the answer as JSON lines. subscribe prints events
until the process ends. With --process N it goes to a process of chessbrain
selfplay, which knows status and stop.`,
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
			role, who := fmt.Sprintf("selfplay-p%d", process), fmt.Sprintf("process %d does not play", process)
			if process == 0 {
				dir, _, err := loop.OpenDir(args[0])
				if err != nil {
					return usageError{err}
				}
				role, who = "trainer-"+dir.Training, "nobody trains"
			}
			owners, err := fsx.Owners(filepath.Join(args[0], "locks", role))
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
			return fmt.Errorf("%s in %s now", who, args[0])
		},
	}
	c.Flags().Uint64Var(&process, "process", 0, "talk to this playing process (chessbrain selfplay --process N) and not to the trainer")
	return c
}
