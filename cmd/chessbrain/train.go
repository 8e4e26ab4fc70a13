package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/config"
	"github.com/chessbrain/chessbrain/loop"
)

func newTrain() *cobra.Command {
	s := &session{plan: loop.DryRun}
	c := &cobra.Command{
		Use:   "train",
		Short: "Play against itself and learn from the games",
		Long: `Plays games of the net against itself and trains it on them, episode after
episode, into the run directory. The same command goes on where the last one
ended; --episodes is a total. The first Ctrl-C finishes the step under way, saves
and exits with 5; a second one ends at once. With --config, SIGHUP reads the file
again and applies its sections plugins and export.

Flags win over environment variables (EPISODES, BATCH_SIZE, ...), those over
--config FILE, that over the defaults.`,
		Example: "  chessbrain train --episodes 200 --producer-workers 8",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := s.resolve(c); err != nil {
				return err
			}
			if s.dryRun {
				return s.check(c.OutOrStdout())
			}
			return train(c, s)
		},
	}
	s.bind(c, config.TrainGroups)
	return c
}

// train runs the loop and prints its summary and report.
func train(c *cobra.Command, s *session) (err error) {
	ctx, stop := interruptible(c.Context())
	defer stop()
	if err := s.open(c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	reload, stopReload := reloads(s.file)
	defer stopReload()
	summary, err := loop.Train(ctx, loop.Options{
		Effective: s.effective, Command: s.command, Version: version(), Log: s.log, Readers: s.readers, Progress: s.progress, Reload: reload,
	})
	if summary == nil {
		return err
	}
	if closeErr := s.progress.Close(); closeErr != nil {
		err = errors.Join(err, closeErr)
	}
	if writeErr := summary.Write(c.OutOrStdout()); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	if err != nil {
		return err
	}
	_, files, err := plot(summary.Metrics, filepath.Join(s.effective.Config.GetRunDir(), reportDir))
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "Report: %s (plots beside it)\n", files[len(files)-1])
	return err
}
