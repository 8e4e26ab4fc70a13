package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/prepare"
)

// positionsOptions are the flags of positions.
type positionsOptions struct {
	prepare.Options
	selector string
	seed     uint64
}

func newPositions() *cobra.Command {
	var o positionsOptions
	c := &cobra.Command{
		Use:   "positions DIR... --out DIR --position-selector SELECTOR",
		Short: "Choose which positions of games are trained on",
		Long: `Copies games into a directory of their own in which only chosen positions are rows: the others keep their
moves and get weight 0. Games without a chosen row are left out. SELECTOR is all, final (the last row of a game),
penultimate (the one before it), every-K (each K-th row, from a random one of the first K) or one-per-game (at
random). The choice depends on --seed and a game's id alone. A stopped command goes on.`,
		Example: "  chessbrain positions games --out chosen --position-selector every-4",
		Args:    someArgs("name directories of games"),
		RunE:    func(c *cobra.Command, args []string) error { return o.run(c, args) },
	}
	f := c.Flags()
	f.StringVar(&o.Out, "out", "", "directory for the games; new, empty, or of the same command")
	f.StringVar(&o.selector, "position-selector", prepare.SelectAll, "all, final, penultimate, every-K or one-per-game")
	f.Uint64Var(&o.seed, "seed", 1, "of the random choices")
	f.IntVar(&o.ChunkSize, "chunk-size", 10000, "games a file")
	f.IntVar(&o.Workers, "max-workers-process", runtime.GOMAXPROCS(0), "files read at once")
	bindJSON(c, "print the manifest as one JSON object")
	return c
}

// run chooses and prints what came of it.
func (o *positionsOptions) run(c *cobra.Command, dirs []string) error {
	var err error
	o.Select, err = prepare.ParseSelector(o.selector, o.seed)
	switch {
	case err != nil:
		return usageError{fmt.Errorf("--position-selector: %w", err)}
	case o.Out == "":
		return usagef("--out: name a directory for the games")
	case o.ChunkSize < 1 || o.Workers < 1 || o.Workers > 1024:
		return usagef("--chunk-size %d, --max-workers-process %d: want 1 or more, and 1 to 1024", o.ChunkSize, o.Workers)
	}
	for _, dir := range dirs {
		o.Inputs = append(o.Inputs, prepare.Input{Dir: dir})
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	m, err := prepare.Process(ctx, o.Options)
	switch {
	case errors.Is(err, context.Canceled):
		return interruptedf("interrupted; whole files are kept in %s, and the same command goes on", o.Out)
	case errors.Is(err, prepare.ErrNoInput), errors.Is(err, prepare.ErrOther), errors.Is(err, prepare.ErrForeign):
		return usageError{err}
	case err != nil:
		return pathError(err)
	}
	if wantsJSON(c) {
		return printJSON(c, m)
	}
	n := m.Counts
	_, err = fmt.Fprintf(c.OutOrStdout(), "%d of %s, %d rows of %s -> %s (%s)\n", n.Games, monitor.Count(n.Read, "game"), n.Rows, monitor.Count(n.Positions, "position"), o.Out, monitor.Count(len(m.Files), "file"))
	if n.Damaged > 0 {
		return errors.Join(err, corruptf("%d damaged stretches of the input were left out; chessbrain verify names them", n.Damaged))
	}
	return err
}
