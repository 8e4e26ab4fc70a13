package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay/importer"
)

// importOptions are the flags of import-pgn.
type importOptions struct {
	importer.Options
	target   string
	drawRate float64
}

// The values of --target.
const (
	targetOneHot    = "one-hot"
	targetAnnotated = "annotated"
)

func newImportPGN() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   "import-pgn FILE.pgn... --out DIR",
		Short: "Make training data of PGN games",
		Long: `Reads PGN games (Chess960 and games from a FEN too; files may be gzipped or packed with bzip2; - is
standard input) and writes them as game files into DIR, for chessbrain train --source dir --source-dir DIR.

The policy target is the move played, the value target the game's result; a game without one teaches moves only.
With --target annotated evaluations in comments become the values of the search (docs/DATA.md). Importing a file
twice, or going on after a stop, adds nothing twice. Games that cannot be read are named and left out, and the exit
code is 3.`,
		Example: `  chessbrain import-pgn masters.pgn.gz --out games --min-elo 2400 --min-plies 20
  zstd -dc lichess.pgn.zst | chessbrain import-pgn - --out games --target annotated`,
		Args: someArgs("name PGN files, or - for standard input"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(c); err != nil {
				return err
			}
			return o.run(c, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Dir, "out", "", "directory for the games; may hold games already")
	f.StringVar(&o.target, "target", targetOneHot, "one-hot: move and result; annotated: evaluations in comments too")
	f.Float64Var(&o.Targets.Smoothing, "label-smoothing", 0, "share of the policy that all legal moves have alike, 0 to less than 1")
	f.Float64Var(&o.Targets.Temperature, "policy-temperature", 1, "T: the smoothed policy becomes p^(1/T), normalised")
	f.Float64Var(&o.drawRate, "draw-rate", 0, "draw probability of an even evaluation, 0 to 1 (default: not known)")
	f.IntVar(&o.MinElo, "min-elo", 0, "leave out games in which WhiteElo or BlackElo is lower or missing")
	f.IntVar(&o.MinPlies, "min-plies", 1, "leave out shorter games")
	f.Int64Var(&o.MaxGames, "max-games", 0, "games that are imported at most; 0 = all")
	f.BoolVar(&o.LC0Chunks, "lc0-chunks", false, "write DIR/lc0/game_<number>.gz too: Leela's V6 records")
	f.BoolVar(&o.Strict, "strict", false, "end at the first bad game")
	bindJSON(c, "print one JSON object")
	return c
}

// check validates the flags and completes the options.
func (o *importOptions) check(c *cobra.Command) error {
	o.Targets.Annotated, o.Targets.DrawRate = o.target == targetAnnotated, math.NaN()
	draws := given(c, "draw-rate") != ""
	if draws {
		o.Targets.DrawRate = o.drawRate
	}
	switch {
	case o.Dir == "":
		return usagef("--out: name a directory for the games")
	case o.target != targetOneHot && o.target != targetAnnotated:
		return usagef("--target %q: want %s or %s", o.target, targetOneHot, targetAnnotated)
	case !(o.Targets.Smoothing >= 0 && o.Targets.Smoothing < 1):
		return usagef("--label-smoothing %v: want 0 to less than 1", o.Targets.Smoothing)
	case !(o.Targets.Temperature >= 0.01 && o.Targets.Temperature <= 100):
		return usagef("--policy-temperature %v: want 0.01 to 100", o.Targets.Temperature)
	case o.Targets.Temperature != 1 && o.Targets.Smoothing == 0:
		return usagef("--policy-temperature: changes nothing in a one-hot policy; give --label-smoothing too")
	case draws && !(o.drawRate >= 0 && o.drawRate <= 1):
		return usagef("--draw-rate %v: want 0 to 1", o.drawRate)
	case draws && o.target != targetAnnotated:
		return usagef("--draw-rate: is for --target annotated")
	case o.LC0Chunks && o.target == targetAnnotated && !draws:
		return usagef("--lc0-chunks --target annotated: Leela's records hold Q only beside D; give --draw-rate")
	case isFile(o.Dir):
		return usagef("--out %s: it is a file; name a directory", o.Dir)
	case o.MinElo < 0 || o.MinPlies < 1 || o.MaxGames < 0:
		return usagef("--min-elo %d, --min-plies %d, --max-games %d: want 0, 1, 0 or more", o.MinElo, o.MinPlies, o.MaxGames)
	}
	return nil
}

// isFile says whether path is there and no directory.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// importReport is what an import came to.
type importReport struct {
	Out string `json:"out"`
	*importer.Report
	Seconds     float64 `json:"seconds"`
	GamesPerSec float64 `json:"games_per_second"` // of those that were read
}

// run imports the files and prints what became of them, also after a stop.
func (o *importOptions) run(c *cobra.Command, files []string) error {
	o.OnBad = func(b importer.Bad) { tell(c)("%v", b) }
	for _, name := range files {
		if name == "-" {
			continue
		}
		if _, err := os.Stat(name); err != nil { // before anything is made
			return pathError(err)
		}
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	began := time.Now()
	im, err := importer.Open(ctx, o.Options)
	if err != nil {
		return pathError(err)
	}
	for _, name := range files {
		if err = importFile(ctx, c, im, name); err != nil || im.Full() {
			break
		}
	}
	err = errors.Join(err, im.Close())
	r := importReport{Out: o.Dir, Report: im.Report(), Seconds: time.Since(began).Seconds()}
	r.GamesPerSec = float64(r.Read) / max(r.Seconds, 1e-9)
	if writeErr := answer(c, &r); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return interruptedf("import interrupted with %s stored, and the same command goes on", monitor.Count(r.Imported, "game"))
	case errors.Is(err, importer.ErrBadGames):
		return corrupt(err)
	case err != nil:
		return err
	}
	if err := r.Err(); err != nil {
		return corrupt(err)
	}
	return nil
}

// importFile imports one file, or standard input.
func importFile(ctx context.Context, c *cobra.Command, im *importer.Importer, name string) error {
	if name == "-" {
		r, err := importer.Unpack(c.InOrStdin())
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		return im.Read(ctx, "standard input", r)
	}
	f, err := importer.OpenFile(name)
	if err != nil {
		return usageError{err}
	}
	defer f.Close()
	return im.Read(ctx, name, f)
}

// Write prints the report as text.
func (r *importReport) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("read", "%s of %s, %.1f s, %.0f games/s", monitor.Count(r.Read, "game"), monitor.Count(r.Files, "file"), r.Seconds, r.GamesPerSec)
	row("imported", "%s, %s -> %s (%s before)", monitor.Count(r.Imported, "game"), monitor.Count(r.Positions, "position"), r.Out, monitor.Count(r.Before, "game"))
	if r.Annotated > 0 {
		row("annotated", "%s", monitor.Count(r.Annotated, "position"))
	}
	row("left out", "%d there already, %d below --min-elo, %d below --min-plies, %d bad", r.Duplicates, r.ShortOfElo, r.ShortOfPlies, r.BadGames)
	if r.NoResult > 0 {
		row("no result", "%d of the imported games: they teach moves only", r.NoResult)
	}
	if r.Imported > 0 {
		row("ends", "%s", record.EndCounts(r.Ends))
	}
	if r.Chunks+r.NoChunk > 0 {
		row("lc0", "%s; none of %s without a result, or beyond the fifty-move rule", monitor.Count(r.Chunks, "chunk"), monitor.Count(r.NoChunk, "game"))
	}
	return w.Flush()
}
