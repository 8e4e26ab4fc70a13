package verify

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/run/ratings"
)

// loopTemplate is a finished run whose newest net came through the gatekeeper and
// was rated; its journal of cycles has three lines.
var loopTemplate = sync.OnceValues(func() (string, error) {
	dir, err := template()
	if err != nil {
		return "", err
	}
	run := filepath.Join(dir, "loop")
	if err := os.CopyFS(run, os.DirFS(filepath.Join(dir, "run"))); err != nil {
		return "", err
	}
	nets, err := filepath.Glob(filepath.Join(run, "models", "*.safetensors"))
	if err != nil || len(nets) < 2 {
		return "", fmt.Errorf("%v, %w", nets, err)
	}
	candidate, now := filepath.Join(run, "modelstobetested", "new.safetensors"), time.Now().Add(time.Hour)
	if err := os.MkdirAll(filepath.Dir(candidate), 0o777); err != nil {
		return "", err
	}
	if err := os.Rename(nets[len(nets)-1], candidate); err != nil {
		return "", err
	}
	if err := os.Chtimes(candidate, now, now); err != nil {
		return "", err
	}
	file, err := config.Parse("test.textproto", fmt.Appendf(nil,
		"run_dir: %q loop { gatekeeper { games: 4 visits: 2 max_plies: 9 workers: 1 } rating { games: 2 visits: 1 first: false opponents: 0 } }", run))
	if err != nil {
		return "", err
	}
	e, err := config.Resolve(config.Input{File: file})
	if err != nil {
		return "", err
	}
	log := slog.New(slog.DiscardHandler)
	if _, err := gate.Run(context.Background(), gate.Options{Effective: e, Once: true, Command: "test", Version: "test", Log: log}); err != nil {
		return "", err
	}
	if _, err := ratings.Play(context.Background(), ratings.Options{Effective: e, Command: "test", Version: "test", Log: log}); err != nil {
		return "", err
	}
	lines := ""
	for _, what := range []string{`1,"stage":"cycle","event":"begin"`, `1,"stage":"cycle","event":"end"`, `2,"stage":"cycle","event":"begin"`} {
		lines += `{"cycle":` + what + `,"time":"2026-03-04T05:06:07.8Z","seconds":1.5,"figures":{"games":2}}` + "\n"
	}
	return run, os.WriteFile(filepath.Join(run, "cycles.jsonl"), []byte(lines), 0o666)
})

// newLoopRun returns a copy of the run with a gatekeeper, which accepted new.
func newLoopRun(t *testing.T) string {
	t.Helper()
	template, err := loopTemplate()
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(run, os.DirFS(template)); err != nil {
		t.Fatal(err)
	}
	return run
}

// TestGoodLoop: the parts of a closed loop are read, nothing is wrong, nothing is
// changed, and each of them can be verified alone.
func TestGoodLoop(t *testing.T) {
	run := newLoopRun(t)
	before := tree(t, run)
	r := check(t, run)
	nets := len(paths(t, run, "models/*.safetensors"))
	if !r.OK() || r.Matches != 1+nets || r.MatchGames < 2+2*int64(nets) || r.Cycles != 3 || r.Catalogued != nets || r.PGNGames < 4+2+2*int64(nets) {
		t.Errorf("%+v", r)
	}
	if after := tree(t, run); len(after) != len(before) {
		t.Errorf("%d files, %d before", len(after), len(before))
	}
	for what, pattern := range map[string]string{"match": "gatekeeper/new/match.jsonl", "journal of cycles": "cycles.jsonl", "catalogue": "catalogue.json",
		"result of a match": "gatekeeper/new/result.json", "PGN": "gatekeeper/new/games.pgn"} {
		if r := check(t, glob(t, run, pattern)); !r.OK() || r.What != what {
			t.Errorf("%s: %+v", pattern, r)
		}
	}
	if r := check(t, glob(t, run, "matches/new__*.jsonl")); !r.OK() || r.What != "match" || r.MatchGames != 2 {
		t.Errorf("%+v", r)
	}
}

