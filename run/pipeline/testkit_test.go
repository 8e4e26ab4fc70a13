package pipeline

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/replay/shuffle"
)

const testT = "20260102_030405"

// tiny is a run of all steps on 12 games below dir.
func tiny(dir string) Options {
	selector, _ := prepare.ParseSelector("all", 0)
	return Options{Base: filepath.Join(dir, "data"), T: testT, Steps: AllSteps(), Cleanup: true,
		Settings: map[string][]string{"num-games": {"12"}},
		Games:    Games{NumGames: 12, NumWorkers: 2, Parallel: 4, CacheSize: 1000, Temperature: 1, Visits: 6},
		Rows:     Rows{ChunkSize: 100, Selector: selector, Workers: 2, Buckets: 2, MaxSamples: 1000},
		Training: Training{Results: filepath.Join(dir, "results"), Epochs: 1, Seed: 5,
			Config: ConfigSource{Overrides: []string{"model.net=16x1", "selfplay.max_plies=10", "training.batch_size=16",
				"training.validation.share=0.3"}},
			Version: "test", Command: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil))}}
}

// stopAt ends ctx when a log line with message and text in its attributes comes.
type stopAt struct {
	slog.Handler
	message, text string
	stop          context.CancelFunc
}

func (h stopAt) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if r.Message == h.message && a.Value.String() == h.text {
			h.stop()
		}
		return true
	})
	return nil
}

func (h stopAt) WithAttrs([]slog.Attr) slog.Handler { return h }

// mustRun runs to the end.
func mustRun(t *testing.T, opt Options) *State {
	t.Helper()
	s, err := Run(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Done {
		t.Fatalf("not done: %+v", s)
	}
	return s
}

// shuffleIn reads the marker of a directory's newest shuffle.
func shuffleIn(t *testing.T, dir string) *shuffle.Manifest {
	t.Helper()
	_, at, err := prepare.ReadShuffle(dir)
	if err != nil || at == "" {
		t.Fatalf("no shuffle in %s: %v", dir, err)
	}
	m, err := shuffle.Verify(context.Background(), fsx.OS, at)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// gamesIn reads all games below a directory.
func gamesIn(t *testing.T, dir string) []*record.Game {
	t.Helper()
	files, err := prepare.ListInputs(fsx.OS, []prepare.Input{{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	var all []*record.Game
	for _, f := range files {
		games, info, err := replay.ReadChunk(fsx.OS, f.Path)
		if err != nil || len(info.Damage) > 0 {
			t.Fatal(err, info)
		}
		all = append(all, games...)
	}
	return all
}

// tree lists the files below a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
