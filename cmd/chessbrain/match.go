package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run/setup"
)

// matchOptions are the flags of match.
type matchOptions struct {
	specs       [2]string
	settings    settingFlags
	limits      limitFlags
	margin      time.Duration
	rules       ruleFlags
	openings    openingFlags
	games       int
	seed        uint64
	workers     int
	parallel    int
	concurrency int
	maxPlies    int
	pgn         string
	log         string
	json        bool
	precision   string
	device      string
}

func newMatch() *cobra.Command {
	var o matchOptions
	c := &cobra.Command{
		Use:   "match",
		Short: "Play a match between nets, UCI engines, and random or greedy players",
		Long: `Plays games in pairs: each opening twice, with the colours exchanged. Prints the
result of player 1, the Elo difference with its 95 % interval, computed from the
pairs, and the likelihood that player 1 is the stronger (LOS). With --sprt the
match ends when the pairs decide between two hypotheses on that difference.

A player is ` + playerForms + `.
Greedy mates in one if it can, else plays for the largest material gain within two
plies (its move, then the best capture of the opponent; 1 3 3 5 9), else randomly.

The flags of the search hold for both players. With a prefix they hold for one
colour or one player: --white.visits, --black.visits, --player1.visits,
--player2.visits; a player's goes before a colour's.

An engine is bounded by --nodes, --depth, --movetime or --tc, a net by --visits,
--movetime or --tc; these, and --option, may have a player's prefix. With an engine,
or with limited time, each game under way has a thread of its own (--workers, or
--concurrency); with limited time have no more of them than cores. An engine that
crashes, hangs, makes an illegal move or oversteps its time loses the game.

Ctrl-C ends the match: the games that are finished are counted and written, and
the exit code is 5. With --pgn or --log each finished game is on disk at once, and
the same command goes on after a stop or a kill; more --games make a match longer.`,
		Example: `  chessbrain match --player1 runs/a --player2 runs/a@1000 --visits 100 --pgn a.pgn
  chessbrain match --player1 a.safetensors --player2 a.safetensors --visits 16 --player1.gumbel --games 400
  chessbrain match --player1 runs/a --player2 greedy --games 200
  chessbrain match --player1 runs/a --player2 uci:stockfish --player2.nodes 1000 --player2.option "Skill Level=0"
  chessbrain match --player1 runs/a --player2 runs/b --games 2000 --sprt 0,10 --log ab.jsonl
  chessbrain match --player1 "uci:chessbrain uci runs/a" --player2 uci:stockfish --tc 10+0.1 --concurrency 2`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.openings.pliesSet = c.Flags().Changed("opening-plies")
			if err := o.validate(); err != nil {
				return err
			}
			return o.run(c)
		},
	}
	f := c.Flags()
	f.StringVar(&o.specs[0], "player1", "", "player 1")
	f.StringVar(&o.specs[1], "player2", "", "player 2")
	f.IntVar(&o.games, "games", 200, "games, an even number")
	f.StringVar(&o.openings.file, "openings", "", "openings: a .pgn file, or a list of FENs or EPDs, one a line (default: the start position)")
	f.StringVar(&o.openings.order, "openings-order", orderSequential, "of the openings in the file: sequential or shuffled")
	f.IntVar(&o.openings.bookPlies, "book-plies", 0, "plies of each PGN game that are played; 0 = all")
	f.IntVar(&o.openings.plies, "opening-plies", 8, "random plies that each opening is varied by, in balance and without a mate in one (default with --openings: 0)")
	f.Uint64Var(&o.seed, "seed", 1, "of openings and players; the same seed gives the same games")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "threads that play")
	f.IntVar(&o.parallel, "parallel", 0, "games under way in each worker; 0 = its share, at most 128")
	f.IntVar(&o.concurrency, "concurrency", 0, "games under way at once in all; 0 = as --workers and --parallel say")
	f.IntVar(&o.maxPlies, "max-plies", 450, "plies, the opening's included, after which a game is a draw")
	f.StringVar(&o.pgn, "pgn", "", "write all games to this file")
	f.StringVar(&o.log, "log", "", "keep each finished game in this file, to go on from (default beside --pgn as long as the match lasts; none = no log)")
	f.DurationVar(&o.margin, "margin", arena.DefaultMargin, "what a move may take beyond its time")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	bindPlayDevice(c, &o.device, "cpu", &o.precision)
	o.settings, o.limits = bindSettings(f), bindLimits(f)
	o.rules.bind(f)
	return c
}

// validate says which flag is out of range.
func (o *matchOptions) validate() error {
	for _, f := range []struct {
		name             string
		value, low, high int
	}{
		{"games", o.games, 2, 1e6}, {"workers", o.workers, 1, 1024}, {"parallel", o.parallel, 0, 1 << 15}, {"max-plies", o.maxPlies, 1, 10000},
		{"concurrency", o.concurrency, 0, 1 << 15},
	} {
		if f.value < f.low || f.value > f.high {
			return usagef("--%s %d: want %d to %d", f.name, f.value, f.low, f.high)
		}
	}
	if o.games%2 != 0 {
		return usagef("--games %d: want an even number, games come in pairs", o.games)
	}
	if o.pgn != "" {
		if err := canCreate(o.pgn); err != nil {
			return pathError(fmt.Errorf("--pgn: %w", err))
		}
	}
	if o.concurrency > 0 && o.parallel > 0 {
		return usagef("--concurrency and --parallel exclude each other")
	}
	if o.margin < 0 || o.margin > time.Minute {
		return usagef("--margin %v: want 0s to 1m", o.margin)
	}
	if err := o.rules.validate(); err != nil {
		return err
	}
	return o.openings.validate()
}

