package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/spawn"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// bench is a host with its programs and all that it said.
type bench struct {
	*Host
	t   testing.TB
	dir string // shared with the plugins; the programs are in bin

	mu     sync.Mutex
	events []Event
	kept   []*record.Game
	lines  strings.Builder
	pauses []time.Duration
}

// newBench makes a host for programs of the given names; adjust may be nil.
func newBench(t testing.TB, names []string, adjust func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	bin := filepath.Join(b.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		link(t, filepath.Join(bin, name))
	}
	o := Options{
		Builtin: sample.Definitions(), Dirs: []string{bin}, Env: []string{pluginEnv + "=" + b.dir, "GORACE=atexit_sleep_ms=0"},
		StartTimeout: time.Minute, CallTimeout: time.Minute,
		Log: slog.New(slog.NewTextHandler(locked{b}, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Notify: func(e Event) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.events = append(b.events, e)
		},
		Quarantine: func(kind stage.Kind, name, reason string, games []*record.Game) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.kept = append(b.kept, games...)
			return nil
		},
		after: func(d time.Duration) <-chan time.Time {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.pauses = append(b.pauses, d)
			now := make(chan time.Time)
			close(now)
			return now
		},
	}
	if adjust != nil {
		adjust(&o)
	}
	var err error
	if b.Host, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(b.log())
		}
	})
	return b
}

// link puts the test binary there as a program, which no group may write.
func link(t testing.TB, path string) {
	t.Helper()
	self, err := os.Executable()
	if err == nil {
		err = errors.Join(os.Chmod(self, 0o755), os.Symlink(self, path))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// locked writes the log.
type locked struct{ b *bench }

func (l locked) Write(p []byte) (int, error) {
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	return l.b.lines.Write(p)
}

func (b *bench) log() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lines.String()
}

// states returns the states of all events so far.
func (b *bench) states() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, e := range b.events {
		all = append(all, e.State)
	}
	return all
}

// rescorer makes the rescorer of a program.
func (b *bench) rescorer(name string) stage.BatchRescorer {
	b.t.Helper()
	r, err := b.Rescorer(b.t.Context(), stage.Choice{Name: name})
	if err != nil {
		b.t.Fatal(err)
	}
	return r.(stage.BatchRescorer)
}

// rescored returns what a rescorer makes of games.
func rescored(t *testing.T, r stage.BatchRescorer, games []*record.Game) []*record.Game {
	t.Helper()
	got, err := r.RescoreBatch(inTime(t), games)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// report reads what a process said of itself.
func (b *bench) report(name string) pluginReport {
	b.t.Helper()
	return readReport(b.t, b.dir, name)
}

func readReport(t testing.TB, dir, name string) pluginReport {
	t.Helper()
	path := filepath.Join(dir, "report-"+name)
	eventually(t, path+" is there", func() bool { _, err := os.Stat(path); return err == nil })
	data, err := os.ReadFile(path)
	var r pluginReport
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// eventually polls what the system reports only when asked.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// alive says whether a process is there and not only its exit status.
func alive(pid int) bool {
	if runtime.GOOS != "linux" {
		return !spawn.Gone(pid)
	}
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// kill ends a process from outside.
func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// randomGames returns n valid games of up to 80 random moves with weights.
func randomGames(t testing.TB, n int) []*record.Game {
	t.Helper()
	seed := rand.Uint64() // printed below
	t.Logf("games of seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	games := make([]*record.Game, n)
	for i := range games {
		g := &record.Game{ID: record.GameID(seed, 0, uint64(i)), NetID: "net", Seed: 1, Ordinal: uint64(i), End: record.EndAborted}
		h := chess.NewHistory(chess.StartBoard())
		for most := 1 + rng.IntN(80); ; {
			var l chess.MoveList
			h.Board().GenerateMoves(&l)
			if l.N == 0 { // nobody aborts a game that is over
				g.Plies = g.Plies[:len(g.Plies)-1]
			}
			if l.N == 0 || len(g.Plies) == most {
				break
			}
			p := record.Ply{Move: l.Moves[rng.IntN(l.N)], Kind: record.PolicyCounts, Counts: make([]uint32, l.N), Weight: 1 + rng.Float32(),
				Root: encoding.UnknownQDM, Best: encoding.UnknownQDM, Played: encoding.UnknownQDM, Orig: encoding.UnknownQDM}
			p.Counts[rng.IntN(l.N)] = 800
			g.Plies = append(g.Plies, p)
			h.Push(p.Move)
		}
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		games[i] = g
	}
	return games
}

// expectHalved compares games with what the plugin should have made of them;
// those in kept stay as they are.
func expectHalved(t *testing.T, games, got []*record.Game, kept ...*record.Game) {
	t.Helper()
	if len(got) != len(games) {
		t.Fatalf("%d games for %d", len(got), len(games))
	}
	for i, g := range games {
		want := halved(g, 0.5)
		if slices.Contains(kept, g) {
			want = g
		}
		if err := sameGame(want, got[i]); err != nil {
			t.Fatalf("game %d of %d: %v", i, len(games), err)
		}
	}
}

func sameGame(want, got *record.Game) error {
	a, err := record.Append(nil, want)
	if err != nil {
		return err
	}
	b, err := record.Append(nil, got)
	if err == nil && string(a) != string(b) {
		err = fmt.Errorf("%x with first weight %v, want %x with %v", got.ID, firstWeight(got), want.ID, firstWeight(want))
	}
	return err
}

func firstWeight(g *record.Game) float32 {
	if len(g.Plies) == 0 {
		return 0
	}
	return g.Plies[0].Weight
}

// inTime bounds a test's calls: a hang shows as an error.
func inTime(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// shortTemp makes an empty directory the one for temporary files.
func shortTemp(t *testing.T) string {
	t.Helper()
	t.TempDir() // the test's own are made elsewhere from here on
	dir, err := os.MkdirTemp("/tmp", "cb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	return dir
}
