package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/loop"
)

// ctlCommands are the commands of the control socket that need nothing but their
// name.
var ctlCommands = []string{"status", "subscribe", "stop", "checkpoint-now", "start-training-now"}

func newCtl() *cobra.Command {
	var process uint64
	c := &cobra.Command{
		Use:   "ctl RUN COMMAND",
		Short: "Talk to a running process: status, subscribe, stop, checkpoint-now",
		Long: `Sends one command to the trainer that works on the run directory RUN, over its
control socket, and prints the answer as JSON lines. subscribe prints events
until the process ends. With --process N it goes to a process of chessbrain
selfplay, which knows status and stop. To replace a stage, see chessbrain plugins
swap.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("want a run directory and a command, see %s --help", c.CommandPath())
			}
			if args[1] == "swap-plugin" {
				return usagef("swap-plugin needs to know what comes in place of what: chessbrain plugins swap %s KIND NAME", args[0])
			}
			if !slices.Contains(ctlCommands, args[1]) {
				return usagef("unknown command %q; known: %s", args[1], strings.Join(ctlCommands, ", "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return control(c, args[0], process, loop.Message{Type: args[1]})
		},
	}
	c.Flags().Uint64Var(&process, "process", 0, "talk to this playing process (chessbrain selfplay --process N) and not to the trainer")
	return c
}

// control sends a message to the trainer of a run, or to its playing process of a
// number that is not 0, and prints the answers as JSON lines.
func control(c *cobra.Command, run string, process uint64, m loop.Message) error {
	role, who := fmt.Sprintf("selfplay-p%d", process), fmt.Sprintf("process %d does not play", process)
	if process == 0 {
		dir, _, err := loop.OpenDir(run)
		if err != nil {
			return usageError{err}
		}
		role, who = "trainer-"+dir.Training, "nobody trains"
	}
	owners, err := fsx.Owners(filepath.Join(run, "locks", role))
	if err != nil {
		return err
	}
	for _, o := range owners {
		if o.Socket == "" {
			continue
		}
		return loop.SendMessage(c.Context(), o.Socket, m, func(answer loop.Message) error {
			return json.NewEncoder(c.OutOrStdout()).Encode(answer)
		})
	}
	return fmt.Errorf("%s in %s now", who, run)
}
