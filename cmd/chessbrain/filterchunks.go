package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/record"
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
	f.StringSliceVar(&o.ends, "end", nil, "only games that ended so: "+strings.Join(endNames(), ", "))
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

// endNames lists the reasons for which a game may end.
func endNames() (names []string) {
	for e := record.EndUnknown; e < record.EndAborted; e++ {
		names = append(names, e.String())
	}
	return names
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
	for _, name := range o.results {
		i := slices.Index([]string{"black", "draw", "white"}, name)
		if i < 0 {
			return usagef("--result %q: want white, draw or black", name)
		}
		o.Results = append(o.Results, int8(i-1))
	}
	for _, name := range o.ends {
		i := slices.Index(endNames(), name)
		if i < 0 {
			return usagef("--end %q: want one of %s", name, strings.Join(endNames(), ", "))
		}
		o.Ends = append(o.Ends, record.EndReason(i))
	}
	for _, v := range o.versions {
		if v > 7 || lc0.RecordSize(uint32(v)) == 0 {
			return usagef("--version %d: want 3 to 7", v)
		}
		o.Versions = append(o.Versions, uint32(v))
	}
	for _, v := range o.formats {
		if v > 255 || !slices.Contains(lc0.InputFormats(), uint32(v)) {
			return usagef("--input-format %d: want one of %v", v, lc0.InputFormats())
		}
		o.Formats = append(o.Formats, uint32(v))
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
	out := c.OutOrStdout()
	if o.json {
		err = json.NewEncoder(out).Encode(r)
	} else {
		where := "would be copied"
		if o.Out != "" {
			where = "copied to " + o.Out
		}
		fmt.Fprintf(out, "%s read, %d %s\n", monitor.Count(r.Read, "chunk"), r.Copied, where)
		for _, name := range slices.Sorted(maps.Keys(r.Failed)) {
			fmt.Fprintf(out, "%d not: %s\n", r.Failed[name], name)
		}
	}
	return errors.Join(err, reportProblems(c, problems))
}
