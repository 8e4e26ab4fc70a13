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
	out         string
	target      string
	smoothing   float64
	temperature float64
	drawRate    float64
	minElo      int
	minPlies    int
	maxGames    int64
	lc0Chunks   bool
	strict      bool
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
			opt, err := o.importer(c)
			if err != nil {
				return err
			}
			return o.run(c, opt, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "", "directory for the games; may hold games already")
	f.StringVar(&o.target, "target", targetOneHot, "one-hot: move and result; annotated: evaluations in comments too")
	f.Float64Var(&o.smoothing, "label-smoothing", 0, "share of the policy that all legal moves have alike, 0 to less than 1")
	f.Float64Var(&o.temperature, "policy-temperature", 1, "T: the smoothed policy becomes p^(1/T), normalised")
	f.Float64Var(&o.drawRate, "draw-rate", 0, "draw probability of an even evaluation, 0 to 1 (default: not known)")
	f.IntVar(&o.minElo, "min-elo", 0, "leave out games in which WhiteElo or BlackElo is lower or missing")
	f.IntVar(&o.minPlies, "min-plies", 1, "leave out shorter games")
	f.Int64Var(&o.maxGames, "max-games", 0, "games that are imported at most; 0 = all")
	f.BoolVar(&o.lc0Chunks, "lc0-chunks", false, "write DIR/lc0/game_<number>.gz too: Leela's V6 records")
	f.BoolVar(&o.strict, "strict", false, "end at the first bad game")
	bindJSON(c, "print one JSON object")
	return c
}

// importer checks the flags.
func (o *importOptions) importer(c *cobra.Command) (importer.Options, error) {
	opt := importer.Options{Dir: o.out, MinElo: o.minElo, MinPlies: o.minPlies, MaxGames: o.maxGames, LC0Chunks: o.lc0Chunks, Strict: o.strict}
	opt.Targets = importer.Targets{Annotated: o.target == targetAnnotated, DrawRate: math.NaN(), Smoothing: o.smoothing, Temperature: o.temperature}
	draws := c.Flags().Changed("draw-rate")
	if draws {
		opt.Targets.DrawRate = o.drawRate
	}
	switch {
	case o.out == "":
		return opt, usagef("--out: name a directory for the games")
	case o.target != targetOneHot && o.target != targetAnnotated:
		return opt, usagef("--target %q: want %s or %s", o.target, targetOneHot, targetAnnotated)
	case !(o.smoothing >= 0 && o.smoothing < 1):
		return opt, usagef("--label-smoothing %v: want 0 to less than 1", o.smoothing)
	case !(o.temperature >= 0.01 && o.temperature <= 100):
		return opt, usagef("--policy-temperature %v: want 0.01 to 100", o.temperature)
	case o.temperature != 1 && o.smoothing == 0:
		return opt, usagef("--policy-temperature: changes nothing in a one-hot policy; give --label-smoothing too")
	case draws && !(o.drawRate >= 0 && o.drawRate <= 1):
		return opt, usagef("--draw-rate %v: want 0 to 1", o.drawRate)
	case draws && o.target != targetAnnotated:
		return opt, usagef("--draw-rate: is for --target annotated")
	case o.lc0Chunks && o.target == targetAnnotated && !draws:
		return opt, usagef("--lc0-chunks --target annotated: Leela's records hold Q only beside D; give --draw-rate")
	case isFile(o.out):
		return opt, usagef("--out %s: it is a file; name a directory", o.out)
	case o.minElo < 0 || o.minPlies < 1 || o.maxGames < 0:
		return opt, usagef("--min-elo %d, --min-plies %d, --max-games %d: want 0, 1, 0 or more", o.minElo, o.minPlies, o.maxGames)
	}
	return opt, nil
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
func (o *importOptions) run(c *cobra.Command, opt importer.Options, files []string) error {
	opt.OnBad = func(b importer.Bad) { tell(c)("%v", b) }
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
	im, err := importer.Open(ctx, opt)
	if err != nil {
		return pathError(err)
	}
	for _, name := range files {
		if err = importFile(ctx, c, im, name); err != nil || im.Full() {
			break
		}
	}
	err = errors.Join(err, im.Close())
	r := importReport{Out: o.out, Report: im.Report(), Seconds: time.Since(began).Seconds()}
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
