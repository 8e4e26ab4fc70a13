package cycle_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/cycle"
)

// small makes a cycle of less than a second: twelve short games of a very small net.
const small = `
run_dir: %q
selfplay { games_per_worker: 4 max_plies: 12 }
mcts { simulations: 4 }
model { arch { conv_tower { filters: 8 blocks: 1 } value_hidden: 8 moves_left_hidden: 8 } }
training { threads: 1 batch_size: 8 samples_per_epoch: 32 validation { share: 0.1 max_rows: 16 } }
loop { cycles: 1 games_per_cycle: 12 samples_per_cycle: 64 shuffle { min_rows: 60 }
       gatekeeper { games: 4 visits: 4 max_plies: 12 } }
`

// One cycle: from an empty directory through all stages. The gatekeeper comes first and
// tests the net of the cycle before; in the first cycle there is none. The journal says
// which stages were done. A start after a kill reads it and continues with the stage
// that it names.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "cycle")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := oneCycle(dir); err != nil {
		fmt.Println(err)
		return
	}
	lines, err := cycle.ReadJournal(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range lines {
		if line.Cycle == 1 && line.Event != cycle.Begin {
			fmt.Println(strings.TrimSpace(fmt.Sprint(line.Stage, " ", line.Event, " ", line.Reason)))
		}
	}
	// Output:
	// gatekeeper skip no net waits to be tested
	// rating skip no net is accepted yet
	// selfplay end
	// shuffle end
	// train end
	// export end
	// gc end
	// cycle end
}

// oneCycle runs the closed loop in dir until its stop condition holds.
func oneCycle(dir string) error {
	file, err := config.Parse("small.textproto", fmt.Appendf(nil, small, dir))
	if err != nil {
		return err
	}
	e, err := config.Resolve(config.Input{File: file})
	if err != nil {
		return err
	}
	_, err = cycle.Run(context.Background(), cycle.Options{Effective: e, Command: "example", Log: slog.New(slog.DiscardHandler)})
	return err
}
