package cycle

import (
	"fmt"
	"io"
	"strings"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/train"
)

// DryRun checks configuration, inputs and disk, and prints the effective
// configuration and what each stage of a cycle would read and write. It creates
// nothing.
func DryRun(e *config.Effective, w io.Writer) error {
	c, err := Settle(e)
	if err != nil {
		return err
	}
	if err := train.DryRun(c.Effective, w); err != nil {
		return err
	}
	entries, err := ReadJournal(c.Root)
	if err != nil {
		return err
	}
	dir, s := run.Dir{Root: c.Root}, NewState(entries)
	var b strings.Builder
	row := func(stage Stage, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s  %s\n", stage, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "a cycle, beginning with number %d:\n", s.Cycle)
	to := dir.Models()
	if c.Gating {
		to = dir.Candidates()
		row(Gatekeeper, "%s -> %s or %s; a match of %d games, %d visits a move", to, dir.Models(), dir.Rejected(), c.GateGames, c.GateVisits)
	}
	if c.RatingGames > 0 {
		row(Rating, "matches of %d games -> %s", c.RatingGames, dir.Matches())
	}
	row(SelfPlay, "%s -> %s; %d games", dir.Models(), dir.Selfplay(), c.GamesPerCycle)
	row(Shuffle, "%s -> %s; from %d rows on, about %d kept", dir.Selfplay(), dir.Shuffled(), c.Shuffle.Window.MinRows, c.Shuffle.Window.KeepRows)
	row(Train, "%s -> %s; epochs of %d samples, %g for each new row, at most %d a cycle", dir.Shuffled(), dir.ToExport(), c.EpochSamples,
		c.PerNewRow, c.SamplesPerCycle)
	row(Export, "%s -> %s", dir.ToExport(), to)
	row(GC, "the newest %d shuffles and %d rejected nets stay", c.KeepShuffles, c.KeepLosers)
	if stop := s.stop(c); stop != "" {
		fmt.Fprintf(&b, "nothing more is to be done: %s\n", stop)
	}
	_, err = io.WriteString(w, b.String())
	return err
}
