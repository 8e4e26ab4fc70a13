package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/monitor/report"
	"github.com/chessbrain/chessbrain/run/setup"
)

func newReport() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Plot a run's losses and games (SVG and PNG) and sum it up",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir, _, err := setup.OpenDir(runArg(args))
			if err != nil {
				return usageError{err}
			}
			if output == "" {
				output = filepath.Join(dir.Root, reportDir)
			}
			data, files, err := plot(dir.Metrics, output)
			if err != nil {
				return pathError(err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n%s\n", report.Summary(data), strings.Join(files, "\n"))
			return err
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "directory for the plots (default: report in the run directory)")
	return c
}

// reportDir is where the plots of a run lie in it.
const reportDir = "report"

// plot makes the report of a metrics directory; the last file is its text.
func plot(metrics, output string) (*report.Data, []string, error) {
	data, err := report.Read(filepath.Join(metrics, monitor.MetricsName))
	if err != nil {
		return nil, nil, err
	}
	files, err := report.Write(data, output)
	return data, files, err
}