// canCreate tries whether a file can be written, before hours of games are
// played for it.
func canCreate(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("is a directory")}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".match-*.tmp")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// interruptedMatch says that a match was stopped.
type interruptedMatch struct {
	played, games int
	logged        bool
}

func (e interruptedMatch) Error() string {
	text := fmt.Sprintf("match interrupted after %d of %d games; the result is theirs", e.played, e.games)
	if e.logged {
		text += ", and the same command goes on"
	}
	return text
}

func (e interruptedMatch) ExitCode() int { return exitInterrupted }

// run plays the match and prints and writes what it came to, also when it was
// interrupted or failed.
func (o *matchOptions) run(c *cobra.Command) (err error) {
	device, err := playDevice(c, o.device, o.precision)
	if err != nil {
		return err
	}
	_, precision := setup.DescribePlayers(device)
	report := matchReport{Games: o.games, Seed: o.seed, Precision: precision}
	defer func() {
		for _, p := range report.Players {
			if p != nil && p.net != nil {
				err = errors.Join(err, p.net.Close())
			}
		}
	}()
	cfg := arena.Config{Seed: o.seed, MaxPlies: o.maxPlies, Adjudicate: o.rules.adjudicate, Decided: o.rules.decided()}
	for i, spec := range o.specs {
		p, err := newMatchPlayer(i+1, spec, playerFlags{o.settings, o.limits, o.margin, device})
		if err != nil {
			return err
		}
		report.Players[i], cfg.Players[i] = p, p.player
	}
	if err := o.unused(report.Players); err != nil {
		return err
	}
	cfg.Workers, cfg.Parallel = o.shape(cfg.Players)
	report.Workers = cfg.Workers
	var openings string
	if cfg.Openings, openings, err = o.openings.openings(o.games/2, o.seed); err != nil {
		return err
	}
	log := newMatchLog(o.log, o.pgn)
	if err := log.open(o.header(&report, openings), c.ErrOrStderr()); err != nil {
		return err
	}
	cfg.Log, cfg.Done = log.log, log.games
	cfg.OnGame = newMatchProgress(c.ErrOrStderr(), o.games, log.games).game
	ctx, stop := interruptible(c.Context())
	defer stop()
	if err := warmPlayers(ctx, report.Players); err != nil {
		return errors.Join(err, log.close(false))
	}
	began := time.Now()
	result, err := arena.Play(ctx, cfg)
	if result == nil { // nothing was begun
		return errors.Join(usageError{err}, log.close(false))
	}
	report.Seconds = time.Since(began).Seconds()
	return o.finish(c, &report, result, log, err)
}

// warmPlayers makes nets ready whose first moves would lose time otherwise.
func warmPlayers(ctx context.Context, players [2]*matchPlayer) error {
	for i, p := range players {
		if l, ok := p.player.(arena.Limited); !ok || !l.OneGame() || p.net == nil {
			continue
		}
		if err := p.net.Warm(ctx, 1); err != nil {
			return fmt.Errorf("--player%d: %w", i+1, err)
		}
	}
	return nil
}

// shape returns how many threads play, and how many games each (0 = a default).
func (o *matchOptions) shape(players [2]arena.Player) (workers, parallel int) {
	if o.concurrency == 0 {
		return o.workers, o.parallel
	}
	for _, p := range players {
		if l, ok := p.(arena.Limited); ok && l.OneGame() {
			return o.concurrency, 1
		}
	}
	for workers = min(o.workers, o.concurrency); o.concurrency%workers != 0; {
		workers--
	}
	return workers, o.concurrency / workers
}

// unused refuses a flag of players that is given although neither of them is of
// the kind that has it.
func (o *matchOptions) unused(players [2]*matchPlayer) error {
	nets, engines := 0, 0
	for _, p := range players {
		switch {
		case p.isEngine():
			engines++
		case p.NetID != "":
			nets++
		}
	}
	for _, prefix := range settingPrefixes {
		if given := o.settings.given(prefix); given != "" && nets == 0 && engines == 0 {
			return usagef("%s: neither player searches", given)
		} else if given != "" && nets == 0 {
			return usagef("%s: neither player is a net", given)
		}
	}
	if given := o.limits.given("", false); given != "" && nets == 0 && engines == 0 {
		return usagef("%s: neither player searches", given)
	}
	if given := o.limits.given("", true); given != "" && engines == 0 {
		return usagef("%s: neither player is an engine", given)
	}
	return nil
}

// finish writes the finished games and their result. err is what ended the
// match.
func (o *matchOptions) finish(c *cobra.Command, report *matchReport, result *arena.Result, log *matchLog, err error) error {
	stopped := errors.Is(err, arena.ErrStopped)
	if stopped {
		err = nil
	}
	ended, logged := err == nil && !stopped, log.log != nil
	if o.pgn != "" {
		err = errors.Join(err, fsx.WriteFileFunc(fsx.OS, o.pgn, result.WritePGN))
	}
	err = errors.Join(err, log.close(ended && err == nil))
	report.Summary, report.SPRT = arena.Summarise(result.Games), o.rules.report(result.Games)
	report.Players[0].Name, report.Players[1].Name = result.Names[0], result.Names[1]
	err = errors.Join(err, report.write(c.OutOrStdout(), o.json))
	if err == nil && stopped {
		return interruptedMatch{len(result.Games), o.games, logged}
	}
	return err
}
