package verify

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/importer"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

// tiny makes a run of a second.
const tiny = `
selfplay { episodes: 4 cohort_size: 2 games_per_worker: 2 max_plies: 12 pgn_share: 1 lc0_chunks: true }
mcts { simulations: 4 cache_entries: 100 }
model { arch { conv_tower { filters: 8 blocks: 1 } value_channels: 4 value_hidden: 8 moves_left_channels: 2 moves_left_hidden: 8 } }
training { threads: 1 batch_size: 4 steps_per_episode: 2 checkpoint { interval: 2 } }
`

// template is a finished run that tests copy.
var template = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "verify")
	if err != nil {
		return "", err
	}
	file, err := config.Parse("test.textproto", fmt.Appendf(nil, "run_dir: %q\n%s", filepath.Join(dir, "run"), tiny))
	if err != nil {
		return dir, err
	}
	effective, err := config.Resolve(config.Input{File: file})
	if err != nil {
		return dir, err
	}
	_, err = train.Train(context.Background(), train.Options{Training: setup.TrainingOf(effective), Command: "test", Version: "test", Log: slog.New(slog.DiscardHandler)})
	return dir, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := template(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// newRun returns a copy of a finished run.
func newRun(t *testing.T) string {
	t.Helper()
	dir, err := template()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(root, os.DirFS(filepath.Join(dir, "run"))); err != nil {
		t.Fatal(err)
	}
	return root
}

func check(t *testing.T, path string) *Report {
	t.Helper()
	r, err := Path(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if r.NumProblems != len(r.Problems) {
		t.Errorf("%d problems, %d listed", r.NumProblems, len(r.Problems))
	}
	return r
}

// tree hashes every file below a directory.
func tree(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	files := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = sha256.Sum256(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestGoodRun: all is counted, nothing is wrong, nothing is changed.
func TestGoodRun(t *testing.T) {
	root := newRun(t)
	before := tree(t, root)
	r := check(t, root)
	if !r.OK() || r.What != "run" || r.Games != 4 || r.Entries != 4 || r.Checkpoints != 3 || r.PGNGames != 4 || r.LeelaChunks != 4 ||
		r.Positions == 0 || r.Rows < r.Positions || r.Nets < 4 || r.Events < 12 || r.Chunks == 0 || r.Records == 0 {
		t.Errorf("%+v", r)
	}
	if !reflect.DeepEqual(tree(t, root), before) {
		t.Error("the run was changed")
	}
	parts := check(t, filepath.Join(root, "selfplay"))
	if !parts.OK() || parts.What != "directory" || parts.Games != 4 || parts.Checkpoints != 0 {
		t.Errorf("%+v", parts)
	}
	one := check(t, glob(t, root, "train/main/checkpoints/*_step00000008"))
	if !one.OK() || one.What != "checkpoint" || one.Nets != 1 || one.Checkpoints != 1 {
		t.Errorf("%+v", one)
	}
	for what, pattern := range map[string]string{"games": "selfplay/*/*/*.games", "net": "models/*.safetensors", "events": "metrics/*/metrics.jsonl",
		"PGN": "pgn/*.pgn", "Leela chunks": "lc0/*/*/game_000000.gz"} {
		if r := check(t, glob(t, root, pattern)); !r.OK() || r.What != what {
			t.Errorf("%s: %+v", pattern, r)
		}
	}
}

// glob returns the first path that fits a pattern in a run.
func glob(t *testing.T, root, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("nothing fits %s: %v", pattern, err)
	}
	return paths[0]
}

// edit rewrites a file.
func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(data), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a new file.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

func flip(data []byte) []byte { data[len(data)/2] ^= 1; return data }

// finding is what a broken run must show: a problem of this kind whose path ends
// so, and whose reason has these words.
type finding struct {
	kind         Kind
	suffix, word string
}

// TestBrokenRuns breaks one thing at a time: it is found, and nothing else is.
func TestBrokenRuns(t *testing.T) {
	games, journal := "selfplay/*/*/*.games", "journal"
	last := "train/main/checkpoints/*_step00000008"
	for name, c := range map[string]struct {
		damage func(t *testing.T, root string)
		want   []finding
	}{
		"flipped game": {func(t *testing.T, root string) { edit(t, glob(t, root, games), flip) },
			[]finding{{Corrupt, ".games", ""}, {Missing, "journal", "the journal are not on disk"}, {Missing, "window.section", "not on disk"}}},
		"cut game file": {func(t *testing.T, root string) {
			edit(t, glob(t, root, games), func(b []byte) []byte { return b[:len(b)-5] })
		}, []finding{{Torn, ".games", "without a footer"}}},
		"growing game file": {func(t *testing.T, root string) { path := glob(t, root, games); rename(t, path, path+".tmp") },
			[]finding{{Torn, ".games.tmp", "whole games"}}},
		"lost game file": {func(t *testing.T, root string) { remove(t, glob(t, root, games)) },
			[]finding{{Missing, "journal", "are not on disk"}, {Missing, "window.section", "not on disk"}}},
		"game twice": {func(t *testing.T, root string) { copyGames(t, root, func(*record.Game) {}) },
			[]finding{{Duplicate, "copy/00000001.games", "is there twice"}}},
		"other game of an id": {func(t *testing.T, root string) {
			copyGames(t, root, func(g *record.Game) { g.Plies, g.End, g.WhiteResult, g.Flags = g.Plies[:1], record.EndUnknown, 0, 0 })
		}, []finding{{Contradiction, "copy/00000001.games", "the id of another game"}}},
		"temporary file":      {func(t *testing.T, root string) { put(t, root+"/models/.x.1-2.partial", "x") }, []finding{{Orphan, ".partial", "temporary file"}}},
		"temporary directory": {func(t *testing.T, root string) { put(t, root+"/train/.x.1-2.partial/y.games", "x") }, []finding{{Orphan, ".partial", "temporary directory"}}},
		"left on the way":     {func(t *testing.T, root string) { put(t, root+"/toexport/x.safetensors", "x") }, []finding{{Orphan, "toexport/x.safetensors", "on its way"}}},
		"torn chunk":          {func(t *testing.T, root string) { put(t, root+"/selfplay/a/p1/00000001.torn", "x") }, []finding{{Orphan, ".torn", "without a whole block"}}},
		"stranger in checkpoint": {func(t *testing.T, root string) { put(t, glob(t, root, last)+"/x.section", "x") },
			[]finding{{Orphan, "x.section", "does not name it"}}},
		"checkpoint's file": {func(t *testing.T, root string) { remove(t, glob(t, root, last+"/trainer.section")) },
			[]finding{{Corrupt, "trainer.section", "missing"}}},
		"checkpoint's net": {func(t *testing.T, root string) { edit(t, glob(t, root, last+"/net.safetensors"), flip) }, []finding{{Corrupt, "net.safetensors", "SHA-256"}}},
		"manifest":         {func(t *testing.T, root string) { edit(t, glob(t, root, last+"/manifest.json"), flip) }, []finding{{Corrupt, "manifest.json", ""}}},
		"no mark":          {func(t *testing.T, root string) { remove(t, glob(t, root, "train/main/checkpoints/current")) }, []finding{{Missing, "current", "no marker"}}},
		"mark of none":     {func(t *testing.T, root string) { put(t, root+"/train/main/checkpoints/current", "run_step00000099\n") }, []finding{{Missing, "current", "is not there"}}},
		"published net":    {func(t *testing.T, root string) { edit(t, glob(t, root, "models/*.safetensors"), flip) }, []finding{{Corrupt, ".safetensors", "id"}}},
		"net with NaN":     {nanNet, []finding{{Corrupt, "nan.safetensors", ""}}},
		"torn journal": {func(t *testing.T, root string) {
			edit(t, filepath.Join(root, journal), func(b []byte) []byte { return append(b, "{\"ep"...) })
		}, []finding{{Torn, "journal", "not whole"}}},
		"line of no sense": {func(t *testing.T, root string) {
			edit(t, filepath.Join(root, journal), func(b []byte) []byte { return append(b, "x\n"...) })
		}, []finding{{Corrupt, "journal", "line 5"}, {Missing, "journal", "0 lines"}}},
		"line twice":        {func(t *testing.T, root string) { edit(t, filepath.Join(root, journal), repeat) }, []finding{{Contradiction, "journal", "line 5 is not that of episode 5"}}},
		"game in two lines": {func(t *testing.T, root string) { edit(t, filepath.Join(root, journal), renumber) }, []finding{{Duplicate, "journal", "stands in line 4 too"}}},
		"short journal":     {func(t *testing.T, root string) { edit(t, filepath.Join(root, journal), dropLine) }, []finding{{Missing, "journal", "3 lines, but checkpoint"}}},
		"no journal":        {func(t *testing.T, root string) { remove(t, filepath.Join(root, journal)) }, []finding{{Missing, "journal", "0 lines, but checkpoint"}}},
		"torn events": {func(t *testing.T, root string) {
			edit(t, glob(t, root, "metrics/*/metrics.jsonl"), func(b []byte) []byte { return b[:len(b)-3] })
		}, []finding{{Torn, "metrics.jsonl", "not whole"}}},
		"events of no sense": {func(t *testing.T, root string) {
			edit(t, glob(t, root, "metrics/*/metrics.jsonl"), func(b []byte) []byte { return append([]byte("x\n"), b...) })
		}, []finding{{Corrupt, "metrics.jsonl", "decode"}}},
		"event twice":       {func(t *testing.T, root string) { edit(t, glob(t, root, "metrics/*/metrics.jsonl"), repeat) }, []finding{{Contradiction, "metrics.jsonl", "comes after event"}}},
		"config of a start": {func(t *testing.T, root string) { put(t, root+"/config-history/0009_x.textproto", "nonsense: 3") }, []finding{{Corrupt, "0009_x.textproto", "nonsense"}}},
		"unfinished games":  {func(t *testing.T, root string) { put(t, root+"/unfinished/p1.bin", "nonsense") }, []finding{{Corrupt, "p1.bin", "byte 0"}}},
		"PGN": {func(t *testing.T, root string) {
			edit(t, glob(t, root, "pgn/*.pgn"), func(b []byte) []byte { return append(b, "1. e4 e4 *\n"...) })
		}, []finding{{Corrupt, ".pgn", "game 5: ply 2"}}},
		"Leela chunk": {func(t *testing.T, root string) {
			edit(t, glob(t, root, "lc0/*/*/game_000001.gz"), func(b []byte) []byte { return b[:len(b)/2] })
		}, []finding{{Corrupt, "game_000001.gz", "game_000001.gz"}}},
		"run file": {func(t *testing.T, root string) { put(t, root+"/run.json", "x") }, []finding{{Corrupt, "run", "run.json"}}},
	} {
		t.Run(name, func(t *testing.T) {
			root := newRun(t)
			c.damage(t, root)
			r := check(t, root)
			for _, p := range r.Problems {
				if p.Remedy == "" || p.Path == "" || !strings.Contains(p.String(), p.Remedy) {
					t.Errorf("nothing to do about %+v", p)
				}
				if !wanted(p, c.want) {
					t.Errorf("not asked for: %s", p)
				}
			}
			for _, w := range c.want {
				if !shown(w, r.Problems) {
					t.Errorf("not found: %+v; there are %v", w, r.Problems)
				}
			}
		})
	}
}

func (f finding) fits(p Problem) bool {
	return p.Kind == f.kind && strings.HasSuffix(p.Path, f.suffix) && strings.Contains(p.Reason, f.word)
}

func wanted(p Problem, want []finding) bool {
	for _, w := range want {
		if w.fits(p) {
			return true
		}
	}
	return false
}

func shown(w finding, problems []Problem) bool {
	for _, p := range problems {
		if w.fits(p) {
			return true
		}
	}
	return false
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// copyGames writes changed copies of a run's games into a directory after all
// others.
func copyGames(t *testing.T, root string, change func(*record.Game)) {
	t.Helper()
	games, _, err := replay.ReadChunk(fsx.OS, glob(t, root, "selfplay/*/*/*.games"))
	if err != nil {
		t.Fatal(err)
	}
	w := replay.NewWriter(fsx.OS, filepath.Join(root, "selfplay", "zz", "copy"), replay.WriterOptions{})
	for _, g := range games {
		g = g.Clone()
		change(g)
		if err := w.Append(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// nanNet publishes a net that is whole but not finite.
func nanNet(t *testing.T, root string) {
	t.Helper()
	net, err := setup.ReadNet(glob(t, root, "models/*.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	net.Params[0].Data[3] = float32(math.NaN())
	err = fsx.WriteFileFunc(fsx.OS, filepath.Join(root, "models", "nan.safetensors"), func(w io.Writer) error { return nn.WriteSafetensors(w, net, nil) })
	if err != nil {
		t.Fatal(err)
	}
}

// lines cuts a file into lines with their ends.
func lines(b []byte) [][]byte {
	return bytes.SplitAfter(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
}

func repeat(b []byte) []byte {
	l := lines(b)
	return append(append(b, l[len(l)-1]...), '\n')
}

// renumber appends the last line of a journal as that of the next episode.
func renumber(b []byte) []byte {
	l := lines(b)
	again, _, _ := bytes.Cut(bytes.Replace(l[3], []byte(`"episode":4`), []byte(`"episode":5`), 1), []byte(`,"sum"`))
	return append(append(b, again...), "}\n"...) // as an older program wrote it
}

func dropLine(b []byte) []byte {
	l := lines(b)
	return bytes.Join(l[:len(l)-1], nil)
}

// TestLiveRun: what the processes of a run are writing is no problem, and they
// are told.
func TestLiveRun(t *testing.T) {
	root := newRun(t)
	path := glob(t, root, "selfplay/*/*/*.games")
	rename(t, path, path+".tmp")
	put(t, root+"/models/.x.1-2.partial", "x")
	edit(t, root+"/journal", func(b []byte) []byte { return append(b, "{\"ep"...) })
	if r := check(t, root); r.NumProblems != 3 {
		t.Errorf("at rest: %v", r.Problems)
	}
	lock, err := fsx.Acquire(filepath.Join(root, "locks", "run"), fsx.LockOptions{Command: "chessbrain train"})
	if err != nil {
		t.Fatal(err)
	}
	r := check(t, root)
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if !r.OK() || r.Games != 4 || !strings.Contains(strings.Join(r.Notes, "\n"), "(chessbrain train)") {
		t.Errorf("at work: %v, %v", r.Problems, r.Notes)
	}
}

// TestLiveImport: a directory into which games are being imported.
func TestLiveImport(t *testing.T) {
	dir := t.TempDir()
	im, err := importer.Open(t.Context(), importer.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "lc0", ".game_000000.gz.1-1.partial"), "x")
	if r := check(t, dir); !r.OK() || len(r.Notes) != 1 {
		t.Errorf("%v, %v", r.Problems, r.Notes)
	}
	if err := im.Close(); err != nil {
		t.Fatal(err)
	}
	if r := check(t, dir); r.NumProblems != 1 {
		t.Errorf("%v", r.Problems)
	}
}

// TestPartsElsewhere: checkpoints and metrics that were moved out of the run are
// read too.
func TestPartsElsewhere(t *testing.T) {
	root := newRun(t)
	job := filepath.Base(filepath.Dir(glob(t, root, "metrics/*/metrics.jsonl")))
	away := filepath.Join(filepath.Dir(root), "away")
	put(t, filepath.Join(away, "x"), "")
	rename(t, filepath.Join(root, "train", "main", "checkpoints"), filepath.Join(away, job))
	edit(t, filepath.Join(root, "config.textproto"), func(b []byte) []byte {
		const begins = "checkpoint {\n"
		if bytes.Count(b, []byte(begins)) != 1 {
			t.Fatal("the configuration has another form than this test knows")
		}
		return bytes.Replace(dropDir(b), []byte(begins), fmt.Appendf(nil, "%sdir: %q\n", begins, away), 1)
	})
	r := check(t, root)
	if r.Checkpoints != 3 || !r.OK() {
		t.Errorf("%d checkpoints, %v, %v", r.Checkpoints, r.Problems, r.Notes)
	}
}

// dropDir leaves out the line of a configuration that says where checkpoints lie.
func dropDir(b []byte) []byte {
	at := bytes.Index(b, []byte("checkpoint {"))
	end := at + bytes.IndexByte(b[at:], '}')
	var kept [][]byte
	for _, line := range bytes.SplitAfter(b[at:end], []byte("\n")) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("dir:")) {
			kept = append(kept, line)
		}
	}
	return bytes.Join([][]byte{b[:at], bytes.Join(kept, nil), b[end:]}, nil)
}

// TestPipelineStep: a step's manifest is held against its files.
func TestPipelineStep(t *testing.T) {
	root := newRun(t)
	out := filepath.Join(t.TempDir(), "out")
	_, err := prepare.Preprocess(t.Context(), prepare.Options{Inputs: []prepare.Input{{Dir: filepath.Join(root, "selfplay")}}, Out: out, ChunkSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r := check(t, out); !r.OK() || r.Manifests != 1 || r.Games == 0 {
		t.Errorf("%+v", r)
	}
	remove(t, filepath.Join(out, "00000001.games"))
	if r := check(t, out); r.NumProblems != 1 || r.Problems[0].Kind != Contradiction {
		t.Errorf("%v", r.Problems)
	}
	put(t, filepath.Join(out, prepare.ManifestName), "{}")
	if r := check(t, out); r.NumProblems != 1 || r.Problems[0].Kind != Corrupt {
		t.Errorf("%v", r.Problems)
	}
}

// TestShuffle: a finished shuffle in a run is read to its last row.
func TestShuffle(t *testing.T) {
	root := newRun(t)
	settings := shuffle.DefaultSettings()
	settings.Window.MinRows, settings.Validation = 1, 0
	_, err := shuffle.Run(t.Context(), shuffle.Options{InputDirs: []string{filepath.Join(root, "selfplay")}, OutputDir: filepath.Join(root, "shuffled"),
		Settings: settings, Threads: 1, Now: time.Unix(1e9, 0), Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if r := check(t, root); !r.OK() || r.Shuffles != 1 || r.ShuffledRows == 0 {
		t.Errorf("%+v", r)
	}
	edit(t, glob(t, root, "shuffled/*/train/*.rows"), flip)
	if r := check(t, root); r.NumProblems != 1 || r.Problems[0].Kind != Corrupt || !strings.HasSuffix(r.Problems[0].Path, ".rows") {
		t.Errorf("%v", r.Problems)
	}
}

// TestTar: a damaged member of a tar costs that member only and is told with its
// name.
func TestTar(t *testing.T) {
	root := newRun(t)
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for i := range 3 {
		data := filetest.Read(t, glob(t, root, fmt.Sprintf("lc0/*/*/game_%06d.gz", i)))
		if i == 1 {
			data = data[:len(data)/2]
		}
		name := fmt.Sprintf("training.%d.gz", i)
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.tar")
	put(t, path, buf.String())
	r := check(t, path)
	if r.NumProblems != 1 || r.LeelaChunks != 3 || !strings.Contains(r.Problems[0].Reason, "training.1.gz") {
		t.Errorf("%d chunks, %v", r.LeelaChunks, r.Problems)
	}
}

// TestPaths: what is no path to verify.
func TestPaths(t *testing.T) {
	dir := t.TempDir()
	if _, err := Path(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	put(t, filepath.Join(dir, "x.txt"), "x")
	if _, err := Path(t.Context(), filepath.Join(dir, "x.txt")); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	if _, err := Path(t.Context(), dir); !errors.Is(err, ErrUnknown) { // nothing in it is known
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Path(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
