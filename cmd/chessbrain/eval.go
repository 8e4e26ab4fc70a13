package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run/tools"
)

// evalOptions are the flags of eval.
type evalOptions struct {
	subject   subjectFlags
	data      string
	batches   int
	batchSize int
	dump      string
	dumpFile  string
}

func newEval() *cobra.Command {
	var o evalOptions
	c := &cobra.Command{
		Use:   "eval --run-dir RUN | --checkpoint DIR | --net NET [--data DATA]",
		Short: "Measure the configured losses of a net on given rows, or dump them",
		Long: `Measures the losses of the configuration as training logs them (means over rows, weighted as the rows are).
Without --data it takes the games that the run held out at that checkpoint. Batches lie evenly spread over the rows;
a loader needs --batches.

--dump writes what went in, what was wanted and what the net says of each row: text for reading, json (an object a
line), or npz (numpy: inputs [N,112,8,8], policy_target [N,1858] with -1 where a move is not legal, value_targets
[N,6,3] = Q, D, M of result, root, best, played, orig, st, weight, and the net's policy, wdl, moves_left).`,
		Example: `  chessbrain eval --net se32x2.pb.gz --data training-1.tar --batches 4 --dump npz --dump-file rows.npz`,
		Args:    noArgs,
		RunE:    stoppable(o.run),
	}
	o.subject.bind(c, "checkpoint", "weights", "run-dir", "net", "config")
	f := c.Flags()
	f.StringVar(&o.data, "data", tools.Validation, "validation (held out by the run), "+dataHelp)
	f.IntVar(&o.batches, "batches", 0, "batches to measure; 0 = all rows")
	f.IntVar(&o.batchSize, "batch-size", 0, "rows of a batch; 0 = training.batch_size")
	bindJSON(c, "one JSON object")
	f.StringVar(&o.dump, "dump", "", "dump the rows: "+strings.Join(tools.DumpFormats, ", "))
	f.StringVar(&o.dumpFile, "dump-file", "", "file for the dump")
	return c
}

// validate refuses what cannot be, before anything is read.
func (o *evalOptions) validate() error {
	switch {
	case o.batches < 0 || o.batches > math.MaxInt32:
		return usagef("--batches %d: want 0 or more", o.batches)
	case o.batchSize < 0 || o.batchSize > 1<<16:
		return usagef("--batch-size %d: want 1 to 65536, or 0 for the configured one", o.batchSize)
	case (o.dump == "") != (o.dumpFile == ""):
		return usagef("--dump %q, --dump-file %q: give both or none", o.dump, o.dumpFile)
	case o.dump != "" && !slices.Contains(tools.DumpFormats, o.dump):
		return usagef("--dump %q: want one of %s", o.dump, strings.Join(tools.DumpFormats, ", "))
	}
	if o.dumpFile != "" {
		return canCreate("dump-file", o.dumpFile)
	}
	return nil
}

func (o *evalOptions) run(c *cobra.Command, _ []string) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	s, rows, err := o.subject.openWith(c, false, o.data)
	if err != nil {
		return err
	}
	defer closeAfter(&err, rows)
	opt := tools.EvalOptions{BatchSize: o.batchSize, Batches: o.batches}
	var dump *tools.Dump
	if o.dump != "" {
		if dump, err = tools.NewDump(c.Context(), s); err != nil {
			return err
		}
		defer closeAfter(&err, dump)
		opt.Keep = dump.Keep
	}
	r, err := tools.Eval(c.Context(), s, rows, opt)
	if err != nil {
		return err
	}
	if dump != nil {
		if err := fsx.WriteFileFunc(fsx.OS, o.dumpFile, func(w io.Writer) error { return dump.Write(w, o.dump) }); err != nil {
			return pathError(fmt.Errorf("--dump-file: %w", err))
		}
	}
	return cmp.Or(answer(c, r), leftOut(rows))
}
