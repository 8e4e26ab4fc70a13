package gate

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
)

// quick makes a match of a moment in which every game is a draw: the limit of
// plies ends it one ply after its opening, and an opening leaves no mate in one.
const quick = `games: 6 visits: 2 opening_plies: 8 max_plies: 9 workers: 1`

// resolve returns the configuration of a run with such a match and more fields of
// the gatekeeper.
func resolve(t *testing.T, root, more string) *config.Effective {
	t.Helper()
	e, err := resolveText(root, more)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// resolveText is resolve of fields that may be refused: "games=40 sprt.enabled=true".
func resolveText(root, more string) (*config.Effective, error) {
	file, err := config.Parse("test.textproto", []byte(fmt.Sprintf("run_dir: %q job_id: \"job\" loop { gatekeeper { %s } }", root, quick)))
	if err != nil {
		return nil, err
	}
	var overrides []string
	for _, field := range strings.Fields(more) {
		overrides = append(overrides, "loop.gatekeeper."+field)
	}
	return config.Resolve(config.Input{File: file, Overrides: overrides})
}

func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// options are those of a gatekeeper that ends when there is nothing to test.
func options(t *testing.T, root, more string, readers ...monitor.Sink) Options {
	return Options{Effective: resolve(t, root, more), Once: true, Command: "test", Version: "test",
		Log: discard(), Readers: readers}
}

// decisions tests what waits and returns what was decided.
func decisions(t *testing.T, root, more string, readers ...monitor.Sink) []*Result {
	t.Helper()
	s, err := Run(context.Background(), options(t, root, more, readers...))
	if err != nil {
		t.Fatal(err)
	}
	return s.Results
}

// putNet writes a candidate as if at a time, in seconds.
func putNet(t *testing.T, path string, seed uint64, at int64) {
	t.Helper()
	arch := nntest.Named("8x1")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(w io.Writer) error { return nn.WriteSafetensors(w, nn.Init(arch, seed), nil) }
	if err := fsx.WriteFileFunc(fsx.OS, path, write); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Unix(at, 0), time.Unix(at, 0)); err != nil {
		t.Fatal(err)
	}
}

// candidate is the path of a net to test, and the others where it may be.
func candidate(root, net string) string {
	return filepath.Join(root, "modelstobetested", net+run.NetSuffix)
}

// names lists a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// holds fails unless a directory of the run has exactly these entries, sorted.
func holds(t *testing.T, root, dir string, want ...string) {
	t.Helper()
	if got := names(t, filepath.Join(root, dir)); !slices.Equal(got, append([]string{}, want...)) {
		t.Errorf("%s holds %v, want %v", dir, got, want)
	}
}

// logged returns the games in the log of a net's match, each once by number.
func logged(t *testing.T, root, net string) []arena.Game {
	t.Helper()
	_, games, err := arena.ReadLog(fsx.OS, filepath.Join(root, "gatekeeper", net, LogName))
	if err != nil {
		t.Fatal(err)
	}
	for i := range games {
		if i > 0 && games[i].Number == games[i-1].Number {
			t.Errorf("game %d is there twice", games[i].Number)
		}
	}
	return games
}
