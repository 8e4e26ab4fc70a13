package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// ctlCommands are the commands of the control socket that need nothing but their
// name.
var ctlCommands = []string{"status", "subscribe", "stop", "checkpoint-now", "start-training-now"}

// ctlRoles are the roles that --role takes: one process of a run each.
var ctlRoles = []string{string(run.Loop), string(run.Gatekeeper), string(run.Exporter), string(run.Rater)}

func newCtl() *cobra.Command {
	var process uint64
	var role string
	c := &cobra.Command{
		Use:   "ctl RUN COMMAND",
		Short: "Talk to a running process: status, subscribe, stop, checkpoint-now",
		Long: `Sends one command to the trainer that works on the run directory RUN, over its control socket, and prints
the answer as JSON lines; while nobody trains, to a chessbrain run, which knows status, stop and subscribe.
subscribe prints events until the process ends; start-training-now ends a wait for new chunks. A process of
chessbrain selfplay (--process) knows status and stop. To replace a stage, see chessbrain plugins swap.`,
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
			if role != "" && (process != 0 || !slices.Contains(ctlRoles, role)) {
				return usagef("--role %s: want one of %s, and no --process", role, strings.Join(ctlRoles, ", "))
			}
			if role != "" {
				return ask(c, args[0], []run.Role{run.Role(role)}, "there is no "+role+" at work", run.Message{Type: args[1]})
			}
			return control(c, args[0], process, run.Message{Type: args[1]})
		},
	}
	c.Flags().Uint64Var(&process, "process", 0, "talk to this playing process (chessbrain selfplay --process N) and not to the trainer")
	c.Flags().StringVar(&role, "role", "", "talk to the process of this role: "+strings.Join(ctlRoles, ", "))
	return c
}

// control sends a message to the trainer of a run, or to its playing process of a
// number that is not 0, and prints the answers as JSON lines.
func control(c *cobra.Command, root string, process uint64, m run.Message) error {
	roles, who := []run.Role{run.Player(process)}, fmt.Sprintf("process %d does not play", process)
	if process == 0 {
		dir, _, err := setup.OpenDir(root)
		if err != nil {
			return usageError{err}
		}
		roles, who = []run.Role{run.Trainer(dir.Training), run.Loop}, "nobody trains"
	}
	return ask(c, root, roles, who, m)
}

// ask sends a message to the first process of some roles, in their order, that
// listens, and prints the answers as JSON lines. who says that there is none.
func ask(c *cobra.Command, root string, roles []run.Role, who string, m run.Message) error {
	for _, role := range roles {
		owners, err := fsx.Owners(run.Dir{Root: root}.Lock(role))
		if err != nil {
			return err
		}
		for _, o := range owners {
			if o.Socket == "" {
				continue
			}
			return run.SendMessage(c.Context(), o.Socket, m, func(answer run.Message) error {
				return printJSON(c, answer)
			})
		}
	}
	return fmt.Errorf("%s in %s now", who, root)
}
