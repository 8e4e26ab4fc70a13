package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

func newTrain() *cobra.Command {
	s := &session{plan: setup.DryRun, rereads: true}
	var lockWait time.Duration
	c := &cobra.Command{
		Use:   "train",
		Short: "Play against itself and learn from the games",
		Long: `Plays games of the net against itself and trains it on them, episode after episode, into the run directory.
The same command goes on where the last one ended; --episodes is a total. The first Ctrl-C finishes the step under
way, saves and exits with 5; a second one ends at once. With --source dir, shuffled or loader it only trains, on
what others played.

Flags win over environment variables (EPISODES, BATCH_SIZE, ...), those over --config FILE, that over the defaults.`,
		Example: "  chessbrain train --episodes 200 --producer-workers 8\n\n" +
			"  chessbrain train --run-dir runs/a --source shuffled --samples-per-epoch 100000 --export-mode main",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if lockWait < 0 {
				return usagef("--lock-wait %v: want 0 or more", lockWait)
			}
			return trainAndReport(c, s, lockWait)
		},
	}
	s.bind(c, config.TrainGroups)
	c.Flags().DurationVar(&lockWait, "lock-wait", 0, "wait so long for another process that holds the run or this training; 0 = exit with 2 at once")
	return c
}

// trainAndReport runs the loop and prints its summary and report.
func trainAndReport(c *cobra.Command, s *session, lockWait time.Duration) error {
	var metrics string
	s.after = func() error {
		_, files, err := plot(metrics, filepath.Join(s.effective.Config.GetRunDir(), reportDir))
		if err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "Report: %s (plots beside it)\n", files[len(files)-1])
		return err
	}
	return perform(c, s, func(ctx context.Context) (*train.Summary, error) {
		done, err := train.Train(ctx, train.Options{
			Training: setup.TrainingOf(s.effective), Command: s.command, Version: version(), Log: s.log, Readers: s.readers, Progress: s.progress, Reload: s.reload,
			LockWait: lockWait,
		})
		if done != nil {
			metrics = done.Metrics
		}
		return done, err
	})
}
