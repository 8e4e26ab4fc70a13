package retain

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// day is the time at which the test's things come, one a day.
func day(n int) time.Time { return time.Date(2026, 1, 1+n, 12, 0, 0, 0, time.UTC) }

// newRun makes the directory of a run of job "job".
func newRun(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "run.json"), `{"version":1,"job":"job"}`)
	write(t, filepath.Join(root, "config.textproto"), fmt.Sprintf("run_dir: %q training { checkpoint { keep_last: 2 } }", root))
	if err := os.Mkdir(filepath.Join(root, "locks"), 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, path, text)
}

func dated(t *testing.T, path string, n int) {
	t.Helper()
	if err := os.Chtimes(path, day(n), day(n)); err != nil {
		t.Fatal(err)
	}
}

// rowsOfGame is the number of rows of each game.
const rowsOfGame = 4

// game returns a game of some random moves, all of them rows.
func game(ordinal uint64) *record.Game {
	rng := rand.New(rand.NewPCG(ordinal, 3))
	g := &record.Game{ID: record.GameID(1, 1, ordinal), NetID: "net", Seed: 1, Ordinal: ordinal}
	board := chess.StartBoard()
	var l chess.MoveList
	for range rowsOfGame { // too few to end a game from the start, but for a mate that no seed here finds
		board.GenerateMoves(&l)
		p := record.Ply{Move: l.Moves[rng.IntN(l.N)], Visits: 2, Weight: 1, Kind: record.PolicyCounts, Counts: make([]uint32, l.N)}
		p.Counts[rng.IntN(l.N)] = 1
		g.Plies = append(g.Plies, p)
		board.Make(p.Move)
	}
	return g
}

// putGames writes a chunk of three games of the given day's net, and returns its
// path. The games' numbers begin with ten times the day.
func putGames(t *testing.T, root, job string, n int) string {
	t.Helper()
	dir := filepath.Join(root, "selfplay", fmt.Sprintf("job-main-s%d-d%d", 100+n, n), "p1")
	w := replay.NewWriter(fsx.OS, dir, replay.WriterOptions{NetID: "net", RunID: job})
	for k := range 3 {
		if err := w.Append(game(uint64(10*n + k))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "00000001.games")
	dated(t, path, n)
	return path
}

// rowsOfFile is what putGames writes.
const rowsOfFile = 3 * rowsOfGame

// putShuffle shuffles the games that are there, with a window of so many rows.
func putShuffle(t *testing.T, root string, n int, window int64) *shuffle.Manifest {
	t.Helper()
	o := shuffle.Options{InputDirs: []string{filepath.Join(root, "selfplay")}, OutputDir: filepath.Join(root, "shuffled"),
		Settings: shuffle.DefaultSettings(), Now: day(n), Threads: 1}
	o.Window = shuffle.WindowOptions{MinRows: window, Exponent: 0.5}
	o.Validation = 0
	m, err := shuffle.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// putCheckpoint saves a checkpoint of a training: at a shuffle ("" = none) and with
// games in its window.
func putCheckpoint(t *testing.T, root, training string, step int64, at string, games ...*record.Game) {
	t.Helper()
	ids := binary.LittleEndian.AppendUint64(nil, uint64(len(games)))
	ids = binary.LittleEndian.AppendUint64(ids, uint64(len(games)))
	for _, g := range games {
		ids = append(ids, g.ID[:]...)
	}
	section := func(name string, data []byte) stage.Section {
		return stage.Section{Name: name, Version: 1, Save: func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		}}
	}
	sections := []stage.Section{section("window", ids)}
	if at != "" {
		sections = append(sections, section("shuffle_source", []byte(`{"shuffle":"`+at+`"}`)))
	}
	dir := filepath.Join(root, "train", training, "checkpoints")
	if err := checkpoint.Save(fsx.OS, dir, checkpoint.Name("job", step), checkpoint.Manifest{Job: "job", Step: step}, sections); err != nil {
		t.Fatal(err)
	}
}

// putNet writes a net file of a job.
func putNet(t *testing.T, path, job string, n int) {
	t.Helper()
	arch := nntest.Named("8x1")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fsx.WriteFileFunc(fsx.OS, path, func(w io.Writer) error {
		return nn.WriteSafetensors(w, nn.Init(arch, 1), map[string]string{"job": job})
	}); err != nil {
		t.Fatal(err)
	}
	dated(t, path, n)
}

// retention reads fields of the section loop.retention: "game_rows=10 models=3".
func retention(t *testing.T, fields string) setup.Retention {
	t.Helper()
	var overrides []string
	for _, f := range strings.Fields(fields) {
		overrides = append(overrides, "loop.retention."+f)
	}
	e, err := config.Resolve(config.Input{Overrides: overrides})
	if err != nil {
		t.Fatal(err)
	}
	return setup.RetentionOf(e.Config)
}

// collect runs retention on a day, first as a dry run, which changes nothing and
// says the same.
func collect(t *testing.T, root string, n int, fields string) *Report {
	t.Helper()
	o := Options{Root: root, Keep: retention(t, fields), DryRun: true, Command: "test", Now: func() time.Time { return day(n) }}
	before := tree(t, root)
	planned, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if after := tree(t, root); !slices.Equal(before, after) {
		t.Fatalf("a dry run changed %v to %v", before, after)
	}
	o.DryRun = false
	done, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(planned.Removed, done.Removed) || planned.Kept != done.Kept || planned.Over != done.Over {
		t.Errorf("the dry run said %+v, then %+v", planned, done)
	}
	for _, i := range done.Removed {
		if _, err := os.Stat(filepath.Join(root, i.Path)); err == nil {
			t.Errorf("%s is still there", i.Path)
		}
	}
	return done
}

// removed lists the paths of a report.
func removed(r *Report) []string {
	paths := []string{}
	for _, i := range r.Removed {
		paths = append(paths, i.Path)
	}
	return paths
}

// tree lists all files and directories below the run with their sizes.
func tree(t *testing.T, root string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			path = fmt.Sprintf("%s %d", path, info.Size())
		}
		list = append(list, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// notes is all that a report says of what stays.
func notes(r *Report) string { return strings.Join(r.Notes, "\n") }
