package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// saved returns what a section saves.
func saved(t testing.TB, s stage.Section) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// writeGames writes one sealed file of games into dir and returns its path.
func writeGames(t testing.TB, dir string, games ...*record.Game) string {
	t.Helper()
	before, err := filepath.Glob(filepath.Join(dir, "*.games"))
	if err != nil {
		t.Fatal(err)
	}
	w := replay.NewWriter(fsx.OS, dir, replay.WriterOptions{NetID: "n"})
	for _, g := range games {
		if err := w.Append(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		t.Fatal(err)
	}
	after, err := filepath.Glob(filepath.Join(dir, "*.games"))
	if err != nil || len(after) != len(before)+1 {
		t.Fatal(after, err)
	}
	after = slices.DeleteFunc(after, func(p string) bool { return slices.Contains(before, p) })
	return after[0]
}

// randomGames returns games from..to-1 of about 20 plies.
func randomGames(t testing.TB, from, to uint64) (games []*record.Game) {
	for seed := from; seed < to; seed++ {
		games = append(games, randomRecord(t, seed, 20, true))
	}
	return games
}

// rowKey names a row by its content, for counting: rows of different positions
// differ in it as good as always.
func rowKey(b *encoding.TrainBatch, i int) string {
	return fmt.Sprint(b.Masks[i], b.Scalars[i], b.LegalOf(i), b.PolicyOf(i), b.Targets[i], b.Weight[i])
}

// countRows counts rows by content.
func countRows(counts map[string]int, b *encoding.TrainBatch) {
	for i := range b.N {
		counts[rowKey(b, i)]++
	}
}

// wantRows counts the rows of games as record.Replayer makes them.
func wantRows(t testing.TB, games []*record.Game) (counts map[string]int, total int) {
	counts = map[string]int{}
	for _, g := range games {
		b, _ := rowsOf(t, g, 0)
		countRows(counts, b)
		total += b.N
	}
	return counts, total
}

// same compares two countings.
func same(t testing.TB, what string, got, want map[string]int) {
	t.Helper()
	for key, n := range want {
		if got[key] != n {
			t.Errorf("%s: a row came %d times, want %d", what, got[key], n)
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d kinds of rows, want %d", what, len(got), len(want))
	}
}

// readAll reads an output to its end in batches of the given rows and checks
// that only the last is short.
func readAll(t testing.TB, next func(context.Context, *Batch) error, rows int) (counts map[string]int, total int) {
	t.Helper()
	counts = map[string]int{}
	b, short := encoding.NewTrainBatch(rows), false
	for {
		b.Reset()
		err := next(context.Background(), b)
		if errors.Is(err, io.EOF) {
			return counts, total
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.N == 0 || short {
			t.Fatalf("a batch of %d rows after %d, short before: %v", b.N, total, short)
		}
		short = b.N < rows
		total += b.N
		countRows(counts, b)
	}
}

// noLeaks fails if more goroutines are there at the end than at the beginning.
func noLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		buf := make([]byte, 1<<16)
		for range 1000 { // they end at once, but not before they are scheduled
			if runtime.NumGoroutine() <= before {
				return
			}
			runtime.Gosched()
		}
		t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
	})
}

