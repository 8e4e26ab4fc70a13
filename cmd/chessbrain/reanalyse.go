package main

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/plugins/rescore/files"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/selfplay"
)

// reanalyseOptions are the flags of rescore with which a net searches positions again.
type reanalyseOptions struct {
	net, device, precision string
	visits, workers        int
	gumbel                 bool
	share                  float64
}

// bind registers the flags.
func (o *reanalyseOptions) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.net, "net", "", "net that searches all positions again, before the rescorers: a file (safetensors or Leela's .pb.gz), RUN, RUN@STEP, CHECKPOINT or builtin")
	f.IntVar(&o.visits, "visits", 0, "of each search; 0 = as many as the position had, 100 where that is not known")
	f.Float64Var(&o.share, "share", 1, "of the positions that is searched; a hash of game and ply chooses them, the others keep their targets")
	f.BoolVar(&o.gumbel, "gumbel", false, "Gumbel search; without the flag as in the net's own self-play, PUCT where that is not known")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "threads that search, each 64 positions in lock step")
	bindPlayDevice(c, &o.device, "cpu", &o.precision)
}

// check validates the flags.
func (o *reanalyseOptions) check(c *cobra.Command) error {
	if o.net == "" {
		if name := given(c, "visits", "share", "gumbel", "workers", "device", "precision"); name != "" {
			return usagef("--%s: is of the searches of a net: name it with --net", name)
		}
		return nil
	}
	if !(o.share > 0 && o.share <= 1) {
		return usagef("--share %v: want a number above 0, at most 1", o.share)
	}
	return cmp.Or(between("visits", o.visits, 0, 1e6), between("workers", o.workers, 1, 1024))
}

// reanalysis is a net at work on positions of games.
type reanalysis struct {
	*selfplay.Reanalyser
	net    *setup.NetPlayer
	report files.Search

	begun, told time.Time
}

// open makes the net ready, or returns nil where none is asked for. The caller closes it.
func (o *reanalyseOptions) open(ctx context.Context, c *cobra.Command) (*reanalysis, error) {
	if o.net == "" {
		return nil, nil
	}
	device, err := playDevice(c, o.device, o.precision)
	if err != nil {
		return nil, err
	}
	net, err := openNet(o.net)
	if err != nil {
		return nil, err
	}
	search, err := setup.TargetSearchOf(net.Meta)
	if err != nil {
		return nil, err
	}
	if c.Flags().Changed("gumbel") {
		search.Gumbel.Enabled = o.gumbel
	}
	search.Simulations = o.visits
	if err := setup.TryNet(ctx, net.Net); err != nil {
		return nil, usagef("--net %s: no position can be searched with it: %w", o.net, err)
	}
	player, err := setup.OpenNetPlayer(device, net.Net)
	if err != nil {
		return nil, err
	}
	return &reanalysis{
		Reanalyser: &selfplay.Reanalyser{Search: search, Share: o.share, NewEvaluator: player.NewEvaluator, Workers: o.workers},
		net:        player,
		report:     files.Search{Net: net.Name, NetID: net.ID(), Visits: o.visits, Gumbel: search.Gumbel.Enabled, Share: o.share},
		begun:      time.Now(), told: time.Now(),
	}, nil
}

// Close gives the net back.
func (r *reanalysis) Close() error {
	if r == nil {
		return nil
	}
	return r.net.Close()
}

// before returns a chain that searches before the others; so does a nil one, which does not.
func (r *reanalysis) before(chain rescore.Chain) rescore.Chain {
	if r == nil {
		return chain
	}
	return append(rescore.Chain{r.Reanalyser}, chain...)
}

// summary is what was searched; nil where nothing is.
func (r *reanalysis) summary() *files.Search {
	if r == nil {
		return nil
	}
	r.report.Positions = r.Searched.Load()
	return &r.report
}

// tell says every ten seconds how far the searches are: after so many of all files.
func (r *reanalysis) tell(c *cobra.Command, done, all int) {
	if r == nil || time.Since(r.told) < 10*time.Second {
		return
	}
	r.told = time.Now()
	n := r.Searched.Load()
	tell(c)("%d of %d files, %d positions searched, %.0f a second", done, all, n, float64(n)/time.Since(r.begun).Seconds())
}
