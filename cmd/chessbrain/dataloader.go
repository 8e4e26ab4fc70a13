package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/run/setup"
)

// loaderTest are the flags of test-dataloader.
type loaderTest struct {
	loader.Trial
	config string
}

func newTestDataloader() *cobra.Command {
	t := &loaderTest{}
	c := &cobra.Command{
		Use:   "test-dataloader --config FILE",
		Short: "Run the loader of a configuration without training and count",
		Long: `Runs the stages of the section data_loader, takes some batches, and prints how fast they came and what each
stage and queue counted. A queue that is always full waits for the stage behind it, one that is always empty for the
stage before it. Files and chunks that cannot be used are listed; they make the exit code 3.`,
		Args: noArgs,
		RunE: stoppable(t.run),
	}
	f := c.Flags()
	f.StringVar(&t.config, "config", "", "configuration with a data_loader section")
	f.StringVar(&t.Output, "output", "", "output to read; empty = the first")
	f.IntVar(&t.Batches, "batches", 100, "batches to take, at least 1")
	f.IntVar(&t.Rows, "rows", 0, "rows of a batch; 0 = training.batch_size")
	bindJSON(c, "one JSON object")
	return c
}

// run takes the batches and prints what came of it.
func (t *loaderTest) run(c *cobra.Command, _ []string) error {
	if t.Batches < 1 || t.Rows < 0 || t.Rows > 1<<16 {
		return usagef("--batches %d --rows %d: want at least 1 batch, and 0 to 65536 rows", t.Batches, t.Rows)
	}
	l, e, err := openLoader(c, t.config)
	if err != nil {
		return err
	}
	defer l.Close()
	t.Rows = cmp.Or(t.Rows, int(e.Config.GetTraining().GetBatchSize()))
	if t.Output == "" {
		t.Output = e.Config.GetDataLoader().GetOutput()[0]
	}
	source, err := l.Output(t.Output)
	if err != nil {
		return usageError{fmt.Errorf("--output: %w", err)}
	}
	t.Tell = tell(c)
	r, err := t.Take(c.Context(), l.Loader, source)
	if err != nil {
		return err
	}
	if err = answer(c, r); err == nil && r.Stats.Quarantined > 0 {
		err = corruptf("%d files or chunks cannot be used; they are listed above: repair or remove them", r.Stats.Quarantined)
	}
	return err
}

func newDataloaderGraph() *cobra.Command {
	var path, format, output string
	c := &cobra.Command{
		Use:   "dataloader-graph --config FILE",
		Short: "Draw the loader of a configuration (SVG or dot)",
		Long: `Draws the stages of the section data_loader and the queues between them: what flows, how much a queue
holds, and what happens when it is full. A faulty graph is refused as it is in training, so this checks it too.`,
		Example: `  chessbrain dataloader-graph --config run.textproto --format dot | dot -Tpng > loader.png`,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := notRead("output", output, path); err != nil {
				return err
			}
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
				_, err = io.WriteString(data(c), text)
				return err
			}
			err = fsx.WriteNamed(output, func(w io.Writer) error {
				_, err := io.WriteString(w, text)
				return err
			})
			if err != nil {
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
	l, err := setup.OpenLoader(c.Context(), e, e.Config.GetRunDir(), warnings(c))
	return l, e, err
}
