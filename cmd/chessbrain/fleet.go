package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run/join"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
)

func newFleet() *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Players on other machines: who may join a run, and who has",
		Long: `Other machines play for a run that listens: chessbrain run RUN --listen :4222, or chessbrain train RUN
--producer-workers 8 --listen :4222. It prints a link; chessbrain selfplay --join LINK joins from anywhere that reaches it.
Where no port can be opened, a directory that the machines share does: --listen /shared/mail.
These commands may be used while the run is at work; it sees a change within seconds.`,
		Args: noArgs,
	}
	c.AddCommand(newFleetInvite(), newFleetList(), newFleetRevoke(), newFleetDrain(), newFleetCluster())
	return c
}

// fleetRun opens the fleet's directory of a run.
func fleetRun(root string) (join.Dir, error) {
	if _, _, err := setup.OpenDir(root); err != nil {
		return "", usageError{err}
	}
	return join.DirOf(root), nil
}

// openedRun opens the fleet's directory of a run that somebody may join.
func openedRun(root string) (join.Dir, error) {
	d, err := fleetRun(root)
	if err != nil {
		return "", err
	}
	if m, err := d.Members(); err != nil || len(m.List) == 0 {
		return "", cmp.Or(err, usagef("nobody may join %s yet, so nothing is changed; chessbrain fleet invite is the first step", root))
	}
	return d, nil
}

// inFleet is a command of the run that is its first argument, and that open opens.
func inFleet(open func(root string) (join.Dir, error), do func(c *cobra.Command, d join.Dir, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		d, err := open(args[0])
		if err != nil {
			return err
		}
		return do(c, d, args)
	}
}

func newFleetInvite() *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:   "invite RUN NAME",
		Short: "Print the link with which players of a member join",
		Long: `Makes a member NAME of the run, or finds it, and prints its link. Any number of machines may join with one link.
Whoever has it can play for the run, and do nothing else; chessbrain fleet revoke ends that.`,
		Example: "  chessbrain fleet invite runs/a anna",
		Args:    exactArgs(2, "name a run directory and a member"),
		RunE: inFleet(fleetRun, func(c *cobra.Command, d join.Dir, args []string) error {
			roster, err := d.Roster()
			if err != nil {
				return err
			}
			address = cmp.Or(address, roster.Address)
			if address == "" {
				return usagef("the run has not listened yet: start it with --listen :4222, or say with --address HOST:PORT where players will reach it")
			}
			if address, err = fleet.CheckAddress(address); err != nil {
				return usagef("--address: %w", err)
			}
			var seed string
			err = d.Change(func(m *fleet.Members) (err error) {
				seed, err = m.Invite(args[1], time.Now())
				return err
			})
			if err != nil {
				return usageError{err}
			}
			link, err := d.Link(seed, address, roster.Unpinned)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "chessbrain selfplay --join %s\n", link)
			return err
		}),
	}
	c.Flags().StringVar(&address, "address", "", "HOST:PORT, or the directory as they see it, at which players reach the run (default: as it was last told)")
	return c
}

func newFleetRevoke() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke RUN NAME",
		Short:   "End a membership: its players are cut off and cannot join again",
		Long:    `Ends a membership. Connections of its players end within seconds. Games that came before stay.`,
		Example: "  chessbrain fleet revoke runs/a anna",
		Args:    exactArgs(2, "name a run directory and a member"),
		RunE: inFleet(openedRun, func(_ *cobra.Command, d join.Dir, args []string) error {
			if err := d.Change(func(m *fleet.Members) error { return m.Revoke(args[1], time.Now()) }); err != nil {
				return usageError{err}
			}
			return nil
		}),
	}
}

func newFleetDrain() *cobra.Command {
	var undo bool
	c := &cobra.Command{
		Use:     "drain RUN",
		Short:   "Let all players go: they save their games, deliver what is finished, and end",
		Long:    `Lets all players go at their next beat. Until --undo, players that join end at once.`,
		Example: "  chessbrain fleet drain runs/a",
		Args:    exactArgs(1, "name one run directory"),
		RunE: inFleet(openedRun, func(_ *cobra.Command, d join.Dir, args []string) error {
			return d.Change(func(m *fleet.Members) error {
				m.Drain = !undo
				return nil
			})
		}),
	}
	c.Flags().BoolVar(&undo, "undo", false, "let players join and stay again")
	return c
}

func newFleetCluster() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "cluster RUN HOST:PORT,...",
		Short: "Write the configuration of NATS servers that carry a run's fleet",
		Long: `Writes what NATS servers at these addresses need to carry the fleet in place of the run's own: nodeN.conf for each,
and tls.pem for all. Three keep each game and net three times, and one may fail. The files hold keys. On each machine:
nats-server -c nodeN.conf. Then: chessbrain run RUN --nats HOST:PORT,... After fleet invite or revoke, write the files
again and let the servers read them (nats-server --signal reload). The port 2000 above is for the servers themselves.`,
		Example: "  chessbrain fleet cluster runs/a n1:4222,n2:4222,n3:4222",
		Args:    exactArgs(2, "name a run directory and the addresses of the servers, with commas between"),
		RunE: inFleet(fleetRun, func(c *cobra.Command, d join.Dir, args []string) error {
			if err := fleet.CheckAddresses(args[1]); err != nil {
				return usageError{err}
			}
			out = cmp.Or(out, filepath.Join(string(d), "cluster"))
			names, err := d.WriteCluster(args[1], out)
			for _, name := range names {
				fmt.Fprintln(c.OutOrStdout(), name)
			}
			if err == nil {
				_, err = fmt.Fprintf(c.OutOrStdout(), "Next: nats-server -c nodeN.conf on each machine, then chessbrain run %s --nats %s\n", args[0], args[1])
			}
			return err
		}),
	}
	c.Flags().StringVar(&out, "output", "", "directory to write to (default: RUN/fleet/cluster)")
	return c
}

