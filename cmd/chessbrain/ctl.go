package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/daemon"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
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
		ValidArgsFunction: inTurn(directories, oneOf(ctlCommands)),
		RunE: func(c *cobra.Command, args []string) error {
			if role != "" && (process != 0 || !slices.Contains(ctlRoles, role) && !strings.HasPrefix(role, string(run.Trainer("")))) {
				return usagef("--role %s: want trainer-NAME or one of %s, and no --process", role, strings.Join(ctlRoles, ", "))
			}
			if role != "" {
				return ask(c, args[0], []run.Role{run.Role(role)}, "there is no "+role+" at work", run.Message{Type: args[1]})
			}
			return control(c, args[0], process, run.Message{Type: args[1]})
		},
	}
	c.Flags().Uint64Var(&process, "process", 0, "talk to this playing process (chessbrain selfplay --process N) and not to the trainer")
	c.Flags().StringVar(&role, "role", "", "talk to the process of this role: trainer-NAME of the training NAME, "+strings.Join(ctlRoles, ", "))
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

// answersWithin is after how long the wait for an answer is explained; a seam of tests.
var answersWithin = 10 * time.Second

// ask sends a message to the first process of some roles, in their order, that
// listens, and prints the answers as JSON lines. who says that there is none.
func ask(c *cobra.Command, root string, roles []run.Role, who string, m run.Message) error {
	for _, role := range roles {
		owners, err := fsx.Owners(run.Dir{Root: root}.Lock(role))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // no locks: nobody
			return err
		}
		for _, o := range owners {
			if o.Socket == "" {
				continue
			}
			slow := time.AfterFunc(answersWithin, func() {
				tell(c)("process %d has not answered for %v: it is suspended, or in a long step; Ctrl-C ends the wait", o.PID, answersWithin)
			})
			defer slow.Stop()
			return run.Send(c.Context(), o.Socket, m, func(answer run.Message) error {
				slow.Stop()
				return printJSON(c, answer)
			})
		}
	}
	return fmt.Errorf("%s in %s now", who, root)
}

func newDaemon() *cobra.Command {
	s := &session{plan: setup.DryRun}
	plain := false
	c := &cobra.Command{
		Use:   "daemon",
		Short: "Train for another program, in JSON lines on stdin and stdout",
		Long: `Reads messages {"type", "payload"}, a line each, and writes messages of the same form: lczero-training's
protocol and more (docs/LOOP.md). Stdout holds messages only; stderr has log lines.

When stdin closes, or at the first Ctrl-C or SIGTERM, a training under way finishes its step, saves, and the exit
code is 5. With --config FILE it trains at once. Flags win over the files, as with chessbrain train.`,
		Example: `  echo '{"type":"start_training","payload":{"config_filepath":"rl.textproto"}}' \
      > commands
  tail -f commands | chessbrain daemon`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if s.dryRun {
				if err := s.resolve(c); err != nil {
					return err
				}
				return s.check(c.OutOrStdout())
			}
			return runDaemon(c, s, plain)
		},
	}
	s.bind(c, config.TrainGroups)
	c.Flags().BoolVar(&plain, "plain", false, "write nothing but training_status with lczero's fields, for programs that know no other type")
	return c
}

// runDaemon serves stdin until it ends.
func runDaemon(c *cobra.Command, s *session, plain bool) error {
	// Only before the first command is read can this become the GPU program. A fault of
	// the configuration is told when it is to be trained with.
	_ = s.resolve(c)
	ctx, stop := interruptible(c.Context())
	defer stop()
	return daemon.Run(ctx, daemon.Options{In: c.InOrStdin(), Out: data(c), Version: version(), Config: s.file, Plain: plain,
		Log: slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)),
		Prepare: func(file string) (*daemon.Training, error) {
			one := *s // each training has its own file, log and display
			one.stays = true
			one.file = file
			return prepareTraining(c, &one)
		},
	})
}

// prepareTraining checks a configuration and returns the training by it.
func prepareTraining(c *cobra.Command, s *session) (*daemon.Training, error) {
	if err := s.resolve(c); err != nil {
		return nil, err
	}
	if err := s.open(c); err != nil {
		return nil, err
	}
	cfg := s.effective.Config
	return &daemon.Training{RunDir: cfg.GetRunDir(), Steps: cfg.GetTraining().GetSteps(),
		Run: func(ctx context.Context, h daemon.Hooks) (text string, err error) {
			defer func() { err = errors.Join(err, s.close()) }()
			summary, err := train.Train(ctx, train.Options{Training: setup.TrainingOf(s.effective), Command: s.command, Version: version(), Log: s.log,
				Readers: append([]monitor.Sink{h.Sink}, s.readers...), Commands: h.Commands})
			if summary == nil {
				return "", err
			}
			var b strings.Builder
			err = errors.Join(err, summary.Write(&b))
			return b.String(), err
		}}, nil
}
