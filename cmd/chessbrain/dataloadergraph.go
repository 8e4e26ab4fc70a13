package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/setup"
)

func newDataloaderGraph() *cobra.Command {
	var path, format, output string
	c := &cobra.Command{
		Use:   "dataloader-graph --config FILE",
		Short: "Draw the loader of a configuration (SVG or dot)",
		Long: `Draws the stages of the section data_loader and the queues between them: what flows,
how much a queue holds, and what happens when it is full. A faulty graph is refused as
it is in training, so this checks it too. Nothing is read but the configuration.

  chessbrain dataloader-graph --config run.textproto --output loader.svg
  chessbrain dataloader-graph --config run.textproto --format dot | dot -Tpng > loader.png`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, _, err := openLoader(c, path)
			if err != nil {
				return err
			}
			defer l.Close()
			text, err := l.Drawing().In(format)
			if err != nil {
				return usagef("--format %w", err)
			}
			if output == "" {
				_, err = io.WriteString(c.OutOrStdout(), text)
				return err
			}
			if err := os.WriteFile(output, []byte(text), 0o644); err != nil {
				return pathError(fmt.Errorf("--output: %w", err))
			}
			return nil
		},
	}
	c.Flags().StringVar(&path, "config", "", "configuration with a data_loader section")
	c.Flags().StringVar(&format, "format", "svg", "svg, dot or json")
	c.Flags().StringVar(&output, "output", "", "file to write; empty = standard output")
	return c
}

// openLoader builds the loader of a configuration file. What programs among its
// rescorers log from warnings on goes to stderr.
func openLoader(c *cobra.Command, path string) (*setup.Loader, *config.Effective, error) {
	if path == "" {
		return nil, nil, usagef("--config is missing; name the file with the data_loader section")
	}
	e, err := config.Resolve(config.Input{Path: path})
	if err != nil {
		return nil, nil, err
	}
	log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	l, err := setup.OpenLoader(c.Context(), e, e.Config.GetRunDir(), log)
	return l, e, err
}
