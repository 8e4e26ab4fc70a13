package setup

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
)

// TestSearchTables: the tables of the configuration reach the search of
// self-play; a directory without any and a broken file are refused.
func TestSearchTables(t *testing.T) {
	game := func(path string) error {
		t.Helper()
		e := overridden(t, "mcts.syzygy_path="+path)
		g, err := GameConfig(e.Config)
		if err != nil {
			return err
		}
		if g.Search.Prober == nil {
			return errors.New("the search has no tables")
		}
		b := chesstest.Board(t, "8/8/8/8/1k6/8/1K2Q3/8 b - - 0 1")
		if wdl, ok := g.Search.Prober.Probe(&b); !ok || wdl != -1 {
			t.Errorf("KQvK, the lone king to move: %d, %v", wdl, ok)
		}
		return nil
	}
	g, err := GameConfig(config.Defaults())
	if err != nil || g.Search.Prober != nil {
		t.Errorf("without a path: %v, %v", g.Search.Prober, err)
	}
	broken := t.TempDir()
	filetest.Write(t, filepath.Join(broken, "KQvK.rtbw"), "no table")
	for _, path := range []string{t.TempDir(), broken, filepath.Join(broken, "none")} {
		var fault *config.Error
		if err := game(path); !errors.As(err, &fault) || fault.Field != "mcts.syzygy_path" {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := game(golden.Path(t, "syzygy")); err != nil {
		t.Error(err)
	}
}