// paths returns all that fits a pattern in a run.
func paths(t *testing.T, run, pattern string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(run, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestBrokenLoops breaks one thing at a time: it is found, and nothing else is.
func TestBrokenLoops(t *testing.T) {
	appended := func(pattern, text string) func(t *testing.T, run string) {
		return func(t *testing.T, run string) {
			edit(t, glob(t, run, pattern), func(b []byte) []byte { return append(b, text...) })
		}
	}
	const match, result = "gatekeeper/new/match.jsonl", "gatekeeper/new/result.json"
	for name, c := range map[string]struct {
		damage func(t *testing.T, run string)
		want   []finding
	}{
		"torn match":      {appended(match, `{"game": 3`), []finding{{Torn, "match.jsonl", "not whole"}}},
		"nonsense match":  {appended(match, "x\n"), []finding{{Corrupt, "match.jsonl", "line"}}},
		"torn header":     {func(t *testing.T, run string) { put(t, run+"/matches/a__b.jsonl", `{"version`) }, []finding{{Torn, "a__b.jsonl", "not whole"}}},
		"no match at all": {func(t *testing.T, run string) { put(t, run+"/matches/a__b.jsonl", "") }, nil},
		"lost match":      {func(t *testing.T, run string) { remove(t, glob(t, run, match)) }, []finding{{Missing, "result.json", "there is no match.jsonl"}}},
		"short match":     {func(t *testing.T, run string) { edit(t, glob(t, run, match), dropLine) }, []finding{{Contradiction, "result.json", "match.jsonl has"}}},
		"result": {func(t *testing.T, run string) {
			edit(t, glob(t, run, result), func([]byte) []byte { return []byte("{") })
		}, []finding{{Corrupt, "result.json", ""}}},
		"other's result":  {func(t *testing.T, run string) { rename(t, run+"/gatekeeper/new", run+"/gatekeeper/other") }, []finding{{Contradiction, "result.json", "directory of other"}}},
		"torn cycles":     {appended("cycles.jsonl", `{"cyc`), []finding{{Torn, "cycles.jsonl", "not whole"}}},
		"nonsense cycles": {appended("cycles.jsonl", "x\n"), []finding{{Corrupt, "cycles.jsonl", "line 4"}}},
		"unknown event":   {appended("cycles.jsonl", `{"cycle":2,"stage":"gc","event":"stop","time":"2026-01-01T00:00:00Z"}`+"\n"), []finding{{Corrupt, "cycles.jsonl", "event \"stop\""}}},
		"falling cycles":  {appended("cycles.jsonl", `{"cycle":1,"stage":"gc","event":"end","time":"2026-01-01T00:00:00Z"}`+"\n"), []finding{{Contradiction, "cycles.jsonl", "line 4 is of cycle 1"}}},
		"cut cycles":      {func(t *testing.T, run string) { put(t, run+"/lastcycle.json", `{"cycle":2,"stage":"selfplay"}`) }, []finding{{Missing, "cycles.jsonl", "ends before stage selfplay of cycle 2"}}},
		"emptied cycles": {func(t *testing.T, run string) {
			put(t, run+"/lastcycle.json", `{"cycle":2,"stage":"selfplay"}`)
			put(t, run+"/cycles.jsonl", "")
		}, []finding{{Missing, "cycles.jsonl", "ends before stage selfplay of cycle 2"}}},
		"catalogue": {func(t *testing.T, run string) { put(t, run+"/catalogue.json", "x") }, []finding{{Corrupt, "catalogue.json", "not a catalogue"}}},
		"accepted twice": {func(t *testing.T, run string) {
			copyFile(t, run+"/models/new.safetensors", run+"/modelstobetested/new.safetensors")
		}, []finding{{Duplicate, "modelstobetested/new.safetensors", "accepted already"}}},
		"moved by hand": {func(t *testing.T, run string) {
			rename(t, run+"/models/new.safetensors", run+"/rejectedmodels/new.safetensors")
		}, []finding{{Contradiction, "rejectedmodels/new.safetensors", "decided otherwise"}}},
		"damaged reject":    {func(t *testing.T, run string) { put(t, run+"/rejectedmodels/x.safetensors", "xxxxxxxxx") }, []finding{{Corrupt, "x.safetensors", ""}}},
		"nothing to export": {func(t *testing.T, run string) { put(t, run+"/toexport/n/readme", "x") }, []finding{{Orphan, "toexport/n", "without a net"}}},
		"waiting to be exported": {func(t *testing.T, run string) {
			if err := os.MkdirAll(run+"/toexport/n", 0o777); err != nil {
				t.Fatal(err)
			}
			copyFile(t, run+"/models/new.safetensors", run+"/toexport/n/net.safetensors")
		}, nil},
		"net to export is damaged": {func(t *testing.T, run string) { put(t, run+"/toexport_extra/n/net.safetensors", "xxxxxxxxx") }, []finding{{Corrupt, "net.safetensors", ""}}},
		"a net is gone":            {func(t *testing.T, run string) { remove(t, run+"/models/new.safetensors") }, nil},
		"PGN of a match":           {appended("gatekeeper/new/games.pgn", "1. e4 e4 *\n"), []finding{{Corrupt, "games.pgn", "ply 2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			run := newLoopRun(t)
			c.damage(t, run)
			r := check(t, run)
			for _, p := range r.Problems {
				if p.Remedy == "" || !wanted(p, c.want) {
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

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data := filetest.Read(t, from)
	put(t, to, string(data))
}

// TestMatchEnds: the end and the result of a game must be those of its board.
func TestMatchEnds(t *testing.T) {
	mated, quiet := []string{"f3", "e5", "g4", "Qh4"}, []string{"e4"}
	for _, c := range []struct {
		moves  []string
		result int8
		end    arena.End
		word   string // "" = nothing is wrong
	}{
		{mated, -1, "checkmate", ""},
		{mated, 1, "checkmate", "another result"},
		{mated, 0, "stalemate", "the board says checkmate"},
		{quiet, 0, "fifty-moves", "the board says unknown"},
		{quiet, 0, "max-plies", ""},
		{quiet, 1, "max-plies", "no draw"},
		{quiet, 1, "resign", ""},
		{quiet, -1, "illegal-move", ""},
	} {
		g := arena.Game{Start: chess.StartBoard(), WhiteResult: c.result, End: c.end}
		b := g.Start
		for _, text := range c.moves {
			m, err := b.ParseSAN(text)
			if err != nil {
				t.Fatal(err)
			}
			g.Moves = append(g.Moves, m)
			b.Make(m)
		}
		path := filepath.Join(t.TempDir(), "matches", "a__b.jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		log, _, err := arena.OpenLog(fsx.OS, path, arena.LogHeader{})
		if err == nil {
			err = log.Add(&g)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		r := check(t, path)
		if (c.word == "") != r.OK() || c.word != "" && !strings.Contains(r.Problems[0].Reason, c.word) {
			t.Errorf("%v %d %s: %v", c.moves, c.result, c.end, r.Problems)
		}
	}
}

// TestLiveLoop: at work, what is being written and moved is no problem.
func TestLiveLoop(t *testing.T) {
	run := newLoopRun(t)
	lock, err := fsx.Acquire(filepath.Join(run, "locks", "gatekeeper"), fsx.LockOptions{Command: "gatekeeper"})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	for _, path := range []string{"gatekeeper/new/match.jsonl", "cycles.jsonl"} {
		edit(t, filepath.Join(run, path), func(b []byte) []byte { return append(bytes.Clone(b), "{"...) })
	}
	copyFile(t, run+"/models/new.safetensors", run+"/modelstobetested/new.safetensors")
	if r := check(t, run); !r.OK() {
		t.Errorf("%v", r.Problems)
	}
}
