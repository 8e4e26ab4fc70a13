package play

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// OutputOptions say in which other forms a process's games are written.
type OutputOptions struct {
	FS      fsx.FS // nil = the real file system
	Root    string // the run directory
	Process string // name of the process, as in the games' directory
	Job     string
	setup.GameForms
	Log *slog.Logger
}

// Outputs writes games, once they are durable, in forms for other programs:
//
//	ROOT/pgn/<process>.pgn                    see export.WritePGN
//	ROOT/lc0/<net>/<process>/game_<ordinal>.gz  see lc0.WriteChunk
//
// One goroutine at a time; the process's lock keeps others away. A nil *Outputs
// writes nothing.
type Outputs struct {
	opt    OutputOptions
	pgn    *pgnFile                 // nil = off
	chunks map[string]*run.Ordinals // by directory: the games that are there
}

// OpenOutputs opens what opt switches on, nil where that is nothing. A PGN file
// with a torn end is mended; temporary files that a killed process left go.
func OpenOutputs(opt OutputOptions) (*Outputs, error) {
	if !(opt.PGNShare >= 0 && opt.PGNShare <= 1) {
		return nil, fmt.Errorf("PGN share %v: want 0 to 1", opt.PGNShare)
	}
	if opt.PGNShare == 0 && !opt.LC0Chunks {
		return nil, nil
	}
	opt.FS = cmp.Or(opt.FS, fsx.OS)
	o := &Outputs{opt: opt, chunks: map[string]*run.Ordinals{}}
	if err := fsx.MkdirAll(opt.FS, opt.Root); err != nil {
		return nil, outputError(fmt.Errorf("make run directory %s: %w", opt.Root, err))
	}
	if opt.PGNShare > 0 {
		path := filepath.Join(opt.Root, "pgn", opt.Process+".pgn")
		var lost int64
		var err error
		if o.pgn, lost, err = openPGN(opt.FS, path); err != nil {
			return nil, outputError(err)
		}
		if lost > 0 && opt.Log != nil {
			opt.Log.Warn("a PGN file was mended; its whole games are kept", "file", path, "lost_bytes", lost)
		}
	}
	return o, nil
}

// Put writes games that are on stable storage already; nil means that so are
// their other forms. A game that was written before, also before a restart, is
// left as it is: a process that starts again puts all its games, and what is
// missing is added. An aborted game and one without a row to train on make no
// chunk. After an error, what was written stays.
func (o *Outputs) Put(games ...*record.Game) error {
	if o == nil || len(games) == 0 {
		return nil
	}
	if err := fsx.DefaultReserve.Check(o.opt.FS, o.opt.Root, 0); err != nil {
		return outputError(err)
	}
	var errPGN, errChunks error
	if o.pgn != nil {
		chosen := slices.DeleteFunc(slices.Clone(games), func(g *record.Game) bool { return !InPGNShare(g.ID, o.opt.PGNShare) })
		errPGN = o.pgn.put(chosen, o.opt.Job)
	}
	if o.opt.LC0Chunks {
		for _, g := range games {
			if errChunks = o.putChunk(g); errChunks != nil {
				break
			}
		}
	}
	return outputError(errors.Join(errPGN, errChunks))
}

func (o *Outputs) Close() error {
	if o == nil || o.pgn == nil {
		return nil
	}
	return outputError(o.pgn.file.Close())
}

// putChunk writes a game's chunk if it is not there.
func (o *Outputs) putChunk(g *record.Game) error {
	dir := filepath.Join(o.opt.Root, "lc0", netDirName(g.NetID), o.opt.Process)
	there := o.chunks[dir]
	if there == nil {
		var err error
		if there, err = o.openChunks(dir); err != nil {
			return err
		}
		o.chunks[dir] = there
	}
	if there.Has(g.Ordinal) || g.End == record.EndAborted {
		return nil
	}
	var chunk bytes.Buffer
	if err := lc0.WriteChunk(&chunk, g); err != nil {
		return fmt.Errorf("game %d: %w", g.Ordinal, err)
	}
	if chunk.Len() > 0 {
		path := filepath.Join(dir, fmt.Sprintf("game_%06d.gz", g.Ordinal))
		if err := fsx.WriteFile(o.opt.FS, path, chunk.Bytes()); err != nil {
			return err
		}
	}
	there.Add(g.Ordinal)
	return nil
}

// openChunks makes a directory of chunks ready and returns which are in it.
func (o *Outputs) openChunks(dir string) (*run.Ordinals, error) {
	if err := fsx.MkdirAll(o.opt.FS, dir); err != nil {
		return nil, fmt.Errorf("make directory of Leela chunks: %w", err)
	}
	if err := fsx.RemoveTemps(o.opt.FS, dir, ""); err != nil {
		return nil, fmt.Errorf("clean directory of Leela chunks: %w", err)
	}
	entries, err := o.opt.FS.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read directory of Leela chunks: %w", err)
	}
	there := &run.Ordinals{}
	for _, e := range entries {
		number, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".gz"), "game_")
		if n, err := strconv.ParseUint(number, 10, 64); ok && err == nil {
			there.Add(n)
		}
	}
	return there, nil
}

// InPGNShare says whether a game is among the share that is written as PGN: the
// first 8 bytes of the SHA-256 of "chessbrain pgn", a zero byte and the id, as a
// little-endian number without its 11 lowest bits, divided by 2^64, are below
// share. A game in a share is in every larger one; the choice tells nothing of
// the validation share.
func InPGNShare(id [16]byte, share float64) bool {
	sum := sha256.Sum256(append([]byte("chessbrain pgn\x00"), id[:]...))
	return float64(binary.LittleEndian.Uint64(sum[:])>>11)/(1<<53) < share
}

// unsafeInNames is what a directory's name should not have.
var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9._-]|^\.+`)

// netDirName makes a net's id a directory's name.
func netDirName(id string) string {
	return cmp.Or(unsafeInNames.ReplaceAllString(id, "_"), "unknown")
}

// outputError says what a failed output means and what to do.
func outputError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write games for other programs: %w (the games themselves are kept: make room or mend the directory, "+
		"or switch this off with selfplay.pgn_share = 0 and selfplay.lc0_chunks = false, and start again; what is missing is added then)", err)
}
