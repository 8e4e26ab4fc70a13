package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/importer"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// ErrUnknown says that a path is nothing that can be verified.
var ErrUnknown = errors.New("nothing that is known")

// checker is one verification under way.
type checker struct {
	ctx    context.Context
	report *Report
	live   bool // a process works here: files may grow, temporary ones are its own

	games  map[[16]byte]location // found, by id
	wanted []reference           // games that others refer to

	sums      map[string]string // SHA-256 of net files, hexadecimal, by path
	decisions []*gate.Result    // of the gatekeeper

	replay record.Replayer
	rows   *encoding.TrainBatch
	plies  []int
}

// location is the file and number at which a game was found.
type location struct {
	path   string
	number int // in the file, from 1
	moves  uint64
}

// reference is a list of games that must be on disk.
type reference struct {
	path, what string
	ids        [][16]byte
}

// Path verifies a run directory, a directory of anything, a checkpoint or a
// file. The error is for a path that is not there, one that is nothing known
// (ErrUnknown), and a context that ended; all else is in the report.
func Path(ctx context.Context, path string) (*Report, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	c := &checker{ctx: ctx, report: &Report{Path: path, Problems: []Problem{}, Notes: []string{}},
		games: map[[16]byte]location{}, sums: map[string]string{}, rows: encoding.NewTrainBatch(256)}
	switch {
	case !info.IsDir():
		sort := sortOf(path)
		if c.report.What = sort.name; sort.check == nil {
			return nil, fmt.Errorf("verify %s: %w: want a run, a directory, a checkpoint, or a file of %s", path, ErrUnknown, sortNames())
		}
		sort.check(c, path)
	case exists(run.Dir{Root: path}.RunFile()):
		c.report.What = "run"
		c.run(path)
	case exists(filepath.Join(path, "manifest.json")) && !exists(filepath.Join(path, prepare.ManifestName)):
		c.report.What = "checkpoint"
		c.checkpoint(path)
	case exists(filepath.Join(path, shuffle.MarkerName)):
		c.report.What = "shuffle"
		c.shuffle(path)
	default:
		c.report.What = "directory"
		c.lock(path, importer.LockName)
		c.tree(path)
		c.references()
		c.gates(path)
		empty := Report{Path: path, What: c.report.What, Others: c.report.Others, Problems: []Problem{}, Notes: []string{}}
		if ctx.Err() == nil && reflect.DeepEqual(*c.report, empty) {
			return nil, fmt.Errorf("verify %s: %w: no run (no run.json), and no file in it that can be verified", path, ErrUnknown)
		}
	}
	return c.report, ctx.Err()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// fileSort is a sort of files, known by its name.
type fileSort struct {
	name     string
	suffixes []string
	check    func(c *checker, path string)
}

// sorts are the files that can be verified. The first suffix that fits counts.
var sorts = []fileSort{
	{"games", []string{replay.SealedSuffix, replay.GrowingSuffix}, (*checker).chunk},
	{"net", []string{".safetensors"}, opened((*checker).net)},
	{"Leela net", []string{".pb.gz", ".pb"}, opened((*checker).leelaNet)},
	{"PGN", []string{".pgn", ".pgn.gz", ".pgn.bz2"}, (*checker).pgn},
	{"Leela chunks", []string{".gz", ".tar"}, (*checker).leela},
	{"events", []string{".jsonl"}, opened((*checker).events)},
}

// sortOf finds the sort of a file, by its place or whole name, or else its suffix; check
// is nil where it is not known.
func sortOf(path string) fileSort {
	base, parent := filepath.Base(path), filepath.Dir(path)
	inMatch := filepath.Base(filepath.Dir(parent)) == inRun.Gates() // gatekeeper/<net>/
	switch {
	case base == run.CyclesName:
		return fileSort{name: "journal of cycles", check: (*checker).cycles}
	case base == inRun.Catalogue():
		return fileSort{name: "catalogue", check: (*checker).catalogue}
	case base == run.GateResultName && inMatch:
		return fileSort{name: "result of a match", check: (*checker).gateResult}
	case strings.HasSuffix(base, ".jsonl") && (inMatch || filepath.Base(parent) == inRun.Matches()):
		return fileSort{name: "match", check: (*checker).match}
	}
	for _, s := range sorts {
		for _, suffix := range s.suffixes {
			if strings.HasSuffix(path, suffix) {
				return s
			}
		}
	}
	return fileSort{name: "file"}
}

func sortNames() string {
	var names []string
	for _, s := range sorts {
		names = append(names, fmt.Sprintf("%s (%s)", s.name, strings.Join(s.suffixes, ", ")))
	}
	return strings.Join(names, ", ")
}

// tree verifies every file and checkpoint below dir.
func (c *checker) tree(dir string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err != nil {
			c.unreadable(path, err)
			return nil
		}
		switch base := filepath.Base(path); {
		case fsx.IsTemp(base) && d.IsDir():
			c.temporary(path, "directory")
			return fs.SkipDir
		case fsx.IsTemp(base):
			c.temporary(path, "file")
		case d.IsDir() && base == inRun.Locks():
			return fs.SkipDir // those of a run are looked at by run
		case d.IsDir():
			return c.directory(path)
		default:
			c.file(path, base)
		}
		return nil
	})
	if err != nil && c.ctx.Err() == nil {
		c.unreadable(dir, err)
	}
}

