package cycle

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/setup"
)

// DryRun checks configuration, inputs and disk, and prints the effective
// configuration and what each stage of a cycle would read and write. It creates
// nothing.
func DryRun(e *config.Effective, w io.Writer) error {
	settled, err := Settle(e)
	if err != nil {
		return err
	}
	if err := setup.DryRun(settled, w); err != nil {
		return err
	}
	c := settled.Config
	l, t := c.GetLoop(), c.GetTraining()
	root := c.GetRunDir()
	path := func(name string) string { return filepath.Join(root, name) }
	var b strings.Builder
	row := func(stage Stage, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s  %s\n", stage, fmt.Sprintf(format, args...))
	}
	entries, err := ReadJournal(root)
	if err != nil {
		return err
	}
	s := NewState(entries)
	fmt.Fprintf(&b, "a cycle, beginning with number %d:\n", s.Cycle)
	if g := l.GetGatekeeper(); l.GetGating() {
		row(Gatekeeper, "%s -> %s or %s; a match of %d games, %d visits a move", path(testedDir), path(modelsDir), path(rejectedDir), g.GetGames(), g.GetVisits())
	}
	if n := l.GetRating().GetGames(); n > 0 {
		row(Rating, "matches of %d games -> %s", n, path(matchesDir))
	}
	row(SelfPlay, "%s -> %s; %d games", path(modelsDir), path(selfplayDir), l.GetGamesPerCycle())
	row(Shuffle, "%s -> %s; from %d rows on, about %d kept", path(selfplayDir), path(shuffledDir), l.GetShuffle().GetMinRows(), l.GetShuffle().GetKeepTargetRows())
	row(Train, "%s -> %s; epochs of %d samples, %g for each new row, at most %d a cycle", path(shuffledDir), path(toExportDir), epochSamples(c),
		t.GetBucket().GetPerNewRow(), l.GetSamplesPerCycle())
	to := testedDir
	if !l.GetGating() {
		to = modelsDir
	}
	row(Export, "%s -> %s", path(toExportDir), path(to))
	row(GC, "the newest %d shuffles and %d rejected nets stay", l.GetRetention().GetShuffles(), l.GetRetention().GetRejected())
	if stop := s.stop(l); stop != "" {
		fmt.Fprintf(&b, "nothing more is to be done: %s\n", stop)
	}
	_, err = io.WriteString(w, b.String())
	return err
}
