package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

func newBenchLoader() *cobra.Command {
	var o bench.LoaderOptions
	var profile string
	c := &cobra.Command{
		Use: "loader", Short: "Measure the staged loader: positions as training batches", Args: noArgs,
		Long: `Measures the loader's stages from files to training batches, one goroutine a stage. rl is hanse sampling
over the window, one position of each accepted chunk; sl is all positions of all chunks in random order, from chunks
that were transcoded in the first pass, and straight from the files. Without --dir it makes games of random legal
play.

Rates are positions per CPU-second of the whole process, medians of 5 windows; beside them the same with each
position's 112 planes written as float32.`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if err := o.Validate(); err != nil {
				return asUsage(err)
			}
			if profile != "" {
				stop, failed := monitor.CPUProfile(profile)
				if failed != nil {
					return pathError(failed)
				}
				defer func() { err = errors.Join(err, stop()) }()
			}
			results, err := bench.Loader(c.Context(), o)
			if err != nil {
				return asUsage(err)
			}
			for i := range results {
				if err := answer(c, &results[i]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&o.Mode, "mode", bench.LoaderRL, "rl or sl")
	c.Flags().IntVar(&o.Games, "games", 1000, fmt.Sprintf("to make, 1 to %d", bench.MaxLoaderGames))
	c.Flags().StringVar(&o.Dir, "dir", "", "of chunk files (.games, .gz, .tar) to read in place of games that are made")
	c.Flags().IntVar(&o.StoreMiB, "store-mib", 4096, "memory for transcoded chunks")
	c.Flags().IntVar(&o.Frames, "reservoir", 65536, "positions that sl holds to mix them")
	c.Flags().DurationVar(&o.Duration, "duration", 4*time.Second, "CPU time of each measurement, about")
	c.Flags().StringVar(&profile, "cpu-profile", "", "write a CPU profile of all of it there (for go tool pprof)")
	bindJSON(c, "one JSON object a line for each measurement")
	return c
}
