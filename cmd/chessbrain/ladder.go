package main

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/arena/ladder"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/ratings"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
)

// ladderOptions are the flags of ladder.
type ladderOptions struct {
	ladder.Options
	limits            []string
	engine            string
	device, precision string
}

func newLadder() *cobra.Command {
	var o ladderOptions
	c := &cobra.Command{
		Use:   "ladder NET",
		Short: "Place a net on the ladder of frozen opponents",
		Long: `Plays a net against the rungs of the ladder, from random moves over the greedy player
and Stockfish's skill levels to Stockfish with a fixed number of nodes (ladder rungs
lists them). For each of --limits it finds the rungs that matter, plays pairs of games
until the rating's 95 % interval is within --error, and prints score and error a rung.

Without Stockfish it plays the rungs that do not need it, and says so. The games of
a net of a run are kept in RUN/ladder: after a stop the same command goes on with them.
NET is ` + tools.NetForms + `.`,
		Example: `  chessbrain ladder runs/a
  chessbrain ladder net.safetensors --limits 100ms --error 25
  chessbrain ladder runs/a@5000 --limits 400 --rungs greedy,skill-0 --games 400`,
		Args: exactArgs(1, "name one net, got %d arguments; want "+tools.NetForms),
		RunE: func(c *cobra.Command, args []string) error { return o.climb(c, args[0]) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.limits, "limits", []string{"1", "100", "400", "100ms"}, "visits, or a time, for each move of the net; one climb each")
	f.Float64Var(&o.Error, "error", 40, "Elo: half of the 95 % interval that is small enough")
	f.StringSliceVar(&o.Rungs, "rungs", nil, "play these rungs, each with all --games (default: as the climb finds them)")
	f.StringVar(&o.Keep, "keep", "", "directory that keeps the games, to go on from (default: in the net's run; without a run none)")
	bindPlayDevice(c, &o.device, "auto", &o.precision)
	o.bind(c)
	bindJSON(c, "one JSON object")
	c.AddCommand(newLadderRungs())
	return c
}

// bind registers the flags that the two commands share.
func (o *ladderOptions) bind(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&o.Games, "games", 400, "games against a rung at most, an even number")
	f.StringVar(&o.engine, "engine", "stockfish", "Stockfish's program")
	f.Uint64Var(&o.Seed, "seed", 1, "of openings and players")
	f.IntVar(&o.Workers, "workers", runtime.GOMAXPROCS(0), "threads that play")
}

// validate says what is out of range.
func (o *ladderOptions) validate() error {
	if o.Games < 2 || o.Games%2 != 0 || o.Games > 100_000 {
		return usagef("--games %d: want an even number, 2 to 100000", o.Games)
	}
	if !(o.Error >= 0) {
		return usagef("--error %v: want 0 or more", o.Error)
	}
	return between("workers", o.Workers, 1, 1024)
}

// findEngine finds Stockfish, or tells what cannot be known without it.
func (o *ladderOptions) findEngine(c *cobra.Command) {
	var err error
	if o.Options.Engine, err = ladder.FindEngine(c.Context(), o.engine); err != nil {
		tell(c)("no rungs of Stockfish, a net above the greedy player cannot be placed: %v", err)
	} else if doubt := o.Options.Engine.Doubt(); doubt != "" {
		tell(c)("%s", doubt)
	}
}

// climb places a net.
func (o *ladderOptions) climb(c *cobra.Command, spec string) (err error) {
	if len(o.limits) == 0 {
		return usagef("--limits: name visits or a time, such as 100 or 100ms")
	}
	var limits []ladder.Limit
	for _, text := range o.limits {
		l, err := ladder.ParseLimit(text)
		if err != nil {
			return usagef("--limits: %w", err)
		}
		limits = append(limits, l)
	}
	if err := o.validate(); err != nil {
		return err
	}
	device, err := playDevice(c, o.device, o.precision)
	if err != nil {
		return err
	}
	net, err := openPlayingNet(device, spec, tools.NetForms)
	if err != nil {
		return err
	}
	defer closeAfter(&err, net)
	o.findEngine(c)
	o.Tell = tell(c)
	if o.Keep == "" && net.net.Run != "" {
		o.Keep = run.LadderOf(net.net.Run, net.Name())
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	if err := net.Warm(ctx, 1); err != nil {
		return o.stopped(err)
	}
	a := &ladder.Result{Net: net.Name(), NetID: net.ID(), Seed: o.Seed}
	a.Device, a.Precision = setup.DescribePlayers(device)
	if o.Options.Engine != nil {
		a.Engine = o.Options.Engine.Name
	}
	climber := &ratings.Climber{NetPlayer: net.NetPlayer, Name: net.Name(), NetID: net.ID(), Search: net.Search()}
	for _, l := range limits {
		r, err := climber.Climb(ctx, l, o.Options)
		if r != nil && r.Games > 0 {
			a.Climbs = append(a.Climbs, r)
		}
		if errors.Is(err, context.Canceled) {
			return errors.Join(o.stopped(err), answer(c, a))
		}
		if errors.Is(err, ladder.ErrRung) {
			return usagef("--rungs: %w", err)
		}
		if err != nil {
			return err
		}
	}
	if len(a.Climbs) == 0 {
		return errors.New("the ladder: no game counts: the rungs that were asked for need an engine, and there is none that works")
	}
	if o.Keep != "" {
		if err := run.WriteJSON(filepath.Join(o.Keep, run.LadderName), a); err != nil {
			return err
		}
	}
	return answer(c, a)
}

// stopped says of the end by a signal whether the same command goes on.
func (o *ladderOptions) stopped(err error) error {
	switch {
	case !errors.Is(err, context.Canceled):
		return err
	case o.Keep == "":
		return interruptedf("interrupted")
	}
	return interruptedf("interrupted; the same command goes on")
}

func newLadderRungs() *cobra.Command {
	var o ladderOptions
	c := &cobra.Command{
		Use:   "rungs",
		Short: "List the rungs of the ladder, or measure their places anew",
		Long: `Prints the rungs with their places as a table of Markdown. With --games it measures the
places: each rung plays so many games against each of the next ones, which takes an hour
or more, and the table has what came out.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			rungs := ladder.Rungs()
			if c.Flags().Changed("games") {
				if err := o.validate(); err != nil {
					return err
				}
				o.findEngine(c)
				o.Tell = tell(c)
				ctx, stop := interruptible(c.Context())
				defer stop()
				var err error
				if rungs, err = ladder.Calibrate(ctx, o.Options); err != nil {
					return o.stopped(err)
				}
			}
			return answerLines(c, rungs, ladder.WriteRungs)
		},
	}
	o.bind(c)
	bindJSON(c, "a JSON object a rung")
	c.Flags().StringVar(&o.Keep, "keep", "", "directory that keeps the games, to go on from")
	return c
}
