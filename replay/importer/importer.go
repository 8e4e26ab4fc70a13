package importer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/chessbrain/chessbrain/chess/pgn"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// Options say what is imported and where it goes.
type Options struct {
	Dir     string // gets *.games, and lc0/ where asked for
	Targets Targets

	MinElo   int   // both players' least rating; 0 = any, also none
	MinPlies int   // of a game; at least 1
	MaxGames int64 // imported at most; 0 = no limit

	LC0Chunks bool      // also lc0/game_<ordinal>.gz, Leela's V6 records
	Strict    bool      // the first bad game ends the import
	OnBad     func(Bad) // called for each bad game without Strict; nil = not
}

// errEnough says that MaxGames are imported; Read returns nil then.
var errEnough = errors.New("enough games")

// syncEvery is how many games share a sync.
const syncEvery = 1024

// LockName is the lock of a directory that games are imported into: a writer
// needs it for itself.
const LockName = "import.lock"

// Importer writes games of PGN files into a directory. One goroutine.
type Importer struct {
	opt     Options
	lock    *fsx.Lock
	writer  *replay.Writer
	known   map[[16]byte]struct{} // games in the directory, and of this import
	ordinal uint64                // of the next game
	made    []string              // directories that Open made, the innermost first
	chunks  string                // directory of the games as Leela's chunks, game_<ordinal>.gz; "" = off
	report  Report
}

// Open makes the directory ready and reads which games are in it. Chunk files
// that a killed import left are sealed: their whole blocks count. A directory
// into which another process imports is an *fsx.LockedError; one whose games
// cannot all be read is an error that says which file.
func Open(ctx context.Context, opt Options) (*Importer, error) {
	opt.MinPlies = max(opt.MinPlies, 1)
	if err := opt.Targets.Validate(); err != nil {
		return nil, fmt.Errorf("import PGN: %w", err)
	}
	im := &Importer{opt: opt, known: map[[16]byte]struct{}{}, report: Report{Ends: map[string]int{}}}
	if opt.LC0Chunks {
		im.chunks = filepath.Join(opt.Dir, "lc0")
	}
	for dir := cmp.Or(im.chunks, filepath.Clean(opt.Dir)); ; dir = filepath.Dir(dir) {
		if there, err := fsx.Exists(dir); there || err != nil {
			break
		}
		im.made = append(im.made, dir)
	}
	if err := fsx.MkdirAll(fsx.OS, opt.Dir); err != nil {
		return nil, fmt.Errorf("import into %s: %w", opt.Dir, err)
	}
	lock, err := fsx.Acquire(filepath.Join(opt.Dir, LockName), fsx.LockOptions{Command: "chessbrain import-pgn"})
	if err != nil {
		return nil, fmt.Errorf("import into %s: %w", opt.Dir, err)
	}
	im.lock = lock
	if err := im.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("import into %s: %w", opt.Dir, err), im.leave())
	}
	return im, nil
}

// begin reads what the directory holds.
func (im *Importer) begin(ctx context.Context) error {
	if im.chunks != "" {
		if err := fsx.MkdirAll(fsx.OS, im.chunks); err != nil {
			return fmt.Errorf("make directory of Leela chunks: %w", err)
		}
		if err := fsx.RemoveTemps(fsx.OS, im.chunks, ""); err != nil {
			return fmt.Errorf("clean directory of Leela chunks: %w", err)
		}
	}
	if _, err := replay.SealTorn(ctx, fsx.OS, im.opt.Dir, false); err != nil {
		return err
	}
	scan, err := replay.WalkGames(ctx, fsx.OS, im.opt.Dir, func(_ string, g *record.Game) error {
		im.known[g.ID] = struct{}{}
		im.ordinal = max(im.ordinal, g.Ordinal+1)
		return im.putChunk(g, false)
	})
	if err != nil {
		return err
	}
	if len(scan.Quarantine) > 0 {
		return fmt.Errorf("its games are damaged, choose another --out or mend it (chessbrain verify says how): %w", scan.Quarantine[0])
	}
	im.report.Before = int64(scan.NumGames)
	im.writer = replay.NewWriter(fsx.OS, im.opt.Dir, replay.WriterOptions{NetID: NetID})
	return nil
}

// Read imports the games of one PGN text. name stands in messages. Bad games
// are counted, named and left out, and so is the rest of a text that cannot be
// read to its end; with Strict the first of them is an error. Other errors are
// those of the directory and of ctx.
func (im *Importer) Read(ctx context.Context, name string, r io.Reader) error {
	im.report.Files++
	var ours error // the reason to stop, as against the text's faults
	opt := pgn.ReadOptions{Comments: im.opt.Targets.Annotated, OwnRules: true, OnBad: func(e *pgn.GameError) error {
		im.report.Read++
		ours = im.badGame(name, e.Index, e.Line, e.Reason)
		return ours
	}}
	err := pgn.Read(r, opt, func(g *pgn.Game) error {
		ours = im.game(ctx, name, g)
		return ours
	})
	_, told := errors.AsType[*pgn.ReadError](err)
	switch {
	case errors.Is(ours, errEnough), err == nil, ours == nil && told:
		return nil
	case ours != nil:
		return ours
	}
	im.report.BadFiles++
	return im.note(Bad{File: name, Reason: fmt.Sprintf("%v; the games before it are imported", err)})
}

