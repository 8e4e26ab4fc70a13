package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/replay/loader"
)

// loaderPatience is how long test-dataloader waits for a batch before it says
// what it waits for.
const loaderPatience = 10 * time.Second

// loaderTest is a run of test-dataloader.
type loaderTest struct {
	config, output string
	batches, rows  int
	json           bool
}

// loaderResult is what test-dataloader found; its JSON form.
type loaderResult struct {
	Output        string       `json:"output"`
	Batches       int          `json:"batches"`
	Rows          int          `json:"rows"`
	Ended         bool         `json:"ended"` // the data ended before the batches were full
	FirstSeconds  float64      `json:"first_seconds"`
	Seconds       float64      `json:"seconds"`         // after the first batch
	RowsPerSecond float64      `json:"rows_per_second"` // after the first batch; 0 = there was no other
	LegalPerRow   float64      `json:"legal_moves_per_row"`
	Stats         loader.Stats `json:"loader"`
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
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return t.run(ctx, c)
		},
	}
	f := c.Flags()
	f.StringVar(&t.config, "config", "", "configuration with a data_loader section")
	f.StringVar(&t.output, "output", "", "output to read; empty = the first")
	f.IntVar(&t.batches, "batches", 100, "batches to take, at least 1")
	f.IntVar(&t.rows, "rows", 0, "rows of a batch; 0 = training.batch_size")
	f.BoolVar(&t.json, "json", false, "one JSON object")
	return c
}

// run takes the batches and prints what came of it.
func (t *loaderTest) run(ctx context.Context, c *cobra.Command) error {
	out := c.OutOrStdout()
	if t.batches < 1 || t.rows < 0 || t.rows > 1<<16 {
		return usagef("--batches %d --rows %d: want at least 1 batch, and 0 to 65536 rows", t.batches, t.rows)
	}
	l, e, err := openLoader(c, t.config)
	if err != nil {
		return err
	}
	defer l.Close()
	if t.rows == 0 {
		t.rows = int(e.Config.GetTraining().GetBatchSize())
	}
	if t.output == "" {
		t.output = e.Config.GetDataLoader().GetOutput()[0]
	}
	source, err := l.Output(t.output)
	if err != nil {
		return usageError{fmt.Errorf("--output: %w", err)}
	}
	r, err := t.take(ctx, source, l.Loader, c.ErrOrStderr())
	if err != nil {
		return err
	}
	if t.json {
		err = json.NewEncoder(out).Encode(r)
	} else {
		err = r.print(out)
	}
	if err == nil && r.Stats.Quarantined > 0 {
		err = corruptf("%d files or chunks cannot be used; they are listed above: repair or remove them", r.Stats.Quarantined)
	}
	return err
}

// take reads batches, and says what it waits for when they do not come.
func (t *loaderTest) take(ctx context.Context, source *loader.Output, l *loader.Loader, errOut io.Writer) (*loaderResult, error) {
	r := &loaderResult{Output: t.output}
	b := encoding.NewTrainBatch(t.rows)
	begin, legal, firstRows := time.Now(), 0, 0
	for r.Batches < t.batches && !r.Ended {
		b.Reset()
		err := t.next(ctx, source, b, l, errOut)
		if errors.Is(err, io.EOF) {
			r.Ended = true
			break
		}
		if err != nil {
			return nil, err
		}
		r.Batches++
		r.Rows += b.N
		legal += len(b.Legal)
		if r.Batches == 1 {
			r.FirstSeconds, firstRows = time.Since(begin).Seconds(), b.N
			begin = time.Now()
		}
	}
	r.Stats = l.Stats()
	if r.Rows > 0 {
		r.LegalPerRow = float64(legal) / float64(r.Rows)
	}
	if r.Batches > 1 {
		r.Seconds = time.Since(begin).Seconds()
		r.RowsPerSecond = float64(r.Rows-firstRows) / max(r.Seconds, 1e-9)
	}
	return r, nil
}

// next fills a batch.
func (t *loaderTest) next(ctx context.Context, source *loader.Output, b *encoding.TrainBatch, l *loader.Loader, errOut io.Writer) error {
	for {
		some, cancel := context.WithTimeout(ctx, loaderPatience)
		err := source.Next(some, b)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		s := l.Stats()
		fmt.Fprintf(errOut, "chessbrain: still waiting: %d of %d rows of this batch, first scan complete: %t, chunks seen: %d, quarantined: %d\n",
			b.N, t.rows, s.ScanDone, s.NewChunks, s.Quarantined)
	}
}

// print writes the result for people.
func (r *loaderResult) print(w io.Writer) error {
	fmt.Fprintf(w, "output %s: %d batches, %d rows, %.1f legal moves a row\n", r.Output, r.Batches, r.Rows, r.LegalPerRow)
	if r.Ended {
		fmt.Fprintln(w, "the data ended")
	}
	fmt.Fprintf(w, "first batch after %.3f s", r.FirstSeconds)
	if r.RowsPerSecond > 0 {
		fmt.Fprintf(w, ", then %.0f rows/s", r.RowsPerSecond)
	}
	fmt.Fprintf(w, "\n\n%-24s %-9s %10s %10s %10s %7s\n", "queue", "of", "put", "got", "dropped", "length")
	for _, s := range r.Stats.Stages {
		for _, o := range s.Outputs {
			fmt.Fprintf(w, "%-24s %-9s %10d %10d %10d %3d/%-3d\n", o.Name, o.Type, o.Puts, o.Gets, o.Drops, o.Length, o.Capacity)
		}
	}
	fmt.Fprintln(w)
	for _, s := range r.Stats.Stages {
		var counters []string
		for _, c := range s.Counters {
			counters = append(counters, c.Name+" "+strconv.FormatFloat(c.Value, 'f', -1, 64))
		}
		fmt.Fprintf(w, "%s (%s): %s\n", s.Name, s.Kind, orNothing(strings.Join(counters, ", ")))
	}
	for _, q := range r.Stats.Quarantine {
		fmt.Fprintf(w, "cannot be used: %s: %s\n", q.Name, q.Error)
	}
	return nil
}

func orNothing(s string) string {
	if s == "" {
		return "no counters"
	}
	return s
}
