package retain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Options say what is kept of which run.
type Options struct {
	Root    string
	Keep    setup.Retention
	DryRun  bool             // only say what would be removed
	Command string           // for the lock
	Log     *slog.Logger     // told what is removed; nil = nobody
	Now     func() time.Time // nil = time.Now
}

// Apply removes from the run at root what its configuration does not keep, and
// tells log. Where another process is doing that it leaves it to that one.
func Apply(ctx context.Context, root string, keep setup.Retention, log *slog.Logger) error {
	_, err := Run(ctx, Options{Root: root, Keep: keep, Command: "retention", Log: log})
	if held, ok := errors.AsType[*fsx.LockedError](err); ok {
		log.Info("retention is left to another process", "lock", held)
		return nil
	}
	return err
}

// Run removes what is not kept and reports it. A run at work may be treated so. One
// process at a time: *fsx.LockedError.
func Run(ctx context.Context, opt Options) (_ *Report, err error) {
	dir, info, err := setup.OpenDir(opt.Root)
	if err != nil {
		return nil, err
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	g := &collector{ctx: ctx, opt: opt, dir: dir, job: info.Job, report: Report{Root: opt.Root, DryRun: opt.DryRun}}
	if g.fallBack, err = setup.KeptCheckpoints(dir); err != nil {
		return nil, fmt.Errorf("read the run's configuration: %w", err)
	}
	if !opt.DryRun {
		if g.process, err = run.Open(ctx, dir, run.Collector, run.Options{Command: opt.Command, Log: opt.Log}); err != nil {
			return nil, err
		}
		defer func() { err = cmp.Or(err, g.process.Close(nil)) }()
	}
	err = g.collect()
	g.tell(err)
	return &g.report, err
}

// collector is retention at work.
type collector struct {
	ctx     context.Context
	opt     Options
	dir     run.Dir
	job     string
	process *run.Process // nil = a dry run
	report  Report

	fallBack int // how many of the newest checkpoints a start may take

	shuffles []shuffleDir      // finished ones, oldest first
	games    []gameFile        // oldest first
	needed   map[[16]byte]bool // games that something refers to; nil = not looked for yet
}

// inRun are the names of a run's parts below it.
var inRun run.Dir

// collect removes class by class; games and shuffles share a limit of size.
func (g *collector) collect() error {
	for _, step := range []func() error{
		g.finishShuffles, g.findShuffles, g.findGames, g.pruneShuffles, g.pruneGames, g.pruneSize,
		g.pruneRejected, g.pruneModels, g.prunePGNs,
	} {
		if err := g.ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// tell writes what was done into the log.
func (g *collector) tell(err error) {
	r, log := &g.report, g.opt.Log
	if len(r.Removed) > 0 {
		log.Info("retention", "removed", len(r.Removed), "mib", r.Bytes>>20, "dry_run", r.DryRun)
	}
	for _, i := range r.Removed {
		log.Debug("removed", "what", i.Class, "path", i.Path, "bytes", i.Bytes, "why", i.Reason)
	}
	for _, note := range r.Notes {
		log.Debug("retention", "note", note)
	}
	if r.Over > 0 && err == nil {
		gib := math.Round(float64(r.Kept)/(1<<30)*1000) / 1000
		log.Warn("games and shuffles take more than they may, and all that is left is still needed", "gib", gib, "limit_gib", g.opt.Keep.MaxGiB,
			"remedy", "raise loop.retention.max_gib, or make the window smaller (loop.shuffle)")
	}
}

// remove notes that something goes, and lets do do it. Paths are those of the
// run.
func (g *collector) remove(class Class, path string, bytes int64, reason string, do func() error) error {
	if !g.opt.DryRun {
		if err := g.process.Held(); err != nil {
			return err
		}
		if err := do(); err != nil {
			return fmt.Errorf("remove %s: %w", path, err)
		}
	}
	g.report.Removed = append(g.report.Removed, Item{class, g.dir.Shorten(path), bytes, reason})
	g.report.Bytes += bytes
	return nil
}

// note says why something stays that a limit would remove.
func (g *collector) note(format string, args ...any) {
	g.report.Notes = append(g.report.Notes, fmt.Sprintf(format, args...))
}

// pinned says whether a pin holds a path.
func (g *collector) pinned(path string) (bool, error) {
	at, err := prepare.PinnedAt(fsx.OS, path)
	if err == nil && at != "" {
		g.note("%s: pinned by %s", path, at)
	}
	return at != "", err
}

// removeFiles removes those of paths that are files, durably: one thing, named by the
// first, unless that is pinned. The first goes last: where a kill comes in between, the
// next call finds the thing by it.
func (g *collector) removeFiles(class Class, reason string, paths ...string) error {
	var there []string
	bytes := int64(0)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at %s: %w", path, err)
		}
		if err == nil && info.Mode().IsRegular() {
			there, bytes = append(there, path), bytes+info.Size()
		}
	}
	if there == nil {
		return nil
	}
	if pinned, err := g.pinned(there[0]); err != nil || pinned {
		return err
	}
	return g.remove(class, there[0], bytes, reason, func() error {
		for _, path := range slices.Backward(there) {
			if err := fsx.OS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := fsx.SyncDir(fsx.OS, filepath.Dir(path)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Class is a kind of thing that is removed.
type Class string

const (
	ClassShuffle  Class = "shuffle"
	ClassGames    Class = "games"
	ClassRejected Class = "rejected net"
	ClassModel    Class = "accepted net"
	ClassPGN      Class = "match games"
)

// classes in the order of a report.
var classes = []Class{ClassShuffle, ClassGames, ClassRejected, ClassModel, ClassPGN}

// Item is something that was removed, or would be.
type Item struct {
	Class  Class  `json:"class"`
	Path   string `json:"path"` // below the run
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
}

// Report is what retention did.
type Report struct {
	Root    string   `json:"root"`
	DryRun  bool     `json:"dry_run"`
	Removed []Item   `json:"removed"`
	Bytes   int64    `json:"bytes"`      // of what was removed
	Kept    int64    `json:"kept_bytes"` // of games and shuffles, afterwards
	Over    int64    `json:"over_bytes"` // by how much that is above max_gib
	Notes   []string `json:"notes,omitempty"`
}

// Write writes each thing and the sums of each class.
func (r *Report) Write(w io.Writer) error {
	for _, i := range r.Removed {
		fmt.Fprintf(w, "%s  %s  (%d bytes): %s\n", i.Class, i.Path, i.Bytes, i.Reason)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "stays: %s\n", note)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, class := range classes {
		number, bytes := 0, int64(0)
		for _, i := range r.Removed {
			if i.Class == class {
				number, bytes = number+1, bytes+i.Bytes
			}
		}
		if number > 0 {
			fmt.Fprintf(t, "%s\t%d\t%.1f MiB\n", class, number, float64(bytes)/(1<<20))
		}
	}
	verb := "removed"
	if r.DryRun {
		verb = "would be removed (this is a dry run)"
	}
	fmt.Fprintf(t, "%s\t%d\t%.1f MiB\n", verb, len(r.Removed), float64(r.Bytes)/(1<<20))
	fmt.Fprintf(t, "games and shuffles left\t\t%.1f MiB\n", float64(r.Kept)/(1<<20))
	if r.Over > 0 {
		fmt.Fprintf(t, "above the limit, and still needed\t\t%.1f MiB\n", float64(r.Over)/(1<<20))
	}
	return t.Flush()
}
