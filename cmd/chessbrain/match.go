package main

import (
	"errors"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/arena/match"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
)

// matchOptions are the flags of match.
type matchOptions struct {
	match.Options
	device, precision string
}

func newMatch() *cobra.Command {
	var o matchOptions
	c := &cobra.Command{
		Use:   "match [PLAYER1 PLAYER2]",
		Short: "Play a match between nets, UCI engines, and random or greedy players",
		Long: `Plays games in pairs: each opening twice, with the colours exchanged. A player is
` + match.PlayerForms + `.

Prints the result of player 1, the Elo difference with its 95 % interval, computed
from the pairs, and the likelihood that player 1 is the stronger (LOS). With --sprt
the match ends when the pairs decide between two hypotheses on that difference.

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
		Example: `  chessbrain match runs/a runs/a@1000 --visits 100 --pgn a.pgn

  chessbrain match --player1 a.safetensors --player2 a.safetensors --visits 16 --player1.gumbel --games 400
  chessbrain match builtin greedy --games 200
  chessbrain match --player1 runs/a --player2 uci:stockfish --player2.nodes 1000 --player2.option "Skill Level=0"
  chessbrain match --player1 runs/a --player2 runs/b --games 2000 --sprt 0,10 --log ab.jsonl
  chessbrain match --player1 "uci:chessbrain uci runs/a" --player2 uci:stockfish --tc 10+0.1 --concurrency 2`,
		RunE: func(c *cobra.Command, args []string) error {
			for i, flag := range []string{"player1", "player2"} {
				switch {
				case len(args) == 0:
				case len(args) != 2:
					return usagef("%s takes two players or none, got %q", c.CommandPath(), args)
				case c.Flags().Changed(flag):
					return usagef("%s: %s and --%s: keep one of the two", c.CommandPath(), args[i], flag)
				default:
					o.Specs[i] = args[i]
				}
			}
			o.Openings.PliesSet = c.Flags().Changed("opening-plies")
			if err := o.Validate(); err != nil {
				return pathError(err)
			}
			return o.run(c)
		},
	}
	o.bind(c)
	return c
}

// bind registers the flags.
func (o *matchOptions) bind(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&o.Games, "games", 200, "games, an even number")
	f.StringVar(&o.PGN, "pgn", "", "write all games to this file")
	f.StringVar(&o.Openings.File, "openings", "", "openings: a .pgn file, or a list of FENs or EPDs, one a line (default: the start position)")
	f.StringVar(&o.Rules.SPRT, "sprt", "", "ELO0,ELO1[,ALPHA,BETA]: end the match when this test decides (default alpha and beta 0.05)")
	f.IntVar(&o.Workers, "workers", runtime.GOMAXPROCS(0), "threads that play")
	o.Flags = match.NewFlags(bindTo(f))
	f.StringVar(&o.Specs[0], "player1", "", "player 1")
	f.StringVar(&o.Specs[1], "player2", "", "player 2")
	f.StringVar(&o.Openings.Order, "openings-order", match.Sequential, "of the openings in the file: sequential or shuffled")
	f.IntVar(&o.Openings.BookPlies, "book-plies", 0, "plies of each PGN game that are played; 0 = all")
	f.IntVar(&o.Openings.Plies, "opening-plies", 8, "random plies that each opening is varied by, in balance and without a mate in one (default with --openings: 0)")
	f.Uint64Var(&o.Seed, "seed", 1, "of openings and players; the same seed gives the same games")
	f.IntVar(&o.Parallel, "parallel", 0, "games under way in each worker; 0 = its share, at most 128")
	f.IntVar(&o.Concurrency, "concurrency", 0, "games under way at once in all; 0 = as --workers and --parallel say")
	f.IntVar(&o.MaxPlies, "max-plies", 450, "plies, the opening's included, after which a game is a draw")
	f.StringVar(&o.Log, "log", "", "keep each finished game in this file, to go on from (default beside --pgn as long as the match lasts; none = no log)")
	f.DurationVar(&o.Margin, "margin", arena.DefaultMargin, "what a move may take beyond its time")
	bindJSON(c, "print one JSON object")
	bindPlayDevice(c, &o.device, "cpu", &o.precision)
	a := &o.Rules.Adjudicate
	f.IntVar(&a.ResignMoves, "resign-moves", 0, "a player loses whose score was --resign-score or worse for so many of its moves, if the opponent agrees; 0 = never")
	f.IntVar(&a.ResignScore, "resign-score", 1000, "centipawns that a player is behind")
	f.IntVar(&a.DrawMoves, "draw-moves", 0, "a game is drawn after so many moves of both players with scores within --draw-score; 0 = never")
	f.IntVar(&a.DrawScore, "draw-score", 10, "centipawns")
	f.IntVar(&a.DrawFromMove, "draw-from", 40, "move of the game from which --draw-moves counts")
	f.StringVar(&o.Rules.Tables, "syzygy-path", "", "directories of Syzygy tables, separated as in PATH: they end the games that they know")
}

// bindTo registers the flags that players have.
func bindTo(f *pflag.FlagSet) func(match.Flag) {
	return func(m match.Flag) {
		flag := f.VarPF(m.Value, m.Name, "", m.Usage)
		flag.NoOptDefVal, flag.Hidden = m.Alone, m.Hidden
	}
}

// run plays the match and prints what it came to, also when it was interrupted
// or failed.
func (o *matchOptions) run(c *cobra.Command) (err error) {
	device, err := playDevice(c, o.device, o.precision)
	if err != nil {
		return err
	}
	_, o.Precision = setup.DescribePlayers(device)
	o.Program, o.Tell = "chessbrain "+version(), tell(c)
	o.OpenNet = func(spec string) (match.Net, error) { return openPlayingNet(device, spec, match.PlayerForms) }
	m, err := match.New(&o.Options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := m.ReadOpenings(); err != nil {
		return pathError(err)
	}
	if err := m.OpenLog(); err != nil {
		return pathError(err)
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	r, err := m.Play(ctx)
	if r == nil {
		return err
	}
	if err = errors.Join(err, answer(c, r)); err == nil && r.Interrupted != nil {
		return r.Interrupted
	}
	return err
}

// playingNet is a net that is ready to play.
type playingNet struct {
	*setup.NetPlayer
	net    *tools.Net
	search mcts.Config // that it was trained with
}

func (n *playingNet) Name() string        { return n.net.Name }
func (n *playingNet) ID() string          { return n.net.ID() }
func (n *playingNet) Search() mcts.Config { return n.search }

// openPlayingNet reads the net that a description means and makes it ready on a
// configuration's device. The caller closes it.
func openPlayingNet(device *config.Config, spec, forms string) (*playingNet, error) {
	net, err := openNetOf(spec, forms)
	if err != nil {
		return nil, err
	}
	return readyNet(device, net)
}

// readyNet is openPlayingNet of a net that is there.
func readyNet(device *config.Config, net *tools.Net) (*playingNet, error) {
	search, err := net.Search()
	if err != nil {
		return nil, err
	}
	player, err := setup.OpenNetPlayer(device, net.Net)
	if err != nil {
		return nil, err
	}
	return &playingNet{player, net, search}, nil
}
