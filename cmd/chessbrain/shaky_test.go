package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/internal/testing/slow"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// shaky is a place for a run whose disk forgets or fails.
type shaky struct {
	*testing.T
	base, root string           // root is the run, below base
	counted    map[int64]string // game of each episode that an event told of
}

// trainRecipe is the smallest training, which keeps one checkpoint.
var trainRecipe = strings.Replace(runtest.Tiny, "interval: 2", "interval: 2 keep_last: 1", 1)

// newShaky makes the place, with a recipe.
func newShaky(t *testing.T, recipe string) *shaky {
	dir := t.TempDir()
	s := &shaky{T: t, base: filepath.Join(dir, "disk"), counted: map[int64]string{}}
	s.root = filepath.Join(s.base, "run")
	filetest.Write(t, filepath.Join(dir, "tiny.textproto"), recipe)
	s.empty()
	return s
}

// empty takes all away that was there.
func (s *shaky) empty() {
	s.Helper()
	if err := os.RemoveAll(s.base); err != nil {
		s.Fatal(err)
	}
	if err := os.Mkdir(s.base, 0o777); err != nil {
		s.Fatal(err)
	}
	clear(s.counted)
}

// recorder begins a record of the place.
func (s *shaky) recorder() *memfs.Recorder {
	s.Helper()
	r, err := memfs.Record(s.base)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// on runs a command whose files go through r, and returns what it told, its log included.
func (s *shaky) on(r *memfs.Recorder, args ...string) (told string, err error) {
	s.Helper()
	notes, err := os.Create(filepath.Join(filepath.Dir(s.base), "stderr"))
	if err != nil {
		s.Fatal(err)
	}
	defer notes.Close()
	disk, stderr := fsx.OS, os.Stderr
	fsx.OS, os.Stderr = r, notes
	defer func() { fsx.OS, os.Stderr = disk, stderr }()
	root, out := newRoot(), new(bytes.Buffer)
	root.SetOut(out)
	root.SetErr(notes)
	root.SetArgs(args)
	if err = root.ExecuteContext(s.Context()); err != nil {
		printError(out, err)
	}
	log, readErr := os.ReadFile(notes.Name())
	if readErr != nil {
		s.Fatal(readErr)
	}
	return out.String() + string(log), err
}

// args are the arguments of a command that works in the run.
func (s *shaky) args(command string, more ...string) []string {
	return append([]string{command, "--run-dir", s.root, "--config", filepath.Join(filepath.Dir(s.base), "tiny.textproto"), "--quiet", "--log-level", "warn"}, more...)
}

// train are the arguments of a training of so many episodes.
func (s *shaky) train(episodes int, more ...string) []string {
	return append(s.args("train", "--episodes", fmt.Sprint(episodes)), more...)
}

// count takes the episodes that the first n operations of r told of.
func (s *shaky) count(r *memfs.Recorder, n int) {
	s.Helper()
	for _, o := range r.Ops()[:n] {
		if o.Kind != "write" || filepath.Base(o.Path) != "metrics.jsonl" {
			continue
		}
		for line := range bytes.Lines(o.Data) {
			var e struct {
				Type    string
				Episode int64
				GameID  string `json:"game_id"`
			}
			if json.Unmarshal(line, &e) == nil && e.Type == "episode" {
				s.counted[e.Episode] = e.GameID
			}
		}
	}
}

// cut cuts the power after n operations of r.
func (s *shaky) cut(r *memfs.Recorder, n int, fate memfs.Fate) {
	s.Helper()
	m, err := r.Replay(n)
	if err != nil {
		s.Fatalf("operation %d: %v", n, err)
	}
	m.Restart(fate)
	if err := os.RemoveAll(s.base); err != nil {
		s.Fatal(err)
	}
	if err := m.Export("/", s.base); err != nil {
		s.Fatal(err)
	}
	if err := filepath.WalkDir(s.base, s.boot); err != nil {
		s.Fatal(err)
	}
}

// boot gives a temporary file the name that a process before the latest start of this machine
// would have given it.
func (s *shaky) boot(path string, e fs.DirEntry, err error) error {
	before, ok := strings.CutSuffix(path, ".partial")
	if err != nil || !ok || !ownTemp.MatchString(path) {
		return err
	}
	if err := os.Rename(path, before[:len(before)-8]+"00000000.partial"); err != nil || !e.IsDir() {
		return err
	}
	return fs.SkipDir
}

// ownTemp finds temporary names with the machine's and its start's hash.
var ownTemp = regexp.MustCompile(`-[0-9a-f]{16}\.partial$`)

// check holds the finished run against the promises: nothing is damaged, and all games that
// were counted are there, once, and are the same episodes.
func (s *shaky) check(episodes int) {
	s.Helper()
	s.verify()
	dir, _, err := setup.OpenDir(s.root)
	if err != nil {
		s.Fatal(err)
	}
	entries, torn, err := run.ReadJournal(dir.Journal())
	if err != nil || torn > 0 || len(entries) != episodes {
		s.Fatalf("%d games in the journal, want %d: torn %d, %v", len(entries), episodes, torn, err)
	}
	onDisk := runtest.GamesOnDisk(s.T, s.root)
	for i, e := range entries {
		if !onDisk[e.Game] {
			s.Errorf("game %s of the journal is not on disk", e.Game)
		}
		if was, told := s.counted[int64(i)+1]; told && was != e.Game {
			s.Errorf("episode %d was game %s and is %s", i+1, was, e.Game)
		}
	}
}

// verify has chessbrain verify find nothing, and no temporary file left.
func (s *shaky) verify() {
	s.Helper()
	if out, err := command(s.T, "verify", s.root); err != nil {
		s.Errorf("verify: %v\n%s", err, out)
	}
	if left := runtest.Temps(s.T, s.root); len(left) > 0 {
		s.Errorf("left over: %v", left)
	}
}

// again runs a command to its end, as after a power cut, and checks what it made.
func (s *shaky) again(args []string, check func()) *memfs.Recorder {
	s.Helper()
	r := s.recorder()
	if told, err := s.on(r, args...); err != nil {
		s.Fatalf("it does not come up by itself:\n%s", told)
	}
	check()
	return r
}

// each does something for some of 0..n, about so many, and in the long form for all, in an
// empty place each time. what says for a message what a number is.
func (s *shaky) each(n, some int, what func(int) string, do func(int)) {
	s.Helper()
	rng, outer := rand.New(rand.NewPCG(uint64(n), 1)), s.T
	defer func() { s.T = outer }()
	for k := 0; k <= n; {
		outer.Run(fmt.Sprint(k), func(t *testing.T) {
			s.T = t
			s.empty()
			do(k)
			if t.Failed() {
				t.Log(what(k))
			}
		})
		if k++; !slow.On {
			k += rng.IntN(max(2*n/some-1, 1))
		}
	}
}
