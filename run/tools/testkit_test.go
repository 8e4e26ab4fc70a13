package tools

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

// tiny makes a run of a second: 24 steps, checkpoints at steps 0, 6, ... 24, some
// validation games, averages, a blend that changes. The rule of 50 moves ends some games,
// the limit others. It computes in fp32 everywhere.
const tiny = `
name: "toy"
run_dir: %q
selfplay { episodes: 8 max_plies: 12 openings { positions { fen: "4k3/r7/8/8/8/8/R7/4K3 w - - 92 90" } positions { fen: "4k2r/6pp/8/8/8/8/PP6/R3K3 w - - 0 1" } } }
mcts { simulations: 2 cache_entries: 100 }
model { arch { conv_tower { filters: 8 blocks: 1 } value_channels: 4 value_hidden: 8 moves_left_channels: 2 moves_left_hidden: 8 } }
training { threads: 1 amp: OFF batch_size: 4 steps_per_episode: 3 swa { period: 4 } validation { share: 0.3 every: 4 max_rows: 16 } checkpoint { interval: 2 keep_last: 20 }
  losses { head: POLICY kind: CROSS_ENTROPY weight: 1 metric: "policy_loss" }
  losses { head: VALUE kind: WDL_CROSS_ENTROPY q_ratio_schedule: "1@0,0.5@16" weight: 0.25 metric: "value_loss" }
  losses { head: MOVES_LEFT kind: HUBER weight: 0.1 metric: "moves_left_loss" }
  losses { head: WEIGHTS kind: L2 weight: 1e-3 metric: "l2_loss" } }
`

var quiet = slog.New(slog.DiscardHandler)

// shared is a tiny run that tests only read.
var shared struct {
	once sync.Once
	dir  string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.dir != "" {
		if err := os.RemoveAll(filepath.Dir(shared.dir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// sharedRun returns the run that tests only read.
func sharedRun(t *testing.T) string {
	t.Helper()
	shared.once.Do(func() {
		root, err := os.MkdirTemp("", "tools-test-")
		if err != nil {
			t.Fatal(err)
		}
		shared.dir = filepath.Join(root, "toy")
		trainRun(t, shared.dir)
	})
	return shared.dir
}

// newRun trains a tiny run that a test may change and returns its directory.
func newRun(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "toy")
	trainRun(t, dir)
	return dir
}

func trainRun(t *testing.T, dir string) {
	t.Helper()
	if _, err := train.Train(context.Background(), train.Options{Training: setup.TrainingOf(resolve(t, fmt.Sprintf(tiny, dir))), Command: "test", Version: "test", Log: quiet}); err != nil {
		t.Fatal(err)
	}
}

// resolve returns the effective configuration of a text.
func resolve(t *testing.T, text string) *config.Effective {
	t.Helper()
	e, err := config.Resolve(config.Input{Path: writeConfig(t, text)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.textproto")
	filetest.Write(t, path, text)
	return path
}

func openRun(t *testing.T, path string) *Subject {
	t.Helper()
	s, err := OpenRun(path, SubjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openRows(t *testing.T, s *Subject, data string) *Rows {
	t.Helper()
	r, err := OpenRows(context.Background(), s, data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// treeOf is a hash of all names and contents below a directory, but those below
// the entry except.
func treeOf(t *testing.T, dir, except string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == except {
			return fs.SkipDir
		}
		fmt.Fprintln(sum, path)
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			_, err = sum.Write(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// isInput says whether an error is one of what was asked for.
func isInput(err error) bool {
	_, ok := errors.AsType[inputError](err)
	return ok
}
