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
	s := &session{}
	c := &cobra.Command{
		Use:   "train",
		Short: "Play against itself and learn from the games",
		Long: `Plays games of the net against itself and trains it on them, episode after
episode, into the run directory. The same command goes on where the last one
ended; --episodes is a total. The first Ctrl-C finishes the step under way, saves
and exits with 5; a second one ends at once.

Flags win over environment variables (EPISODES, BATCH_SIZE, ...), those over
--config FILE, that over the defaults.`,
		Example: "  chessbrain train --episodes 200 --producer-workers 8",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := s.resolve(c); err != nil {
				return err
			}
			if err := loop.CheckDevices(s.effective); err != nil {
				return err
			}
			if s.dryRun {
				return loop.DryRun(s.effective, c.OutOrStdout())
			}
			return train(c, s)
		},
	}
	s.bind(c, config.TrainGroups)
	return c
}

// train runs the loop and prints its summary and report.
func train(c *cobra.Command, s *session) (err error) {
	if err := loop.CheckRunDir(s.effective); err != nil {
		return err
	}
	if err := s.open(c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	readers, err := s.serveMetrics()
	if err != nil {
		return err
	}
	summary, err := loop.Train(c.Context(), loop.Options{
		Effective: s.effective, Command: s.command, Version: version(), Log: s.log, Readers: readers, Progress: s.progress,
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
	output := filepath.Join(s.effective.Config.GetRunDir(), "report")
	if err := writeReport(c, summary.Metrics, output); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
