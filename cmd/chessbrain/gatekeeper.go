package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/run/ratings"
)

func newGatekeeper() *cobra.Command {
	var dirs gate.Dirs
	once, lockWait := false, time.Duration(0)
	s := &session{}
	s.plan = func(e *config.Effective, w io.Writer) error { return gate.DryRun(e, dirs, w) }
	c := &cobra.Command{
		Use:   "gatekeeper",
		Short: "Let new nets play against the newest accepted one, and accept those that win",
		Long: `Takes the newest net of --test-models-dir, lets it play a match against the newest accepted one (or, while
there is none, against random weights), and moves it to --accepted-models-dir or --rejected-models-dir. Then it
waits for the next net. A net needs --required-candidate-win-prop of the points, draws counting half; with --sprt a
sequential test decides. The match ends as soon as it is decided.

A stop or a kill loses no finished game: the same command goes on with the match. The nets search as the
configuration's section mcts says, without noise.`,
		Example: "  chessbrain gatekeeper --run-dir runs/a --sprt --sprt-elo0 0 --sprt-elo1 20 --games 1000",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return perform(c, s, func(ctx context.Context) (*gate.Summary, error) {
				return gate.Run(ctx, gate.Options{
					Effective: s.effective, Dirs: dirs, Once: once, LockWait: lockWait, Command: s.command, Version: version(), Log: s.log, Readers: s.readers,
					Decided: func() { ratings.Refresh(s.effective.Config.GetRunDir(), s.log) },
				})
			})
		},
	}
	s.bind(c, config.GatekeeperGroups)
	f := c.Flags()
	f.StringVar(&dirs.Test, "test-models-dir", "", "directory of the nets to test (default: modelstobetested of the run)")
	f.StringVar(&dirs.Accepted, "accepted-models-dir", "", "directory that accepted nets go to (default: models of the run)")
	f.StringVar(&dirs.Rejected, "rejected-models-dir", "", "directory that rejected nets go to (default: rejectedmodels of the run)")
	f.StringVar(&dirs.SelfPlay, "selfplay-dir", "", "directory that gets <net>/ before a net is accepted (default: selfplay of the run)")
	f.StringVar(&dirs.Matches, "pgn-output-dir", "", "directory that gets <net>/ with the games of its match (default: gatekeeper of the run)")
	f.BoolVar(&once, "quit-if-no-nets-to-test", false, "end when there is no net to test")
	f.DurationVar(&lockWait, "lock-wait", 0, "how long to wait for another gatekeeper of the run to end; 0 = not at all")
	takeNames(c, map[string]string{"sgf-output-dir": "pgn-output-dir", "no-autoreject-old-models": "test-older"}) // KataGo's
	return c
}
