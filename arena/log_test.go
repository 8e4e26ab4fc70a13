package arena

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
)

// header returns the header of a log.
func header() LogHeader {
	return LogHeader{
		Players: [2]LogPlayer{{Name: "a", NetID: "n1", SHA256: "ab", Settings: "visits=8"}, {Name: "greedy"}},
		Seed:    7, Openings: "o", MaxPlies: 100, Rules: "syzygy", Program: "p 1", Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// someGames plays a few games, one of them from a Chess960 position and one that
// a player failed in.
func someGames(t testing.TB) []Game {
	t.Helper()
	book := append(openings(t, 3), Opening{Board: chesstest.Board(t, "nrk1brnb/pp1ppppp/8/2p5/8/1P6/P1PPPPPP/NRKBBRN1 b FBfb - 3 20")})
	games := play(t, Config{Players: [2]Player{Random(), Greedy()}, Openings: book, Seed: 2, MaxPlies: 60}).Games
	games[3].End, games[3].Note = EndEngineDied, "it \"crashed\"\nbadly"
	return games
}

// fill writes games into a new log.
func fill(t testing.TB, fsys fsx.FS, path string, games []Game) {
	t.Helper()
	l, found, err := OpenLog(fsys, path, header())
	if err != nil || len(found) != 0 {
		t.Fatalf("%d games, %v", len(found), err)
	}
	for i := range games {
		if err := l.Add(&games[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLog: games read back as they were, by number, and the header keeps its
// beginning.
func TestLog(t *testing.T) {
	path, games := filepath.Join(t.TempDir(), "m.jsonl"), someGames(t)
	mixed := slices.Clone(games)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(mixed), func(i, k int) { mixed[i], mixed[k] = mixed[k], mixed[i] })
	fill(t, fsx.OS, path, mixed)
	later := header()
	later.Program, later.Began = "p 2", time.Now()
	l, got, err := OpenLog(fsx.OS, path, later)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	h, again, err := ReadLog(fsx.OS, path)
	want := header()
	want.Version = 1
	if err != nil || !reflect.DeepEqual(h, want) {
		t.Errorf("header %+v, %v", h, err)
	}
	for _, read := range [][]Game{got, again} {
		if !reflect.DeepEqual(read, games) {
			t.Errorf("%d games read back as %d others", len(games), len(read))
		}
	}
}

// TestLogFormat holds what is on disk.
func TestLogFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.jsonl")
	o := Opening{Board: chesstest.Board(t, "4k3/P7/8/8/8/8/8/4K2R w K - 0 1")}
	g := Game{Number: 5, White: 1, Start: o.Board, WhiteResult: 1, End: EndTime, Note: "late"}
	b := o.Board
	for _, text := range []string{"e1g1", "e8d7", "a7a8n"} {
		m, err := b.ParseUCI(text)
		if err != nil {
			t.Fatal(err)
		}
		g.Moves = append(g.Moves, m)
		b.Make(m)
	}
	fill(t, fsx.OS, path, []Game{g})
	text := filetest.Read(t, path)
	const want = `{"version":1,"players":[{"name":"a","net_id":"n1","sha256":"ab","settings":"visits=8"},{"name":"greedy"}],"seed":7,"openings":"o","max_plies":100,"rules":"syzygy","program":"p 1","began":"2026-01-02T03:04:05Z"}
{"game":5,"white":1,"start":"4k3/P7/8/8/8/8/8/4K2R w K - 0 1","moves":"e1h1 e8d7 a7a8n","opening_plies":0,"white_result":1,"end":"time-forfeit","note":"late"}
`
	if string(text) != want {
		t.Errorf("got\n%s", text)
	}
}

// TestLogTorn cuts a log at every byte of its last line and of its header: the
// whole lines are kept, and the next game follows them.
func TestLogTorn(t *testing.T) {
	m, games := memfs.New(), someGames(t)[:3]
	fill(t, m, "whole", games)
	text, err := fsx.ReadFile(m, "whole")
	if err != nil {
		t.Fatal(err)
	}
	headEnd := bytes.IndexByte(text, '\n') + 1
	lastStart := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	for cut := range text {
		if cut >= headEnd && cut < lastStart {
			continue
		}
		if err := fsx.WriteFile(m, "cut", text[:cut]); err != nil {
			t.Fatal(err)
		}
		keep := 0
		if cut >= lastStart {
			keep = 2
			if _, read, err := ReadLog(m, "cut"); err != nil || len(read) != 2 {
				t.Fatalf("cut at %d: reading %d games, %v", cut, len(read), err)
			}
		} else if _, _, err := ReadLog(m, "cut"); err == nil {
			t.Fatalf("cut at %d: a log without header is read", cut)
		}
		l, got, err := OpenLog(m, "cut", header())
		if err != nil || !reflect.DeepEqual(got, append([]Game(nil), games[:keep]...)) {
			t.Fatalf("cut at %d: %d games, %v", cut, len(got), err)
		}
		for i := keep; i < 3; i++ {
			err = errors.Join(err, l.Add(&games[i]))
		}
		if err := errors.Join(err, l.Close()); err != nil {
			t.Fatal(err)
		}
		if after, err := fsx.ReadFile(m, "cut"); err != nil || !bytes.Equal(after, text) {
			t.Fatalf("cut at %d: mended to\n%s", cut, after)
		}
	}
}

// TestLogPowerCut cuts the power at every operation: games that Add acknowledged
// are there, each once, and the log can be gone on with.
func TestLogPowerCut(t *testing.T) {
	games := someGames(t)
	fates := []memfs.Fate{memfs.DropAll, memfs.KeepAll, memfs.Random(1), memfs.Random(2), memfs.Random(3)}
	for k := 1; ; k++ {
		tripped := false
		for f, fate := range fates {
			m, acknowledged := memfs.New(), 0
			m.CutAt(k)
			if l, _, err := OpenLog(m, "m.jsonl", header()); err == nil {
				for ; acknowledged < len(games); acknowledged++ {
					if l.Add(&games[acknowledged]) != nil {
						break
					}
				}
			}
			tripped = m.Tripped()
			m.Restart(fate)
			l, got, err := OpenLog(m, "m.jsonl", header())
			if err != nil || len(got) < acknowledged || len(got) > acknowledged+1 || !reflect.DeepEqual(got, append([]Game(nil), games[:len(got)]...)) {
				t.Fatalf("cut at operation %d, fate %d: %d games, %d were acknowledged: %v", k, f, len(got), acknowledged, err)
			}
			for i := len(got); i < len(games); i++ {
				if err := l.Add(&games[i]); err != nil {
					t.Fatal(err)
				}
			}
			if _, all, err := ReadLog(m, "m.jsonl"); err != nil || !reflect.DeepEqual(all, games) {
				t.Fatalf("cut at operation %d, fate %d: gone on with, %d games: %v", k, f, len(all), err)
			}
		}
		if !tripped {
			if k < 2*len(games) {
				t.Fatalf("only %d operations", k)
			}
			return
		}
	}
}

// TestLogOtherMatch: a log of another match is refused and says why; one without
// games is begun anew.
func TestLogOtherMatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.jsonl")
	fill(t, fsx.OS, path, someGames(t)[:1])
	before, _ := os.ReadFile(path)
	other := header()
	other.Players[0].NetID, other.Players[1].Settings, other.Seed, other.Rules = "n2", "x", 8, ""
	_, _, err := OpenLog(fsx.OS, path, other)
	var refused *OtherMatchError
	if !errors.As(err, &refused) || refused.Path != path {
		t.Fatal(err)
	}
	want := []string{"player 1 net: n1 in the log, n2 now", "player 2 settings: none in the log, x now", "seed: 7 in the log, 8 now", "rules: syzygy in the log, none now"}
	if !slices.Equal(refused.Differences, want) {
		t.Errorf("%q", refused.Differences)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("it was changed")
	}
	empty := path + "2"
	fill(t, fsx.OS, empty, nil)
	l, _, err := OpenLog(fsx.OS, empty, other)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if h, _, err := ReadLog(fsx.OS, empty); err != nil || h.Seed != 8 {
		t.Errorf("%+v, %v", h, err)
	}
}

// A short log.
const (
	logHead = `{"version":1,"players":[{"name":"a"},{"name":"b"}],"seed":1,"openings":"","max_plies":9,"began":"2026-01-02T03:04:05Z"}` + "\n"
	logLine = `{"game":0,"white":0,"moves":"e2e4","opening_plies":0,"white_result":0,"end":"max-plies"}` + "\n"
)

// TestLogCorrupt holds the errors of logs that are damaged.
func TestLogCorrupt(t *testing.T) {
	const head, game = logHead, logLine
	for want, text := range map[string]string{
		"line 1: header: ":                       "{}x\n",
		"line 1: there is no header":             "",
		"version 2, this program reads 1":        strings.Replace(head, ":1", ":2", 1),
		"line 2: unexpected EOF":                 head + "{\"game\":1\n" + game,
		"line 3: game 0 is there twice":          head + game + game,
		`unknown field "x"`:                      head + `{"x":1}` + "\n",
		"more than one object":                   head + strings.TrimSpace(game) + "{}\n",
		"game 0, ply 1: ":                        head + strings.Replace(game, "e2e4", "e2e5", 1),
		"game 0: ":                               head + strings.Replace(game, `"moves"`, `"start":"x","moves"`, 1),
		"2 plies of opening in a game of 1":      head + strings.Replace(game, `plies":0`, `plies":2`, 1),
		"game -1 with white 0":                   head + strings.Replace(game, `"game":0`, `"game":-1`, 1),
		"white_result 2":                         head + strings.Replace(game, `result":0`, `result":2`, 1),
		`end ""`:                                 head + strings.Replace(game, "max-plies", "", 1),
		"line 2: a line of more than a megabyte": head + strings.Repeat("a", 2<<20),
	} {
		path := filepath.Join(t.TempDir(), "m")
		filetest.Write(t, path, text)
		_, _, err := ReadLog(fsx.OS, path)
		if _, ok := errors.AsType[*CorruptError](err); !ok || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// FuzzLog: whatever a log holds, reading it gives games that can be written and
// read again, or an error.
func FuzzLog(f *testing.F) {
	f.Add([]byte(logHead + logLine))
	f.Add([]byte(logHead + `{"game":3,"white":1,"start":"4k3/P7/8/8/8/8/8/4K2R w K - 0 1","moves":"e1h1 e8d7 a7a8n","opening_plies":1,"white_result":1,"end":"x","note":"y"}` + "\n" + logLine[:20]))
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		log, err := parseLog(bytes.NewReader(data), "log")
		if err != nil || log.header == nil {
			return
		}
		m := memfs.New()
		l, _, err := OpenLog(m, "again", *log.header)
		if err != nil {
			t.Fatal(err)
		}
		for i := range log.games {
			if err := l.Add(&log.games[i]); err != nil {
				t.Fatal(err)
			}
		}
		if _, games, err := ReadLog(m, "again"); err != nil || !reflect.DeepEqual(games, log.games) {
			t.Fatalf("%+v reads back as %+v, %v", log.games, games, err)
		}
	})
}

// TestHashOpenings: it tells openings, their order and their moves apart.
func TestHashOpenings(t *testing.T) {
	a := openings(t, 3)
	b := []Opening{a[1], a[0], a[2]}
	c := []Opening{a[0], a[1], {Board: a[2].Board, Moves: a[2].Moves[:7]}}
	seen := map[string]bool{}
	for _, o := range [][]Opening{a, b, c, a[:2], nil} {
		seen[HashOpenings(o)] = true
	}
	if len(seen) != 5 || HashOpenings(a) != HashOpenings(openings(t, 3)) {
		t.Errorf("%d hashes of 5 lists", len(seen))
	}
}
