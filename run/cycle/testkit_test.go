package cycle

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// tiny makes a cycle of less than a second: short games of a very small net.
const tiny = `
selfplay { games_per_worker: 4 max_plies: 12 }
mcts { simulations: 4 cache_entries: 100 }
model { arch { conv_tower { filters: 8 blocks: 1 } value_channels: 4 value_hidden: 8 moves_left_channels: 2 moves_left_hidden: 8 } }
training { threads: 1 batch_size: 8 samples_per_epoch: 32 validation { share: 0.1 max_rows: 16 } }
loop {
  games_per_cycle: 12 samples_per_cycle: 64
  shuffle { min_rows: 60 keep_target_rows: 500 taper_window_scale: 60 }
  gatekeeper { games: 4 visits: 4 opening_plies: 4 max_plies: 12 }
  rating { games: 2 opponents: 1 visits: 2 }
}
`

// resolve returns the effective configuration of a run in dir; words of more that
// begin with -- are flags of chessbrain run.
func resolve(t testing.TB, dir, more string) *config.Effective {
	t.Helper()
	e, err := resolveText(dir, more)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func resolveText(dir, more string) (*config.Effective, error) {
	flags := config.NewFlagSet(config.RunGroups...)
	var overrides []string
	for _, word := range strings.Fields(more) {
		name, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		known := name == "override-config"
		if known {
			overrides = append(overrides, value)
		}
		for _, v := range flags.Values() {
			if v.Flag().Name == name {
				known = true
				if err := v.Set(value); err != nil {
					return nil, err
				}
			}
		}
		if !known {
			return nil, fmt.Errorf("no flag %s", word)
		}
	}
	file, err := config.Parse("test.textproto", []byte(fmt.Sprintf("run_dir: %q\n%s", dir, tiny)))
	if err != nil {
		return nil, err
	}
	return config.Resolve(config.Input{File: file, Flags: flags, Overrides: overrides})
}

// logTo is a logger whose lines a test can look at.
func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// write makes a file of some text.
func write(t testing.TB, path, text string) {
	t.Helper()
	filetest.Write(t, path, text)
}
