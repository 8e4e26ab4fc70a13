package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/chunks"
)

// filterOptions are the flags of filter-chunks.
type filterOptions struct {
	chunks.Filter
	chunks.CopyOptions
	results  []string
	ends     []string
	versions []uint
	formats  []uint
	dryRun   bool
	json     bool
}

func newFilterChunks() *cobra.Command {
	var o filterOptions
	c := &cobra.Command{
		Use:   "filter-chunks FILE|DIR... --out DIR|FILE.tar",
		Short: "Copy the Leela chunks that pass conditions",
		Long: `Copies chunks (*.gz, and members of *.tar, in files or directories) that pass all the
conditions given, byte for byte. --out is a directory, where a chunk keeps its name
and those of a tar go below the tar's name, or a file *.tar. Nothing is written over.
What is damaged is named and left out, and the exit code is 3.`,
		Example: `  chessbrain filter-chunks training-1.tar --out decided --result white,black --min-plies 20
  chessbrain filter-chunks chunks --out old.tar --version 3,4,5 --json`,
		Args: someFiles,
		RunE: o.run,
	}
	f := c.Flags()
	f.StringVar(&o.Out, "out", "", "directory, or file *.tar, for the copies")
	f.StringSliceVar(&o.results, "result", nil, "only these results: white, draw, black")
	f.StringSliceVar(&o.ends, "end", nil, "only games that ended so: "+strings.Join(chunks.EndNames(), ", "))
	f.IntVar(&o.MinPlies, "min-plies", 0, "only games of so many plies or more")
	f.IntVar(&o.MaxPlies, "max-plies", 0, "only games of so many plies or fewer; 0 = no limit")
	f.IntVar(&o.MinPositions, "min-positions", 0, "only chunks of so many positions to train on or more")
	f.UintSliceVar(&o.versions, "version", nil, "only records of these versions: 3 to 7")
	f.UintSliceVar(&o.formats, "input-format", nil, "only these input formats: 1 to 5, 132, 133")
	f.BoolVar(&o.StartOnly, "startpos", false, "only games from the standard start position")
	f.BoolVar(&o.Distinct, "distinct", false, "of equal games only the first")
	f.IntVar(&o.Limit, "limit", 0, "stop after so many copies; 0 = no limit")
	f.BoolVar(&o.dryRun, "dry-run", false, "count what would be copied, write nothing")
	f.BoolVar(&o.json, "json", false, "one JSON object")
	return c
}

// check validates the flags and completes the filter.
func (o *filterOptions) check() error {
	if (o.Out == "") != o.dryRun {
		return usagef("--out: name a directory or a file *.tar for the copies, or give --dry-run instead")
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"min-plies", o.MinPlies}, {"max-plies", o.MaxPlies}, {"min-positions", o.MinPositions}, {"limit", o.Limit}} {
		if f.value < 0 {
			return usagef("--%s %d: want 0 or more", f.name, f.value)
		}
	}
	if err := o.Filter.Parse(o.results, o.ends, o.versions, o.formats); err != nil {
		return usageError{err}
	}
	return nil
}

func (o *filterOptions) run(c *cobra.Command, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	r, problems, err := chunks.Copy(c.Context(), fsx.OS, args, &o.Filter, o.CopyOptions)
	if err != nil {
		return errors.Join(inputError(err), reportProblems(c, problems))
	}
	err = answerf(c, o.json, r, "%s read, %s", monitor.Count(r.Read, "chunk"), r.Text())
	return errors.Join(err, reportProblems(c, problems))
}
