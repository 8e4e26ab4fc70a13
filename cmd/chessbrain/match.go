package main

import (
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
)

// matchOptions are the flags of match.
type matchOptions struct {
	specs     [2]string
	settings  settingFlags
	openings  openingFlags
	games     int
	seed      uint64
	workers   int
	parallel  int
	maxPlies  int
	pgn       string
	json      bool
	precision string
}

func newMatch() *cobra.Command {
	var o matchOptions
	c := &cobra.Command{
		Use:   "match",
		Short: "Play a match between two nets, or a net and a random or greedy player",
		Long: `Plays games in pairs: each opening twice, with the colours exchanged. Prints the
result of player 1, the Elo difference with its 95 % interval, computed from the
pairs, and the likelihood that player 1 is the stronger (LOS).

A player is ` + playerForms + `.
Greedy mates in one if it can, else plays for the largest material gain within two
plies (its move, then the best capture of the opponent; 1 3 3 5 9), else randomly.

The flags of the search hold for both players. With a prefix they hold for one
colour or one player: --white.visits, --black.visits, --player1.visits,
--player2.visits; a player's goes before a colour's.

Ctrl-C ends the match: the games that are finished are counted and written, and
the exit code is 5.`,
		Example: `  chessbrain match --player1 runs/a --player2 runs/a@1000 --visits 100 --pgn a.pgn
  chessbrain match --player1 a.safetensors --player2 a.safetensors --visits 16 --player1.gumbel --games 400
  chessbrain match --player1 runs/a --player2 greedy --games 200`,
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
	f.IntVar(&o.maxPlies, "max-plies", 450, "plies, the opening's included, after which a game is a draw")
	f.StringVar(&o.pgn, "pgn", "", "write all games to this file")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	bindPrecision(c, &o.precision)
	o.settings = bindSettings(f)
	return c
}

// validate says which flag is out of range.
func (o *matchOptions) validate() error {
	for _, f := range []struct {
		name             string
		value, low, high int
	}{
		{"games", o.games, 2, 1e6}, {"workers", o.workers, 1, 1024}, {"parallel", o.parallel, 0, 1 << 15}, {"max-plies", o.maxPlies, 1, 10000},
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
type interruptedMatch struct{ played, games int }

func (e interruptedMatch) Error() string {
	return fmt.Sprintf("match interrupted after %d of %d games; the result is theirs", e.played, e.games)
}

func (e interruptedMatch) ExitCode() int { return exitInterrupted }

// run plays the match and prints and writes what it came to, also when it was
// interrupted or failed.
func (o *matchOptions) run(c *cobra.Command) error {
	precision, err := precisionOf(c, o.precision)
	if err != nil {
		return err
	}
	report := matchReport{Games: o.games, Seed: o.seed, Workers: o.workers, Precision: precision.String()}
	cfg := arena.Config{Seed: o.seed, Workers: o.workers, Parallel: o.parallel, MaxPlies: o.maxPlies}
	for i, spec := range o.specs {
		p, err := newMatchPlayer(i+1, spec, o.settings, precision)
		if err != nil {
			return err
		}
		report.Players[i], cfg.Players[i] = p, p.player
	}
	if given := o.unused(report.Players); given != "" {
		return usagef("%s: neither player searches", given)
	}
	if cfg.Openings, err = o.openings.openings(o.games/2, o.seed); err != nil {
		return err
	}
	progress := &matchProgress{out: c.ErrOrStderr(), games: o.games}
	cfg.OnGame = progress.game
	ctx, stop := interruptible(c.Context())
	defer stop()
	began := time.Now()
	result, err := arena.Play(ctx, cfg)
	if result == nil { // nothing was begun
		return usageError{err}
	}
	report.Seconds = time.Since(began).Seconds()
	return o.finish(c, &report, result, err)
}

// unused returns a flag of the search that is given although neither player
// searches, or "".
func (o *matchOptions) unused(players [2]*matchPlayer) string {
	if players[0].NetID != "" || players[1].NetID != "" {
		return ""
	}
	for _, prefix := range settingPrefixes {
		if given := o.settings.given(prefix); given != "" {
			return given
		}
	}
	return ""
}

// finish writes the finished games and their result. err is what ended the
// match.
func (o *matchOptions) finish(c *cobra.Command, report *matchReport, result *arena.Result, err error) error {
	stopped := errors.Is(err, arena.ErrStopped)
	if stopped {
		err = nil
	}
	if o.pgn != "" {
		err = errors.Join(err, fsx.WriteFileFunc(fsx.OS, o.pgn, result.WritePGN))
	}
	report.Summary = arena.Summarise(result.Games)
	report.Players[0].Name, report.Players[1].Name = result.Names[0], result.Names[1]
	err = errors.Join(err, report.write(c.OutOrStdout(), o.json))
	if err == nil && stopped {
		return interruptedMatch{len(result.Games), o.games}
	}
	return err
}