// Supervised: over both branches every row of every game comes once, the last
// batch short, whatever the sizes are; and the split keeps games whole.
func TestLoaderSupervised(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	games := randomGames(t, 0, 40)
	for i := 0; i < len(games); i += 8 {
		writeGames(t, filepath.Join(dir, fmt.Sprint("net", i)), games[i:i+8]...)
	}
	want, total := wantRows(t, games)
	l, err := New(wholeGraph(dir), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	validation, err := l.Output("validation")
	if err != nil {
		t.Fatal(err)
	}
	got, n := readAll(t, l.Next, 13)
	other, m := readAll(t, validation.Next, 7)
	if n+m != total || n == 0 || m == 0 {
		t.Errorf("%d + %d rows, want %d", n, m, total)
	}
	for key, k := range other {
		if got[key] != 0 {
			t.Error("a row is on both sides")
		}
		got[key] += k
	}
	same(t, "both sides", got, want)
	s := l.Stats()
	if s.Quarantined != 0 || !s.ScanDone || len(s.Stages) != 11 {
		t.Errorf("%+v", s)
	}
	for _, st := range s.Stages {
		for _, o := range st.Outputs {
			if o.Puts != o.Gets || o.Puts == 0 || o.Drops != 0 {
				t.Errorf("%s: %+v", o.Name, o.QueueStats)
			}
		}
	}
	if _, err := l.Output("nothing"); err == nil || !strings.Contains(err.Error(), "train, validation") {
		t.Error(err)
	}
}

// TestLoaderRows: once all chunks are unpacked, the rows to come are known exactly, also
// from a checkpoint on; those of an endless pool and of other graphs never are.
func TestLoaderRows(t *testing.T) {
	dir := t.TempDir()
	writeGames(t, dir, randomGames(t, 0, 12)...)
	graph := func(epochs, mixed int) Config {
		c := Config{Outputs: []string{"train"}, Stages: []StageConfig{provider("files", dir), reader("reader", "files"),
			stageOf("pool", "reader", func(c *StageConfig) {
				c.ShufflingChunkPool = &ShufflingChunkPool{ChunkPoolSize: 100, Threads: 1, Epochs: epochs}
			}),
			unpackStage("unpack", "pool"), tensors("train", "unpack", 8)}}
		if mixed > 0 {
			c.Stages[4] = tensors("train", "mix", 8)
			c.Stages = append(c.Stages, stageOf("mix", "unpack", func(c *StageConfig) {
				c.ShufflingFrameSampler = &ShufflingFrameSampler{Threads: 1, ReservoirSizePerThread: mixed}
			}))
		}
		return c
	}
	next := func(l *Loader) {
		t.Helper()
		if err := l.Next(t.Context(), encoding.NewTrainBatch(8)); err != nil {
			t.Fatal(err)
		}
	}
	_, total := wantRows(t, randomGames(t, 0, 12))
	for _, mixed := range []int{0, 50, 10_000} {
		l := mustNew(t, graph(3, mixed), Options{})
		if rows, ok := l.Rows(); ok {
			t.Errorf("before the start: %d rows", rows)
		}
		for range 2 * total / 8 {
			next(l)
		}
		if rows, ok := l.Rows(); !ok || rows < int64(3*total)*9/10 || rows > int64(3*total)*11/10 {
			t.Errorf("sampler of %d: after two passes of %d rows %d are to come in all, %v", mixed, total, rows, ok)
		}
		later := mustNew(t, graph(3, mixed), Options{})
		if err := later.Section().Load(strings.NewReader(saved(t, l.Section())), loaderVersion); err != nil {
			t.Fatal(err)
		}
		for _, l := range []*Loader{l, later} {
			_, n := readAll(t, l.Next, 8)
			if rows, ok := l.Rows(); !ok || rows != int64(n) && l == later || rows != int64(3*total) && l != later {
				t.Errorf("sampler of %d: at the end %d rows, %v; %d came last", mixed, rows, ok, n)
			}
		}
	}
	for _, c := range []Config{graph(0, 0), chain(dir, nil)} {
		l := mustNew(t, c, Options{})
		next(l)
		if rows, ok := l.Rows(); ok {
			t.Errorf("%d rows of what has no end, or is no pool", rows)
		}
	}
}

// Two stages that work in parallel keep the order, so the rows come as with one.
func TestLoaderOrder(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		writeGames(t, filepath.Join(dir, fmt.Sprint(i)), randomGames(t, uint64(5*i), uint64(5*i+5))...)
	}
	var first []string
	for _, threads := range []int{1, 4} {
		l := mustNew(t, chain(dir, func(c *Config) {
			c.Stages[1].ChunkSourceReader.Threads = threads
			c.Stages[3].ChunkRescorer.Threads = threads
		}), Options{})
		var rows []string
		b := encoding.NewTrainBatch(16)
		for {
			b.Reset()
			if err := l.Next(t.Context(), b); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for i := range b.N {
				rows = append(rows, rowKey(b, i))
			}
		}
		l.Close()
		if first == nil {
			first = rows
		}
		if !slices.Equal(rows, first) {
			t.Errorf("%d threads: other rows or another order", threads)
		}
	}
}

