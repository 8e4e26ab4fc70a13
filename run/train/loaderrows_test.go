package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// graph is a data_loader section over the games below a directory.
func graph(dir, pool string) string {
	return fmt.Sprintf(`data_loader {
  stage { name: "files" file_path_provider { directory: %q watch: false } }
  stage { name: "reader" input: "files" chunk_source_reader {} }
  stage { name: "split" input: "reader" chunk_source_splitter { output { name: "train" weight: 0.7 } output { name: "held" weight: 0.3 } } }
  stage { name: "pool" input: "split.train" shuffling_chunk_pool { %s } }
  stage { name: "unpack" input: "pool" chunk_unpacker {} }
  stage { name: "train" input: "unpack" tensor_generator { batch_size: 4 } }
  stage { name: "every" input: "split.held" simple_chunk_extractor {} }
  stage { name: "unpack_held" input: "every" chunk_unpacker {} }
  stage { name: "validation" input: "unpack_held" tensor_generator { batch_size: 4 } }
  output: "train" output: "validation" }`, dir, pool)
}

// TestSourceLoader: all rows once and then the end; a run without an end stops
// at its steps and goes on; graph faults have their place.
func TestSourceLoader(t *testing.T) {
	games := t.TempDir() + "/games"
	train(t, games, "")
	dir := run.Dir{Root: games}.Selfplay()

	once := t.TempDir() + "/once"
	s, log := train(t, once, "--source=loader "+graph(dir, "epochs: 1"))
	if !strings.Contains(log, "all rows were trained on") || s.Last == nil || s.Last.Rows == 0 {
		t.Fatalf("%+v\n%s", s, log)
	}
	rows := 0
	for _, g := range gamesOf(t, dir) {
		rows += len(g.Plies)
	}
	// The validation pass holds out what the splitter gave it, at most 16 rows.
	if int(s.Samples) >= rows || int(s.Samples) < rows/3 {
		t.Errorf("trained on %d of %d rows", s.Samples, rows)
	}

	endless := t.TempDir() + "/endless"
	more := "--source=loader --swa-period=2 " + graph(dir, "epochs: 0")
	s, _ = train(t, endless, more+" --steps=5")
	if s.Steps != 5 {
		t.Errorf("%d steps, want 5", s.Steps)
	}
	if s, log = train(t, endless, more+" --steps=9"); s.Steps != 9 || strings.Contains(log, "all rows") {
		t.Errorf("%d steps, want 9\n%s", s.Steps, log)
	}

	_, _, err := tryTrain(t, t.Context(), t.TempDir()+"/bad", `--source=loader data_loader { stage { name: "x" input: "y" chunk_unpacker {} } output: "x" }`)
	if _, ok := errors.AsType[config.Errors](err); !ok || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("a bad graph: %v", err)
	}
}

// TestLoaderWithoutRows: a training whose loader has no rows says that it waits,
// and stops when it is told to.
func TestLoaderWithoutRows(t *testing.T) {
	told := make(chan Live, 1)
	ended := make(chan error, 1)
	e := runtest.Resolve(t, t.TempDir()+"/run", "--source=loader "+watching(t.TempDir()))
	go func() {
		_, err := Train(t.Context(), Options{Training: setup.TrainingOf(e), Command: "test", Version: "test", Log: runtest.LogTo(t.Output()), Commands: func(c Live) { told <- c }})
		ended <- err
	}()
	commands := <-told
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	limit := time.After(time.Minute)
	for page := (Page{}); page.Stage != "waiting" || page.Pace["waiting"] == nil; page = commands.Status().(Page) {
		select {
		case <-look.C:
		case err := <-ended:
			t.Fatalf("it does not wait: %v", err)
		case <-limit:
			t.Fatalf("it waits and says %+v", page)
		}
	}
	commands.Stop()
	if err := <-ended; !errors.Is(err, run.ErrInterrupted) {
		t.Errorf("stopped while it waits: %v", err)
	}
}

// TestLoaderWithoutHeldOut: a loader that holds no rows out is waited for once, says so
// once, and no longer than the run lasts.
func TestLoaderWithoutHeldOut(t *testing.T) {
	text := strings.NewReplacer("weight: 0.7", "weight: 1", "weight: 0.3", "weight: 0", "watch: false", "poll_seconds: 0.05").Replace(graph(t.TempDir(), ""))
	cfg := setup.TrainingOf(runtest.Resolve(t, t.TempDir()+"/run", "--source=loader "+text))
	var log bytes.Buffer
	open := func() *loaderRows {
		l, _, err := cfg.OpenLoader(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		s := &loaderRows{loader: l, most: cfg.Validation.Rows, log: runtest.LogTo(&log)}
		if s.held, err = l.Output(heldOutOutput); err != nil {
			t.Fatal(err)
		}
		return s
	}
	ended, end := context.WithCancel(t.Context())
	end()
	s := open()
	s.Ahead(ended)
	began := time.Now()
	for range 3 {
		if rows, err := s.HeldOut(t.Context(), 4); rows != nil || err != nil {
			t.Errorf("%v, %v", rows, err)
		}
	}
	if n := strings.Count(log.String(), "few rows to validate on"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
	s = open()
	s.waited = true
	s.Ahead(t.Context())
	if rows, err := s.HeldOut(t.Context(), 4); rows != nil || err != nil {
		t.Errorf("%v, %v", rows, err)
	}
	if took := time.Since(began); took >= heldOutWait {
		t.Errorf("it waited for %v", took)
	}
}

// TestMemory: the newest rows are kept, and a pass gives copies of them in order.
func TestMemory(t *testing.T) {
	m := memory{most: 5}
	b := encoding.NewTrainBatch(3)
	for i := range 12 {
		row := b.Grow(1)
		b.Weight[row] = float32(i)
		if b.N == 3 {
			m.add(b)
			b.Reset()
		}
	}
	if m.rows() != 6 {
		t.Fatalf("%d rows kept, want 6", m.rows())
	}
	got := encoding.NewTrainBatch(4)
	pass := m.source(5)
	var weights []float32
	for pass.Next(t.Context(), got) == nil {
		weights = append(weights, got.Weight[:got.N]...)
		got.Reset()
	}
	if fmt.Sprint(weights) != "[6 7 8 9 10]" {
		t.Errorf("rows %v", weights)
	}
}

// gamesOf returns the games below a directory.
func gamesOf(t testing.TB, dir string) (games []*record.Game) {
	t.Helper()
	if _, err := replay.WalkGames(t.Context(), fsx.OS, dir, func(_ string, g *record.Game) error {
		games = append(games, g)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return games
}
