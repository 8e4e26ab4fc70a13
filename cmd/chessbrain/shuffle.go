package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
)

// shuffleOptions are the flags of shuffle.
type shuffleOptions struct {
	shuffle.Options
	split     string
	memoryMiB int64
	lockWait  time.Duration
	dryRun    bool
	json      bool
}

func newShuffle() *cobra.Command {
	o := shuffleOptions{Options: shuffle.Options{Settings: shuffle.DefaultSettings()}}
	c := &cobra.Command{
		Use:   "shuffle",
		Short: "Shuffle the newest self-play rows into files to train from",
		Long: `Takes the newest game files until a window is full, keeps a share of their rows,
and writes those in an exactly uniform random order to
OUTPUT/<time>/{train,val}/*.rows, with the marker train.json. The directory appears
whole or not at all. The same command after a kill finishes what was begun, where
all rows had been spread already; else it begins anew.

The window grows more slowly than the data (KataGo's formula):

` + indent(shuffle.FormulaText) + `

usable = rows of trained nets + min(rows of untrained ones, min-rows); an untrained
net's games are in a directory random or <job>-<training>-s0-d<rows>. A row is a
position with a policy and a weight above 0. Of the window's rows each is kept with
probability min(keep-target-rows, used) / used.

--dry-run shows the formula with the run's numbers, files, memory and disk, and
creates nothing.

Exit code ` + fmt.Sprint(shuffle.ExitShort) + `: there are fewer usable rows than --min-rows ("have M rows, need N"); play
more games. 3: a file of an interrupted shuffle is damaged. 5: interrupted.
Damaged game files are named and left out.`,
		Example: `  chessbrain shuffle --input-dir runs/a/selfplay --output-dir runs/a/shuffled --dry-run
  chessbrain shuffle --input-dir runs/a/selfplay --output-dir runs/a/shuffled --min-rows 100000 --keep-target-rows 600000`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.bind(c)
	return c
}

// bind declares the flags.
func (o *shuffleOptions) bind(c *cobra.Command) {
	f, w := c.Flags(), &o.Window
	f.StringArrayVar(&o.InputDirs, "input-dir", nil, "directory with game files below it; may come several times")
	f.StringVar(&o.OutputDir, "output-dir", "", "directory of the shuffles")
	f.StringVar(&o.ScratchDir, "scratch-dir", "", "for temporary files, as large as the result (default: in the output directory)")
	f.IntVar(&o.Threads, "num-threads", runtime.GOMAXPROCS(0), "threads")
	f.Int64Var(&o.memoryMiB, "memory", 0, "MiB for buckets; 0 = as the number of rows needs it")
	f.Int64Var(&w.MinRows, "min-rows", w.MinRows, "usable rows below which nothing is done; least window")
	f.Int64Var(&w.MaxRows, "max-rows", w.MaxRows, "largest window; 0 = no limit")
	f.Int64Var(&w.KeepRows, "keep-target-rows", w.KeepRows, "rows of the window to keep, about; 0 = all")
	f.Float64Var(&w.Expand, "expand-window-per-row", w.Expand, "rows by which the window grows with each new row, at the beginning")
	f.Float64Var(&w.Exponent, "taper-window-exponent", w.Exponent, "the window grows as this power of the rows; 1 = in proportion")
	f.Int64Var(&w.Scale, "taper-window-scale", w.Scale, "rows at which the taper sets in; 0 = min-rows")
	f.Int64Var(&w.AddToData, "add-to-data-rows", w.AddToData, "rows to count in the formula beside those that are there")
	f.Int64Var(&o.RowsPerFile, "approx-rows-per-file", o.RowsPerFile, "rows of a file, about")
	f.Uint64Var(&o.Seed, "seed", 1, "the same seed and games give the same files")
	f.StringVar(&o.split, "split", string(o.Split), "what decides who is for validation: game (its id, as training from games does) or file (MD5 of its base name, as KataGo)")
	f.Float64Var(&o.Validation, "validation-share", o.Validation, "share of the games, or files, for validation")
	f.Float64Var(&o.ShortTerm, "st-theta", o.ShortTerm, "theta of the short-term value target, as training.st_theta; 0 = not made")
	f.IntVar(&o.Keep, "keep", 0, "finished shuffles that stay, the newest; older ones are deleted, so leave what a trainer still reads; 0 = all stay")
	f.DurationVar(&o.lockWait, "lock-wait", 0, "wait so long for another shuffler of the run to end; 0 = exit with 2 at once")
	f.BoolVar(&o.dryRun, "dry-run", false, "only say what would be done")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
}

func (o *shuffleOptions) run(c *cobra.Command) error {
	if len(o.InputDirs) == 0 {
		return usagef("--input-dir is missing: name a directory with game files, such as runs/a/selfplay")
	}
	if o.OutputDir == "" {
		return usagef("--output-dir is missing: name the directory of the shuffles, such as runs/a/shuffled")
	}
	o.Options.Split = shuffle.SplitBy(o.split)
	if o.memoryMiB < 0 || o.memoryMiB > 1<<30 {
		return usagef("--memory %d: want 0 to %d MiB", o.memoryMiB, 1<<30)
	}
	o.Memory = o.memoryMiB << 20
	if err := o.Validate(); err != nil {
		return usagef("%w", err)
	}
	o.Program, o.Now = "chessbrain "+version(), time.Now()
	o.Report = func(line string) { fmt.Fprintln(c.ErrOrStderr(), line) }
	ctx, stop := interruptible(c.Context())
	defer stop()
	release, err := o.lock(ctx, c)
	if err == nil {
		err = errors.Join(o.do(ctx, c), release())
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return interruptedf("shuffle interrupted; nothing half done is visible, and the same command goes on")
	}
	return pathError(err)
}

// lock takes the role of the run's shuffler: there is one at a time. An output
// directory without locks/ beside it belongs to no run.
func (o *shuffleOptions) lock(ctx context.Context, c *cobra.Command) (release func() error, err error) {
	dir, err := filepath.Abs(o.OutputDir) // of ".", too
	if err != nil {
		return nil, fmt.Errorf("--output-dir: %w", err)
	}
	in := run.Dir{Root: filepath.Dir(dir)}
	if info, err := os.Stat(in.Locks()); o.dryRun || err != nil || !info.IsDir() {
		return func() error { return nil }, nil
	}
	l, err := fsx.AcquireWithin(ctx, in.Lock(shuffle.Role), fsx.LockOptions{Command: c.CommandPath()}, o.lockWait)
	if err != nil {
		return nil, err
	}
	return l.Release, nil
}

// do shuffles or plans, and prints what it came to.
func (o *shuffleOptions) do(ctx context.Context, c *cobra.Command) error {
	report, began := shuffleReport{DryRun: o.dryRun}, time.Now()
	var err error
	if o.dryRun {
		report.plan, err = shuffle.MakePlan(ctx, o.Options)
	} else if report.manifest, err = shuffle.Run(ctx, o.Options); err == nil {
		report.plan = &report.manifest.Plan
		report.Dir = filepath.Join(o.OutputDir, report.plan.Name)
	}
	report.Seconds = time.Since(began).Seconds()
	if short := (*shuffle.ShortError)(nil); errors.As(err, &short) {
		report.Have, report.Need = short.Have, short.Need
	} else if err != nil {
		return err
	}
	if report.plan != nil {
		for _, damage := range report.plan.Quarantine {
			fmt.Fprintf(c.ErrOrStderr(), "left out: %s\n", damage)
		}
	}
	return errors.Join(err, report.write(c.OutOrStdout(), o.json))
}
