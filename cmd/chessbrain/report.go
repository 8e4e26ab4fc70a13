package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/loop"
	"github.com/chessbrain/chessbrain/monitor"
	"github.com/chessbrain/chessbrain/monitor/report"
)

func newReport() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Plot a run's losses and games (SVG and PNG) and sum it up",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir, _, err := loop.OpenDir(runArg(args))
			if err != nil {
				return usageError{err}
			}
			if output == "" {
				output = filepath.Join(dir.Root, "report")
			}
			return writeReport(c, dir.Metrics, output)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "directory for the plots (default: report in the run directory)")
	return c
}

// writeReport makes the report of a metrics directory and prints its summary.
func writeReport(c *cobra.Command, metrics, output string) error {
	data, err := report.Read(filepath.Join(metrics, monitor.MetricsName))
	if err != nil {
		return err
	}
	files, err := report.Write(data, output)
	if err != nil {
		return err
	}
	fmt.Fprint(c.OutOrStdout(), report.Summary(data))
	for _, f := range files {
		fmt.Fprintln(c.OutOrStdout(), f)
	}
	return nil
}
