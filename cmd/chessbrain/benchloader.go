package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/bench"
)

func newBenchLoader() *cobra.Command {
	var o bench.LoaderOptions
	var profile string
	var asJSON bool
	c := &cobra.Command{
		Use: "loader", Short: "Measure the staged loader: positions as training batches", Args: noArgs,
		Long: `Measures the loader's stages from files to training batches, one goroutine a stage.

rl: hanse sampling over the window, one position of each accepted chunk, so that all
positions come equally often. Chunks are transcoded when they come; nothing is inflated
or decoded after that but the position that is wanted.
sl: all positions of all chunks in random order, mixed in a reservoir: from
chunks that were transcoded in the first pass, and straight from the files.

Without --dir it makes --games games of 80 to 160 plies of random legal play with
plausible policies, as our own chunk files and as tars of Leela's V6 chunks, in a
temporary directory. Rates are positions per CPU-second of the whole process (getrusage:
all goroutines, queues and garbage collection), medians of 5 windows; beside them the
same with each position's 112 planes written as float32.`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if err := o.Validate(); err != nil {
				return asUsage(err)
			}
			if profile != "" {
				stop, failed := startCPUProfile(profile)
				if failed != nil {
					return pathError(failed)
				}
				defer func() { err = errors.Join(err, stop()) }()
			}
			results, err := bench.Loader(c.Context(), o)
			if err != nil {
				return asUsage(err)
			}
			return printLoader(c.OutOrStdout(), results, asJSON)
		},
	}
	c.Flags().StringVar(&o.Mode, "mode", bench.LoaderRL, "rl or sl")
	c.Flags().IntVar(&o.Games, "games", 1000, fmt.Sprintf("to make, 1 to %d", bench.MaxLoaderGames))
	c.Flags().StringVar(&o.Dir, "dir", "", "of chunk files (.games, .gz, .tar) to read in place of games that are made")
	c.Flags().IntVar(&o.StoreMiB, "store-mib", 4096, "memory for transcoded chunks")
	c.Flags().IntVar(&o.Frames, "reservoir", 65536, "positions that sl holds to mix them")
	c.Flags().DurationVar(&o.Duration, "duration", 4*time.Second, "CPU time of each measurement, about")
	c.Flags().StringVar(&profile, "cpu-profile", "", "write a CPU profile of all of it there (for go tool pprof)")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line for each measurement")
	return c
}

// printLoader prints the results.
func printLoader(w io.Writer, results []bench.LoaderResult, asJSON bool) error {
	for i := range results {
		r := &results[i]
		if asJSON {
			if err := json.NewEncoder(w).Encode(r); err != nil {
				return err
			}
			continue
		}
		from := "read each time"
		if r.Source == "store" {
			from = "transcoded once"
		}
		fmt.Fprintf(w, "%s from %s, %s: %d chunks of %.1f positions\n", r.Mode, r.Files, from, r.Chunks, r.PliesPerChunk)
		fmt.Fprintf(w, "  positions %12.0f per %s-second (%.0f to %.0f); %.0f with float32 planes\n",
			r.RowsPerCPUSecond, r.Clock, r.SlowestWindow, r.FastestWindow, r.PlanesPerSecond)
		if r.StoreBytes > 0 {
			fmt.Fprintf(w, "  store     %12.0f bytes a position; filled at %.0f positions per %s-second\n", r.StoreBytes, r.StartRate, r.Clock)
		}
		if r.ReservoirBytes > 0 {
			fmt.Fprintf(w, "  reservoir %12.0f bytes a position\n", r.ReservoirBytes)
		}
		fmt.Fprintf(w, "  heap      %12.0f bytes for each position held\n", r.HeapBytes)
		if r.Quarantined > 0 {
			fmt.Fprintf(w, "  quarantined %10d files or chunks: see test-dataloader\n", r.Quarantined)
		}
	}
	return nil
}
