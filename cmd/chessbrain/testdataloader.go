package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/replay/loader"
)

// loaderTest are the flags of test-dataloader.
type loaderTest struct {
	loader.Trial
	config string
	json   bool
}

func newTestDataloader() *cobra.Command {
	t := &loaderTest{}
	c := &cobra.Command{
		Use:   "test-dataloader --config FILE",
		Short: "Run the loader of a configuration without training and count",
		Long: `Runs the stages of the section data_loader, takes some batches, and prints how fast they
came and what each stage and queue counted. A queue that is always full waits for the
stage behind it, one that is always empty for the stage before it. Files and chunks
that cannot be used are listed; they make the exit code 3.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := stoppable(c)
			defer stop()
			return t.run(ctx, c)
		},
	}
	f := c.Flags()
	f.StringVar(&t.config, "config", "", "configuration with a data_loader section")
	f.StringVar(&t.Output, "output", "", "output to read; empty = the first")
	f.IntVar(&t.Batches, "batches", 100, "batches to take, at least 1")
	f.IntVar(&t.Rows, "rows", 0, "rows of a batch; 0 = training.batch_size")
	f.BoolVar(&t.json, "json", false, "one JSON object")
	return c
}

// run takes the batches and prints what came of it.
func (t *loaderTest) run(ctx context.Context, c *cobra.Command) error {
	if t.Batches < 1 || t.Rows < 0 || t.Rows > 1<<16 {
		return usagef("--batches %d --rows %d: want at least 1 batch, and 0 to 65536 rows", t.Batches, t.Rows)
	}
	l, e, err := openLoader(c, t.config)
	if err != nil {
		return err
	}
	defer l.Close()
	if t.Rows == 0 {
		t.Rows = int(e.Config.GetTraining().GetBatchSize())
	}
	if t.Output == "" {
		t.Output = e.Config.GetDataLoader().GetOutput()[0]
	}
	source, err := l.Output(t.Output)
	if err != nil {
		return usageError{fmt.Errorf("--output: %w", err)}
	}
	t.Tell = tell(c)
	r, err := t.Take(ctx, l.Loader, source)
	if err != nil {
		return err
	}
	if err = answer(c, t.json, r); err == nil && r.Stats.Quarantined > 0 {
		err = corruptf("%d files or chunks cannot be used; they are listed above: repair or remove them", r.Stats.Quarantined)
	}
	return err
}