// badGame counts a game that cannot be imported.
func (im *Importer) badGame(file string, index, line int, reason string) error {
	im.report.BadGames++
	return im.note(Bad{file, index + 1, line, reason})
}

// note names what is bad; an error under Strict.
func (im *Importer) note(b Bad) error {
	if len(im.report.Bad) < maxListed {
		im.report.Bad = append(im.report.Bad, b)
	}
	if im.opt.Strict {
		return fmt.Errorf("%w: %s", ErrBadGames, b)
	}
	if im.opt.OnBad != nil {
		im.opt.OnBad(b)
	}
	return nil
}

// game imports one game.
func (im *Importer) game(ctx context.Context, name string, g *pgn.Game) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if im.Full() {
		return errEnough
	}
	im.report.Read++
	switch {
	case len(g.Moves) < im.opt.MinPlies:
		im.report.ShortOfPlies++
		return nil
	case im.opt.MinElo > 0 && (elo(g, "WhiteElo") < im.opt.MinElo || elo(g, "BlackElo") < im.opt.MinElo):
		im.report.ShortOfElo++
		return nil
	}
	out, err := Convert(g, im.opt.Targets)
	if err == nil {
		if _, ok := im.known[out.ID]; ok {
			im.report.Duplicates++
			return nil
		}
		out.Ordinal = im.ordinal
		err = im.writer.Append(out)
	}
	if err == nil {
		return im.stored(out)
	}
	if _, invalid := errors.AsType[*record.InvalidError](err); invalid || out == nil {
		return im.badGame(name, g.Index, g.Line, err.Error())
	}
	return err
}

// elo returns a rating, 0 where there is none.
func elo(g *pgn.Game, tag string) int {
	n, err := strconv.Atoi(g.Tag(tag))
	if err != nil {
		return 0
	}
	return n
}

// stored counts a game that was appended, and syncs from time to time.
func (im *Importer) stored(g *record.Game) error {
	if err := im.putChunk(g, true); err != nil {
		return err
	}
	im.known[g.ID] = struct{}{}
	im.ordinal++
	im.report.Imported++
	im.report.Positions += int64(len(g.Plies))
	im.report.Ends[g.End.String()]++
	if g.End == record.EndAborted {
		im.report.NoResult++
	}
	for i := range g.Plies {
		if q := g.Plies[i].Root.Q; q == q {
			im.report.Annotated++
		}
	}
	if im.report.Imported%syncEvery != 0 {
		return nil
	}
	return im.writer.Sync()
}

// Full says that MaxGames are imported: further files need not be read.
func (im *Importer) Full() bool {
	return im.opt.MaxGames > 0 && im.report.Imported >= im.opt.MaxGames
}

// Report returns the counts so far.
func (im *Importer) Report() *Report { return &im.report }

// Close makes the imported games durable under their final names and gives the
// directory free. Of an import without a game nothing remains. A second Close does nothing.
func (im *Importer) Close() error {
	if im.lock == nil {
		return nil
	}
	err := errors.Join(im.writer.Close(), im.leave())
	im.lock = nil
	return err
}

// leave gives the lock up, and removes what Open made and nothing was put into.
func (im *Importer) leave() error {
	err := im.lock.Remove()
	for _, dir := range im.made {
		if os.Remove(dir) != nil {
			break // it is not empty
		}
	}
	return err
}

// maxRule50 is the highest count of plies that Leela's programs take: games end
// there for them.
const maxRule50 = 100

// putChunk writes a game as Leela's records, where that is asked for: one that is
// new to the directory always (the file of a killed import, which did not come to
// store its game, is replaced), else where it is missing.
func (im *Importer) putChunk(g *record.Game, fresh bool) error {
	if im.chunks == "" {
		return nil
	}
	path := filepath.Join(im.chunks, fmt.Sprintf("game_%06d.gz", g.Ordinal))
	if !fresh {
		if _, err := fsx.OS.Stat(path); err == nil {
			return nil
		}
	}
	var chunk bytes.Buffer
	if g.End != record.EndAborted && highestRule50(g) <= maxRule50 {
		if err := lc0.WriteChunk(&chunk, g); err != nil {
			return fmt.Errorf("game %d: %w", g.Ordinal, err)
		}
	}
	if chunk.Len() == 0 { // Leela's records cannot hold it, or it has no row to train on
		if fresh {
			im.report.NoChunk++
		}
		return nil
	}
	if err := fsx.WriteFile(fsx.OS, path, chunk.Bytes()); err != nil {
		return err
	}
	im.report.Chunks++
	return nil
}

// highestRule50 returns the largest rule50 count of g's positions with a move.
func highestRule50(g *record.Game) int {
	b, err := g.StartBoard()
	if err != nil {
		return 0
	}
	highest := 0
	for i := range g.Plies {
		highest = max(highest, b.Rule50())
		b.Make(g.Plies[i].Move)
	}
	return highest
}
