package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/daemon"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

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
		Example: `  echo '{"type":"start_training","payload":{"config_filepath":"configs/rl.textproto"}}' > commands
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
	defer keepWithoutReader()()
	return daemon.Run(ctx, daemon.Options{In: c.InOrStdin(), Out: c.OutOrStdout(), Version: version(), Config: s.file, Plain: plain,
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

// keepWithoutReader lets a write to a closed stdout fail: without it the signal
// for that would end the process before its state is saved.
func keepWithoutReader() (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}