func newFleetList() *cobra.Command {
	c := &cobra.Command{
		Use:     "list RUN",
		Short:   "List the members of a run's fleet and its players",
		Long:    `Lists who may join, and each player with its machine, its net, what came of it and when it was seen.`,
		Example: "  chessbrain fleet list runs/a",
		Args:    exactArgs(1, "name one run directory"),
		RunE: inFleet(fleetRun, func(c *cobra.Command, d join.Dir, args []string) error {
			page, err := d.Page()
			if err != nil {
				return err
			}
			return answer(c, page)
		}),
	}
	bindJSON(c, "print one JSON object")
	return c
}

// playersOwn are the fields of the configuration that are a player's own; the run that is
// joined says the rest.
func playersOwn(path string) bool {
	own := []string{"run_dir", "log_filename", "selfplay.producer_workers", "selfplay.producer_on_each_core",
		"selfplay.producer_device", "selfplay.games_per_worker", "selfplay.precision", "mcts.cache_entries"}
	return slices.Contains(own, path) || strings.HasPrefix(path, "log.") || strings.HasPrefix(path, "metrics.")
}

// joining prepares s for playing for the run of a link.
func joining(c *cobra.Command, s *session, text string) (link fleet.Link, err error) {
	if link, err = fleet.ParseLink(text); err != nil {
		return link, usagef("--join: %w", err)
	}
	foreign := []string{"config", "recipe", "stretch", "override-config"}
	for _, v := range s.flags.Values() {
		if f := v.Flag(); !playersOwn(f.Path) {
			foreign = append(foreign, f.Name)
		}
	}
	if name := given(c, foreign...); name != "" {
		return link, usagef("--%s: the run that is joined says how games are played; leave it away", name)
	}
	if !c.Flags().Changed("run-dir") {
		if err := c.Flags().Set("run-dir", filepath.Join("runs", "joined-"+link.Server()[:8])); err != nil {
			return link, err
		}
	}
	err = s.resolve(c)
	s.command = strings.ReplaceAll(s.command, text, link.Address) // locks and logs say it: without the secret
	return link, err
}

// planJoin checks what can be known before anything is made, and says what would be done.
// Only a player that is known waits for a run that is away.
func planJoin(e *config.Effective, link fleet.Link, dry bool, w io.Writer) error {
	root := e.Config.GetRunDir()
	known, err := join.CheckPlayer(root, link)
	if err != nil {
		return usageError{err}
	}
	if !known && !dry {
		return link.Reach()
	}
	_, err = fmt.Fprintf(w, "Would play for the run at %s, as it says, and keep games and nets in %s\n", link.Address, root)
	return err
}

// joined plays for the run of a link.
func joined(ctx context.Context, s *session, link fleet.Link, opt play.SelfPlayOptions) (*play.PlaySummary, error) {
	root := s.effective.Config.GetRunDir()
	opt.Command, opt.Version, opt.Log, opt.Readers, opt.Progress = s.command, version(), s.log, s.readers, s.progress
	return join.Play(ctx, join.PlayerOptions{Link: link, Root: root, CPU: kernel.ActiveTier().String(), Log: s.log, Traces: s.traces, Play: opt,
		Configure: func(file *config.File, job string, seed uint64, models string) (*config.Effective, error) {
			f := file.Config
			f.Selfplay = cmp.Or(f.Selfplay, &config.SelfPlay{})
			f.RunDir, f.JobId, f.Seed, f.Selfplay.ModelsDir = &root, &job, &seed, &models
			return config.Resolve(config.Input{File: file, Flags: s.flags})
		}})
}

// openTo is how players of other machines reach a run.
type openTo struct{ listen, nats string }

func (o *openTo) bind(c *cobra.Command) {
	c.Flags().StringVar(&o.listen, "listen", "", "let players on other machines join at this address, such as :4222, or through a directory that they share, such as /shared/mail (chessbrain fleet)")
	c.Flags().StringVar(&o.nats, "nats", "", "let them join through NATS servers at HOST:PORT,... (chessbrain fleet cluster)")
}

func (o *openTo) asked() bool { return o.listen != "" || o.nats != "" }

func (o *openTo) check() error {
	if o.listen != "" && o.nats != "" {
		return usagef("--listen, --nats: give one of the two: a server within this process, or servers that stand for themselves")
	}
	if fleet.IsDirectory(o.listen) {
		if info, err := os.Stat(o.listen); err == nil && !info.IsDir() {
			return usagef("--listen %s: it is no directory", o.listen)
		}
		return nil
	}
	if o.listen != "" {
		l, err := net.Listen("tcp", o.listen)
		if err != nil {
			return usagef("--listen %q: %w; want [HOST]:PORT, one that is free, or a directory with a slash", o.listen, err)
		}
		return l.Close()
	}
	if o.nats == "" {
		return nil
	}
	if err := fleet.CheckAddresses(o.nats); err != nil {
		return usagef("--nats: %w: want those of NATS servers, with commas between", err)
	}
	return nil
}

// host lets players of other machines join until its context ends; nil where that is not
// asked for.
func (o *openTo) host(s *session, h join.HostOptions) func(context.Context) error {
	if !o.asked() {
		return nil
	}
	h.Command, h.Version, h.Log, h.Locked = s.command, version(), s.log, true
	h.Listen, h.NATS, h.Traces = o.listen, o.nats, s.traces
	h.Greet = func(link fleet.Link) {
		fmt.Fprintf(s.progress, "Players on other machines join with:\n  chessbrain selfplay --join %s\n", link)
	}
	return func(ctx context.Context) error { return join.Host(ctx, h) }
}