// chain is a graph without branches, changed by change.
func chain(dir string, change func(*Config)) Config {
	c := Config{Outputs: []string{"train"}, Stages: []StageConfig{provider("files", dir), reader("reader", "files"), extractor("all", "reader", 1),
		rescorer("rescored", "all", 1, resultOf(1)), unpackStage("unpack", "rescored"), tensors("train", "unpack", 8)}}
	if change != nil {
		change(&c)
	}
	return c
}

func mustNew(t testing.TB, c Config, o Options) *Loader {
	t.Helper()
	l, err := New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// resultOf is a rescorer that gives every game a result.
type resultOf int8

func (r resultOf) Name() string { return "result" }
func (r resultOf) Rescore(_ context.Context, g *record.Game) (*record.Game, error) {
	if g.End != record.EndUnknown || g.WhiteResult == int8(r) {
		return g, nil
	}
	c := g.Clone()
	c.WhiteResult = int8(r)
	return c, nil
}

// A rescorer in its own stage and in the reader teach the same.
func TestLoaderRescores(t *testing.T) {
	dir := t.TempDir()
	games := randomGames(t, 0, 10)
	writeGames(t, dir, games...)
	changed := make([]*record.Game, len(games))
	for i, g := range games {
		changed[i], _ = resultOf(1).Rescore(t.Context(), g)
	}
	want, _ := wantRows(t, changed)
	before, _ := wantRows(t, games)
	if fmt.Sprint(before) == fmt.Sprint(want) {
		t.Fatal("the rescorer changes nothing")
	}
	got, _ := readAll(t, mustNew(t, chain(dir, nil), Options{}).Next, 32)
	same(t, "own stage", got, want)
	got, _ = readAll(t, mustNew(t, chain(dir, func(c *Config) {
		c.Stages[1].ChunkSourceReader.Rescorers = []stage.Rescorer{resultOf(1)}
		c.Stages = slices.Delete(c.Stages, 3, 4)
		c.Stages[3].Inputs = []string{"all"}
	}), Options{}).Next, 32)
	same(t, "reader", got, want)
}

// A file that is damaged, a file that is none, and a chunk that a rescorer
// refuses are named; everything else arrives.
func TestLoaderQuarantine(t *testing.T) {
	dir := t.TempDir()
	games := randomGames(t, 0, 12)
	good := writeGames(t, filepath.Join(dir, "good"), games[:6]...)
	bad := writeGames(t, filepath.Join(dir, "bad"), games[6:]...)
	data := filetest.Read(t, bad)
	data[len(data)/2] ^= 1
	for path, content := range map[string][]byte{bad: data, filepath.Join(dir, "x.gz"): []byte("no gzip"), filepath.Join(dir, "empty.games"): nil} {
		filetest.Write(t, path, content)
	}
	refused := games[2].ID
	l := mustNew(t, chain(dir, func(c *Config) { c.Stages[3].ChunkRescorer.Rescorers = []stage.Rescorer{refusing(refused)} }), Options{})
	want, _ := wantRows(t, slices.Concat(games[:2], games[3:6]))
	got, _ := readAll(t, l.Next, 32)
	same(t, "good rows", got, want)
	s := l.Stats()
	var names []string
	for _, q := range s.Quarantine {
		names = append(names, q.Name)
	}
	wantNames := []string{"bad/" + filepath.Base(bad), "empty.games", "good/" + filepath.Base(good) + "[2]", "x.gz"}
	if s.Quarantined != 4 || !slices.Equal(names, wantNames) {
		t.Errorf("%d: %q, want %q", s.Quarantined, names, wantNames)
	}
	for _, q := range s.Quarantine {
		if !strings.Contains(q.Error, filepath.Base(strings.Split(q.Name, "[")[0])) {
			t.Errorf("%s: the message names no file: %s", q.Name, q.Error)
		}
	}
}

// refusing is a rescorer that refuses the game with its id.
type refusing [16]byte

func (r refusing) Name() string { return "refusing" }
func (r refusing) Rescore(_ context.Context, g *record.Game) (*record.Game, error) {
	if g.ID == r {
		return nil, errors.New("not this one")
	}
	return g, nil
}

// Reinforcement learning: files that come while it runs are learnt, a file that
// is repaired too, and chunks_to_wait is kept.
func TestLoaderWatches(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	games := randomGames(t, 0, 12)
	writeGames(t, dir, games[:4]...)
	l := mustNew(t, chain(dir, func(c *Config) {
		*c.Stages[0].FilePathProvider = FilePathProvider{Directory: dir, Watch: true, PollSeconds: 0.01}
	}), Options{})
	read := func(b *encoding.TrainBatch) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Next(ctx, b); err != nil {
			t.Fatal(err, l.Stats())
		}
	}
	rows := func(games []*record.Game) int {
		n := 0
		for _, g := range games {
			b, _ := rowsOf(t, g, 0)
			n += b.N
		}
		return n / 8 * 8 // the rest waits in the tensor generator
	}
	if err := l.WaitForChunks(t.Context(), 3, nil); err != nil {
		t.Fatal(err)
	}
	read(encoding.NewTrainBatch(rows(games[:4])))
	waited := make(chan error)
	asked := make(chan [2]int, 100)
	go func() {
		waited <- l.WaitForChunks(t.Context(), 3, func(have, want int) { asked <- [2]int{have, want} })
	}()
	if got := <-asked; got != [2]int{0, 2} { // 3 + 3 - 4
		t.Errorf("have and want: %v", got)
	}
	writeGames(t, dir, games[4:6]...)
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	read(encoding.NewTrainBatch(rows(games[:6]) - rows(games[:4])))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.WaitForChunks(ctx, 3, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := l.WaitForChunks(ctx, 0, nil); err != nil {
		t.Errorf("supervised: %v", err)
	}
	l.Close()
	if err := l.Next(t.Context(), encoding.NewTrainBatch(1)); !errors.Is(err, replay.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A stage that fails ends the loader, and Next says which.
func TestLoaderStageFails(t *testing.T) {
	noLeaks(t)
	l := mustNew(t, wholeGraph(filepath.Join(t.TempDir(), "missing")), Options{})
	err := l.Next(t.Context(), encoding.NewTrainBatch(1))
	if e, ok := errors.AsType[*StageError](err); !ok || e.Stage != "files" || !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := l.WaitForChunks(t.Context(), 1, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("wait: %v", err)
	}
}

// Close at any moment ends all goroutines, also of a loader that never ran.
func TestLoaderClose(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	writeGames(t, dir, randomGames(t, 0, 10)...)
	for rows := range 40 {
		l, err := New(wholeGraph(dir), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if rows > 0 {
			if err := l.Next(t.Context(), encoding.NewTrainBatch(rows)); err != nil {
				t.Fatal(err)
			}
		}
		l.Close()
		l.Close()
	}
}

// Next gives up with its context, keeps what it has, and goes on.
func TestLoaderNextContext(t *testing.T) {
	dir := t.TempDir()
	games := randomGames(t, 0, 3)
	writeGames(t, dir, games...)
	l := mustNew(t, chain(dir, func(c *Config) {
		*c.Stages[0].FilePathProvider = FilePathProvider{Directory: dir, Watch: true, PollSeconds: 0.01}
	}), Options{})
	_, total := wantRows(t, games)
	b := encoding.NewTrainBatch(total/8*8 + 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for l.Stats().Stages[5].Outputs[0].Gets < uint64(total/8) {
			runtime.Gosched()
		}
		cancel()
	}()
	if err := l.Next(ctx, b); !errors.Is(err, context.Canceled) || b.N != total/8*8 {
		t.Fatalf("%d of %d rows, %v", b.N, total, err)
	}
	writeGames(t, dir, randomGames(t, 3, 6)...)
	if err := l.Next(t.Context(), b); err != nil || b.N != total/8*8+1 {
		t.Errorf("%d rows, %v", b.N, err)
	}
}
