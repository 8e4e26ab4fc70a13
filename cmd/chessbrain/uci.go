package main

import (
	"cmp"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/arena/match"
	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/run/tools"
)

// uciBatch is the most positions that a thread evaluates at once.
const uciBatch = 256

// uciFlags are the flags of `chessbrain uci`.
type uciFlags struct {
	net       string
	device    string
	precision string
	visits    int
	threads   int
	options   []string
}

func newUCI() *cobra.Command {
	var f uciFlags
	c := &cobra.Command{
		Use:   "uci [RUN]",
		Short: "Play as a UCI engine, for a chess GUI",
		Long: `Speaks UCI on standard input and output with the newest net of a run, or with --net FILE. Where neither is
named it plays with runs/chessbrain, and where that is not there, with the net inside the program (--net builtin).

The GUI sets the options that the engine lists in its answer to uci; --option sets them for a GUI that cannot. Values of
spins are whole numbers, of checks true or false:
  Threads             threads that search the tree, each with an evaluator of its own
  Hash, NNCacheSize   memory for answers of the net, in MiB or in positions; the later one counts
  CacheHistoryLength  boards before the newest one by which the answers tell positions apart; 7 = all that the net sees
  RamLimitMb          memory of the search tree in MiB; a search ends where it is used up
  Nodes               visits of a plain go
  MinibatchSize       positions that each thread evaluates at once
  MultiPV             lines that are shown
  Move Overhead       milliseconds that a move loses beside the thinking
  CPuct, CPuctBase, CPuctFactor, FpuReduction   as in training; a factor of 0 = CPuct is constant
  CPuctStdev          standard deviation of the values below a node at which CPuct is as given, with which it grows and
                      falls; 0 = never (default: 0.4 for nets that learnt by Gumbel search, else 0)
  LCB                 PUCT plays the move with the highest value less so many standard errors of it; 0 = the most visited
                      move (default: 5 for nets that learnt by Gumbel search, else 0)
  PolicyTemperature   above 1 more moves are looked at (default: 1.6 for nets that learnt by Gumbel search, else 1)
  Gumbel              Gumbel search where up to 250 visits alone end it (default: as the net was trained)
  SyzygyPath          directories of endgame tables, separated as in PATH
  WeightsFile         another net: what --net takes, or a run; its search comes with it
  UCI_ShowWDL, Ponder, UCI_AnalyseMode (a clock is used up to the usual time), UCI_Chess960, Clear Hash`,
		Example: `  chessbrain uci --net net.safetensors --threads 4
  chessbrain uci runs/a --option MultiPV=3 --option SyzygyPath=/tb/345`,
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && f.net != "" {
				return usagef("--net %s: RUN %s has nets of its own; name one of the two", f.net, args[0])
			}
			return f.serve(c, runArg(args))
		},
	}
	c.Flags().StringVar(&f.net, "net", "", "play with this net: a file (safetensors or .pb.gz), or builtin, the net inside the program")
	c.Flags().IntVar(&f.visits, "visits", 800, "visits of a plain go")
	c.Flags().IntVar(&f.threads, "threads", 1, "threads that search, best as many as the machine has cores")
	c.Flags().StringArrayVar(&f.options, "option", nil, "option of the engine, NAME=VALUE; may be given several times")
	bindPlayDevice(c, &f.device, "auto", &f.precision)
	return c
}

// serve plays with a net file or a run's net until the GUI quits.
func (f *uciFlags) serve(c *cobra.Command, root string) (err error) {
	if err := between("visits", f.visits, 1, match.MaxVisits); err != nil {
		return err
	}
	device, err := playDevice(c, f.device, f.precision)
	if err != nil {
		return err
	}
	if _, err := os.Stat(root); f.net == "" && root == defaultRun && err != nil {
		f.net = config.NetBuiltin
	}
	engine, closeNet := &uci.Engine{}, func() error { return nil }
	engine.Open = func(net string) error {
		player, err := openPlayingNet(device, net, tools.NetForms)
		if err != nil {
			return err
		}
		first, err := player.Evaluator(uciBatch)
		if err != nil {
			return errors.Join(err, player.Close())
		}
		engine.Name, engine.Net, engine.Search = "chessbrain "+version()+" "+player.Name(), first, player.Search()
		engine.Search.Simulations = f.visits
		engine.Warm = func() error { return player.Warm(c.Context(), uciBatch) }
		engine.Another = func() mcts.Evaluator { return player.NewEvaluator(uciBatch) }
		before := closeNet
		closeNet = player.Close
		return before()
	}
	defer func() { err = errors.Join(err, closeNet()) }()
	if err := engine.Open(cmp.Or(f.net, root)); err != nil {
		return err
	}
	if err := f.set(engine); err != nil {
		return err
	}
	return engine.Serve(c.Context(), c.InOrStdin(), data(c))
}

// set sets the engine's options.
func (f *uciFlags) set(engine *uci.Engine) error {
	if err := engine.Set("Threads", strconv.Itoa(f.threads)); err != nil {
		return usagef("--threads: %v", err)
	}
	for _, o := range f.options {
		name, value, ok := strings.Cut(o, "=")
		if !ok {
			return usagef("--option %s: want NAME=VALUE", o)
		}
		if err := engine.Set(name, value); err != nil {
			return usagef("--option %s: %v", o, err)
		}
	}
	return nil
}

// defaultRun is the run directory of a plain chessbrain train.
const defaultRun = "runs/chessbrain"

// runArg returns the run directory that the arguments name.
func runArg(args []string) string {
	if len(args) == 0 {
		return defaultRun
	}
	return args[0]
}
