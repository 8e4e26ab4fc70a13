package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
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
}

func newShuffle() *cobra.Command {
	o := shuffleOptions{Options: shuffle.Options{Settings: shuffle.DefaultSettings()}}
	c := &cobra.Command{
		Use:   "shuffle",
		Short: "Shuffle the newest self-play rows into files to train from",
		Long: `Takes the newest game files until a window is full, keeps a share of their rows, and writes those in an
exactly uniform random order to OUTPUT/<time>/{train,val}/*.rows. The directory appears whole or not at all, and the
same command goes on after a kill. The window grows more slowly than the data (KataGo's formula):

  ` + strings.ReplaceAll(shuffle.FormulaText, "\n", "\n  ") + `

usable = rows of trained nets + min(rows of untrained ones, min-rows). A row is a position with a policy and a
weight above 0. --dry-run shows the formula with the run's numbers, files, memory and disk, and creates nothing.

Exit code ` + fmt.Sprint(shuffle.ExitShort) + `: there are fewer usable rows than --min-rows ("have M rows, need N"); play
more games. 3: a file of an interrupted shuffle is damaged. 5: interrupted.`,
		Example: `  chessbrain shuffle --input-dir runs/a/selfplay --output-dir runs/a/shuffled --keep-target-rows 600000`,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
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
	f.BoolVar(&o.Ahead, "ahead", false, "rows have what auxiliary losses learn: the reply, and what became of the men")
	f.Float64Var(&o.ShortTerm, "st-theta", o.ShortTerm, "theta of the short-term value target, as training.st_theta; 0 = not made")
	f.IntVar(&o.Keep, "keep", 0, "finished shuffles that stay, the newest; older ones are deleted, so leave what a trainer still reads; 0 = all stay")
	f.DurationVar(&o.lockWait, "lock-wait", 0, "wait so long for another shuffler of the run to end; 0 = exit with 2 at once")
	f.BoolVar(&o.dryRun, "dry-run", false, "only say what would be done")
	bindJSON(c, "print one JSON object")
}

func (o *shuffleOptions) run(c *cobra.Command) error {
	if len(o.InputDirs) == 0 {
		return usagef("--input-dir is missing: name a directory with game files, such as runs/a/selfplay")
	}
	for _, dir := range o.InputDirs {
		if o.OutputDir != "" && fsx.SameFile(dir, o.OutputDir) {
			return usagef("--output-dir: %s is a directory of games; name another one", o.OutputDir)
		}
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
		report.Plan, err = shuffle.MakePlan(ctx, o.Options)
	} else if report.Manifest, err = shuffle.Run(ctx, o.Options); err == nil {
		report.Dir = filepath.Join(o.OutputDir, report.Manifest.Plan.Name)
	}
	report.Seconds = time.Since(began).Seconds()
	if short := (*shuffle.ShortError)(nil); errors.As(err, &short) {
		report.Have, report.Need = short.Have, short.Need
	} else if err != nil {
		return err
	}
	if p := report.plan(); p != nil {
		for _, damage := range p.Quarantine {
			fmt.Fprintf(c.ErrOrStderr(), "left out: %s\n", damage)
		}
	}
	return errors.Join(err, answer(c, &report))
}

// shuffleReport is what a shuffle, or the plan of one, came to.
type shuffleReport struct {
	DryRun   bool              `json:"dry_run"`
	Dir      string            `json:"dir,omitempty"`
	Seconds  float64           `json:"seconds"`
	Have     int64             `json:"have_rows,omitempty"` // set where there are not enough
	Need     int64             `json:"need_rows,omitempty"`
	Plan     *shuffle.Plan     `json:"plan,omitempty"`    // of a dry run
	Manifest *shuffle.Manifest `json:"shuffle,omitempty"` // train.json of a shuffle
}

// plan is nil where there were not enough rows for one.
func (r *shuffleReport) plan() *shuffle.Plan {
	if r.Manifest != nil {
		return &r.Manifest.Plan
	}
	return r.Plan
}

// Write prints the report for a person.
func (r *shuffleReport) Write(out io.Writer) error {
	if r.plan() == nil {
		return nil // the error says all
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	r.writePlan(row)
	if m := r.Manifest; m != nil {
		bytes := int64(0)
		for _, f := range slices.Concat(m.Train, m.Val) {
			bytes += f.Bytes
		}
		rows := m.TrainRows + m.HeldRows
		row("written", "%s in %s, %s in %d", monitor.Count(m.TrainRows, "training row"), monitor.Count(len(m.Train), "file"), monitor.Count(m.HeldRows, "validation row"), len(m.Val))
		row("size", "%.1f MiB, %.0f bytes a row", float64(bytes)/(1<<20), float64(bytes)/float64(max(1, rows)))
		row("time", "%.1f s, %.0f rows/s", r.Seconds, float64(rows)/r.Seconds)
		row("shuffle", "%s", r.Dir)
	} else if r.Need == 0 {
		row("nothing is created", "this is a dry run")
	}
	return w.Flush()
}

// writePlan prints the window with the run's numbers.
func (r *shuffleReport) writePlan(row func(name, format string, args ...any)) {
	p := r.plan()
	row("games", "%d in %s, %s, %s", p.Games, monitor.Count(p.Files, "file"), monitor.Count(p.Duplicates, "duplicate"), monitor.Count(len(p.Quarantine), "fault"))
	row("rows", "%d of trained nets, %d of untrained ones: %d usable", p.RealRows, p.RandomRows, p.Usable)
	if r.Need > 0 {
		row("window", "have %d rows, need %d", r.Have, r.Need)
		return
	}
	for k, line := range strings.Split(p.Window.Explain(p.Usable), "\n") {
		row([]string{"formula", ""}[min(k, 1)], "%s", line)
	}
	row("window", "the newest %s: rows %d to %d, %d in all, and %d for validation",
		monitor.Count(len(p.Inputs), "file"), p.Range[0], p.Range[1], p.Used, p.ValRows)
	row("kept", "%.4g of them, about %d and %d", p.KeepShare, p.Expected(p.Used), p.Expected(p.ValRows))
	row("files", "%d for training, %d for validation, of %d buckets each", p.TrainFiles, p.ValFiles, p.BucketsPerFile)
	if r.DryRun {
		const mib = 1 << 20
		row("memory", "%.0f MiB for buckets, and a game file for each thread", float64(p.Memory())/mib)
		row("disk", "%.0f MiB, and as much for scratch files", float64(p.DiskBytes())/mib)
	}
}