// directory verifies what a directory is as a whole.
func (c *checker) directory(path string) error {
	if _, _, ok := checkpoint.ParseName(filepath.Base(path)); ok {
		c.checkpoint(path)
		return fs.SkipDir
	}
	if exists(filepath.Join(path, shuffle.MarkerName)) {
		c.shuffle(path)
		return fs.SkipDir
	}
	if names, err := checkpoint.List(fsx.OS, path); err == nil && len(names) > 0 {
		c.currentMark(path, names)
	}
	if exists(filepath.Join(path, prepare.ManifestName)) {
		c.manifest(path)
	}
	c.handedOver(path)
	return nil
}

// shuffle verifies a finished shuffle: its files, their hashes and their rows.
func (c *checker) shuffle(path string) {
	m, err := shuffle.Verify(c.ctx, fsx.OS, path)
	corrupt, ok := errors.AsType[*shuffle.CorruptError](err)
	switch {
	case c.ctx.Err() != nil:
	case ok:
		c.report.add(Problem{Path: corrupt.Path, Offset: corrupt.Offset, Kind: Corrupt, Reason: corrupt.Reason, Remedy: "remove this shuffle's directory and shuffle again"})
	case err != nil:
		c.report.problem(path, Unreadable, "remove this shuffle's directory and shuffle again", "%v", err)
	default:
		c.report.Shuffles++
		c.report.ShuffledRows += m.TrainRows + m.HeldRows
	}
}

func (c *checker) file(path, base string) {
	sort := sortOf(path)
	switch {
	case strings.HasSuffix(base, ".torn"):
		c.report.problem(path, Orphan, "remove it when nobody needs it", "what is left of a chunk without a whole block")
	case filepath.Base(filepath.Dir(path)) == inRun.ToExport() && !c.live:
		c.report.problem(path, Orphan, "remove it; the net is exported again from its checkpoint", "a net that its writer left on its way to models/")
	case strings.HasSuffix(base, ".bin") && filepath.Base(filepath.Dir(path)) == inRun.Unfinished():
		c.unfinished(path)
	case sort.check == nil, sort.name == "events" && !strings.HasPrefix(base, strings.TrimSuffix(monitor.MetricsName, ".jsonl")):
		c.report.Others++
	default:
		sort.check(c, path)
	}
}

// temporary tells of a file or directory that is not whole.
func (c *checker) temporary(path, what string) {
	if !c.live {
		c.report.problem(path, Orphan, "remove it; the next start of the run removes what this machine left, and what another left an hour ago", "a temporary %s that its writer left behind", what)
	}
}

// unreadable adds a path that cannot be read. One that vanished while a process
// works here was removed by it.
func (c *checker) unreadable(path string, err error) {
	if c.live && errors.Is(err, fs.ErrNotExist) {
		return
	}
	c.report.problem(path, Unreadable, "make it readable, and look at the disk", "%v", err)
}

// opened is a check of a file that is open.
func opened(check func(c *checker, path string, f *os.File)) func(*checker, string) {
	return func(c *checker, path string) {
		f, err := fsx.Open(path)
		if err != nil {
			c.unreadable(path, err)
			return
		}
		defer f.Close()
		check(c, path, f)
	}
}
