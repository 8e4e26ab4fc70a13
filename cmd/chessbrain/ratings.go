package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/ratings"
	"github.com/chessbrain/chessbrain/run/setup"
)

// ratingOptions are the flags of ratings.
type ratingOptions struct {
	play, rebuild  bool
	lockWait, poll time.Duration
	games          int32
	opponents      int32
	visits         int32
	random, first  bool
	engine         string
	nodes          []int64
	skill          []int32
	device         string
}

func newRatings() *cobra.Command {
	var o ratingOptions
	c := &cobra.Command{
		Use:   "ratings [RUN]",
		Short: "Rating list of a run's nets and their opponents, with errors; play the matches that are missing",
		Long: `Rates all nets of a run by all matches in it, the gatekeeper's and rating matches. Prints Elo with its 95 %
interval and brings the index RUN/catalogue.json up to date. It may be called while the run is at work. The player
of random moves is the zero.

With --play it first plays what is missing: each accepted net against the nets before it, the first net, random
moves and, with --engine, a UCI engine. What is not given as a flag is taken from the section loop.rating of the
run's configuration, but for the engine. A stop or a kill loses no finished game: the same command goes on.`,
		Example: `  chessbrain ratings runs/a --play --games 40 --engine stockfish --engine-nodes 1000 --engine-skill 0
  chessbrain ratings runs/a --play --poll 5m`,
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, runArg(args)) },
	}
	f := c.Flags()
	f.BoolVar(&o.play, "play", false, "play the rating matches that are missing")
	f.BoolVar(&o.rebuild, "rebuild", false, "read every net and match again, whatever the catalogue says")
	bindJSON(c, "print one JSON object")
	f.DurationVar(&o.lockWait, "lock-wait", 0, "with --play: how long to wait for another rater of the run to end; 0 = not at all")
	f.DurationVar(&o.poll, "poll", 0, "with --play: how often to look for new nets, until it is told to stop; 0 = once")
	f.Int32Var(&o.games, "games", 40, "games of each match, an even number")
	f.Int32Var(&o.opponents, "opponents", 2, "newest accepted nets before it that a net plays")
	f.Int32Var(&o.visits, "visits", 100, "visits of a move of a net")
	f.BoolVar(&o.random, "random", true, "nets play random moves, too")
	f.BoolVar(&o.first, "first", true, "nets play the first net, too")
	f.StringVar(&o.device, "device", "", "with --play: where nets are evaluated: cpu, cuda, cuda:N, or auto (default: as the run's selfplay.producer_device says)")
	f.StringVar(&o.engine, "engine", "", "path of a UCI engine that is an opponent")
	f.Int64SliceVar(&o.nodes, "engine-nodes", nil, "nodes of a move of the engine; each number is an opponent of its own")
	f.Int32SliceVar(&o.skill, "engine-skill", nil, "skill levels of the engine (option Skill Level), at the first number of nodes; each is an opponent of its own")
	return c
}

// run updates the catalogue, plays where that is asked for, and prints the list.
func (o *ratingOptions) run(c *cobra.Command, root string) error {
	if _, _, err := setup.OpenDir(root); err != nil {
		return usageError{err}
	}
	log, _, err := monitor.NewLogger(monitor.LogOptions{Terminal: c.ErrOrStderr()})
	if err != nil {
		return err
	}
	if !o.play {
		if name := given(c, "lock-wait", "poll", "games", "opponents", "visits", "random", "first", "engine",
			"engine-nodes", "engine-skill", "device"); name != "" {
			return usagef("--%s is for --play", name)
		}
		list, err := ratings.Update(c.Context(), root, ratings.UpdateOptions{Rebuild: o.rebuild, Log: log})
		if err != nil {
			return pathError(err)
		}
		return answer(c, ratings.NewRated(list, ratings.Alarms(list)))
	}
	if o.poll < 0 || o.lockWait < 0 {
		return usagef("--poll %v, --lock-wait %v: want 0 or more", o.poll, o.lockWait)
	}
	e, err := o.configOf(c, root)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	s, err := ratings.Play(ctx, ratings.Options{Effective: e, LockWait: o.lockWait, Poll: o.poll, Command: c.CommandPath(), Version: version(), Log: log, Rebuild: o.rebuild})
	if s == nil || s.Catalogue == nil {
		return err
	}
	return errors.Join(err, answer(c, ratings.NewRated(s.Catalogue, s.Alarms)))
}

// configOf reads the run's configuration, which the flags win over, and becomes the GPU
// program where nets play on one. Without --device, where there is no such GPU, they
// play on the CPU.
func (o *ratingOptions) configOf(c *cobra.Command, root string) (*config.Effective, error) {
	var flags *config.FlagSet
	if c.Flags().Changed("device") {
		var err error
		if flags, err = deviceFlags(o.device); err != nil {
			return nil, err
		}
	}
	e, left, err := setup.RatingConfig(root, flags, func(k *config.Rating) { o.apply(c.Flags(), k) })
	if err != nil {
		return nil, err
	}
	if left != "" {
		fmt.Fprintf(c.ErrOrStderr(), "the engine %q of the run's configuration is not started: a run directory is data; name it with --engine\n", left)
	}
	if flags == nil {
		return e, handOverOrCPU(c, e, false)
	}
	return e, settleDevices(e, false)
}

// apply puts the flags into the run's configuration. Games are those of the flag
// where the configuration plays none.
func (o *ratingOptions) apply(f *pflag.FlagSet, k *config.Rating) {
	if k.GetGames() == 0 {
		k.Games = &o.games
	}
	for name, take := range map[string]func(){
		"games":        func() { k.Games = &o.games },
		"opponents":    func() { k.Opponents = &o.opponents },
		"visits":       func() { k.Visits = &o.visits },
		"random":       func() { k.Random = &o.random },
		"first":        func() { k.First = &o.first },
		"engine":       func() { k.Engine = &o.engine },
		"engine-nodes": func() { k.EngineNodes = o.nodes },
		"engine-skill": func() { k.EngineSkill = o.skill },
	} {
		if f.Changed(name) {
			take()
		}
	}
}
