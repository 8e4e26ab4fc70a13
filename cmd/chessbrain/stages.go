package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor/report"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/cycle"
	"github.com/chessbrain/chessbrain/run/exporting"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/run/join"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/ratings"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

// loopDir is the run directory of a plain chessbrain run: not that of a plain
// chessbrain train, whose training a closed loop cannot take over.
const loopDir = "runs/loop"

func newRun() *cobra.Command {
	var only cycle.Stage
	plan := func(e *config.Effective, w io.Writer) error { return cycle.DryRun(e, only, w) }
	s := &session{plan: plan, loop: true, runDir: loopDir, rereads: true}
	var stage string
	var open openTo
	var show bool
	c := &cobra.Command{
		Use:   "run [RUN]",
		Short: "The closed loop on this machine: gate, play, shuffle, train, export, in a circle",
		Long: `Goes round from an empty directory on: the gatekeeper tests the newest net, the accepted one plays, the
newest rows are shuffled, the net is trained on them, and the new net is a candidate of the next cycle. It ends when
a stop condition holds (--cycles, --games, --hours, --elo), or at Ctrl-C with 5; after a stop or a kill the same
command goes on. chessbrain status RUN shows where it is.

--stage NAME does one stage and ends: gatekeeper, rating, selfplay, shuffle, train, export or gc. Exit code 0: it is
done, or was; 2: another stage is next, which it names; 6: too few rows, self-play is next; 7: a stop condition
holds.`,
		Example: "  chessbrain run runs/a --recipe laptop --hours 8",
		Args:    oneRun,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := open.check(); err != nil {
				return err
			}
			if err := s.resolve(c); err != nil {
				return err
			}
			if given(c, "stage") != "" {
				var err error
				if only, err = cycle.ParseStage(stage); err != nil {
					return err
				}
				s.logName = "stages.log" // one for all: there are some seven a cycle
			}
			if show {
				settled, err := setup.NewCycle(s.effective)
				if err == nil {
					_, err = data(c).Write(config.Format(settled.Config))
				}
				return err
			}
			return perform(c, s, func(ctx context.Context) (*reported, error) {
				settled, err := setup.NewCycle(s.effective)
				if err != nil {
					return nil, err
				}
				host := join.HostOptions{Effective: settled.Playing(run.Dir{Root: settled.Root}.Models())}
				var share setup.ShareMatch
				if open.asked() {
					host.Matches = join.NewMatches(s.log)
					share = host.Matches.Share
				}
				var done *cycle.Summary
				err = run.Beside(ctx, open.host(s, host), func(ctx context.Context) (err error) {
					done, err = cycle.Run(ctx, cycle.Options{
						Effective: s.effective, Command: s.command, Version: version(), Log: s.log, Readers: s.readers, Progress: s.progress, Reload: s.reload,
						Stage: only, Share: share,
					})
					return err
				})
				if done == nil {
					return nil, err
				}
				root := s.effective.Config.GetRunDir()
				return &reported{done, root, fmt.Sprintf("chessbrain status %s has its page", root), true, err == nil && stage == ""}, err
			})
		},
	}
	s.bind(c, config.RunGroups)
	c.Flags().BoolVar(&show, "print-config", false, "print the configuration that all stages share, for --config, and end")
	c.Flags().StringVar(&stage, "stage", "", "do this stage, if it is next, and end")
	completeFlag(c, "stage", cycle.Stages)
	open.bind(c)
	return c
}

func newTrain() *cobra.Command {
	s := &session{plan: setup.DryRun, rereads: true}
	var lockWait time.Duration
	var open openTo
	c := &cobra.Command{
		Use:   "train [RUN]",
		Short: "Play against itself and learn from the games",
		Long: `Plays games of the net against itself and trains it on them, episode after episode, into the run directory.
The same command goes on where the last one ended; --episodes is a total. The first Ctrl-C finishes the step under
way, saves and exits with 5; a second one ends at once. With --data it only trains, on the games of a PGN file, a
.tar of Leela's or a directory; with --source dir, shuffled or loader on what others are playing.

A run keeps its settings for the next start. Flags win over environment variables (EPISODES, BATCH_SIZE, ...), those
over --config FILE or --recipe NAME, that over what the run keeps, and that over the defaults. A new run that names
no net, recipe or file is one of recipe first, on a CPU.`,
		Example: "  chessbrain train --episodes 200 --producer-workers 8\n  chessbrain train runs/a --recipe speedrun\n" +
			"  chessbrain train runs/b --data games.pgn --epochs 2\n\n" +
			"  chessbrain train --run-dir runs/a --source shuffled --samples-per-epoch 100000 --export-mode main",
		Args: oneRun,
		RunE: func(c *cobra.Command, _ []string) error {
			if lockWait < 0 {
				return usagef("--lock-wait %v: want 0 or more", lockWait)
			}
			if err := open.check(); err != nil {
				return err
			}
			if open.asked() {
				if err := s.resolve(c); err != nil {
					return err
				}
				if !setup.TakesPlayers(s.effective.Config) {
					return usagef("--listen, --nats: this training takes no games of others; add --producer-workers N to play here, too, or --source dir to leave it to others")
				}
			}
			return perform(c, s, func(ctx context.Context) (*reported, error) {
				readers, batches := s.readers, join.NewBatches(s.traces)
				if open.asked() {
					readers = append(slices.Clip(readers), batches)
				}
				done, err := train.Train(ctx, train.Options{
					Training: setup.TrainingOf(s.effective), Command: s.command, Version: version(), Log: s.log, Readers: readers, Progress: s.progress, Reload: s.reload,
					LockWait: lockWait, Beside: open.host(s, join.HostOptions{Effective: s.effective, Batches: batches}),
				})
				if done == nil {
					return nil, err
				}
				root, next, plugins := s.effective.Config.GetRunDir(), "", ""
				for _, dir := range s.effective.Config.GetPlugins().GetDir() { // no run names programs for a later start
					plugins += " --plugin-dir " + dir
				}
				switch {
				case done.Target > 0:
					next = fmt.Sprintf("chessbrain train %s --episodes N%s goes on", root, plugins)
				case s.effective.Config.GetTraining().GetData() != "":
					next = fmt.Sprintf("chessbrain train %s --epochs N%s goes on", root, plugins)
				}
				return &reported{done, root, next, done.Net != "", err == nil}, err
			})
		},
	}
	s.bind(c, config.TrainGroups)
	c.Flags().DurationVar(&lockWait, "lock-wait", 0, "wait so long for another process that holds the run or this training; 0 = exit with 2 at once")
	open.bind(c)
	return c
}

// reported is the summary of a run, and its report and the next commands where all went
// well.
type reported struct {
	printed
	root  string // of the run
	next  string // a command besides those that play, "" = none
	plays bool   // a net came of it
	well  bool
}

// Write prints the summary, and writes and names the report, which is drawn though nobody
// reads the summary.
func (r *reported) Write(out io.Writer) error {
	broken := r.printed.Write(out)
	if !r.well {
		return broken
	}
	_, files, err := plot(r.root, filepath.Join(r.root, reportDir))
	if errors.Is(err, report.ErrEmpty) {
		return broken
	}
	where := fmt.Sprintf("none: %v", err) // the run is done all the same
	if err == nil {
		where = files[len(files)-1] + " (plots beside it)"
	}
	var next []string
	if r.plays {
		next = append(next, fmt.Sprintf("chessbrain uci %s plays it in a chess GUI", r.root), fmt.Sprintf("chessbrain ladder %s says how strong it is", r.root))
	}
	if r.next != "" {
		next = append(next, r.next)
	}
	_, err = fmt.Fprintf(out, "Report: %s\n", where)
	if err == nil && len(next) > 0 {
		_, err = fmt.Fprintf(out, "Next: %s\n", strings.Join(next, ", "))
	}
	return cmp.Or(broken, err)
}

func newSelfplay() *cobra.Command {
	s := &session{plan: setup.DryRunSelfPlay, rereads: true}
	var process uint64
	var games int64
	var link string
	c := &cobra.Command{
		Use:   "selfplay",
		Short: "Only play: for a trainer with --source dir, or from a directory of nets",
		Long: `Plays games with the newest net and stores them: that of the run's newest checkpoint, for a trainer with
--source dir, or with --models-dir the newest .safetensors file there; while there is none, random weights play. Any
number of such processes may share a directory, each with its own --process number.

With --join LINK it plays for a run on another machine (chessbrain fleet), which says how. What is played waits in the
directory of this player until the run has it; --run-dir names another one.

The first Ctrl-C or SIGTERM saves unfinished games, which go on at the next start, and exits with 5; a second one
ends at once.`,
		Example: "  chessbrain selfplay --models-dir base/models --output-dir base/selfplay --max-games-total 5000",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if games < 0 {
				return usagef("--max-games-total %d: want 0 (until stopped) or more", games)
			}
			if c.Flags().Changed("join") {
				if process != 0 {
					return usagef("--process: the run that is joined gives this player its number; leave it away")
				}
				to, err := joining(c, s, link)
				if err != nil {
					return err
				}
				s.plan = func(e *config.Effective, w io.Writer) error { return planJoin(e, to, s.dryRun, w) }
				s.rereads = false
				return perform(c, s, func(ctx context.Context) (*play.PlaySummary, error) {
					return joined(ctx, s, to, play.SelfPlayOptions{MaxGames: games})
				})
			}
			return perform(c, s, func(ctx context.Context) (*play.PlaySummary, error) {
				return play.SelfPlay(ctx, play.SelfPlayOptions{
					Effective: s.effective, Process: process, MaxGames: games, Command: s.command, Version: version(), Log: s.log, Readers: s.readers, Progress: s.progress, Reload: s.reload,
				})
			})
		},
	}
	s.bind(c, config.SelfPlayGroups)
	c.Flags().Uint64Var(&process, "process", 0, "number of this process among those of the run, from 1; 0 = the first that is free")
	c.Flags().StringVar(&link, "join", "", "play for the run of this link, on another machine")
	c.Flags().Int64Var(&games, "max-games-total", 0, "games of this process in all, those on disk included; 0 = until stopped")
	takeNames(c, map[string]string{"max-games": "max-games-total"}) // its name in the first builds
	return c
}

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
					Effective: s.effective, Dirs: dirs, Once: once, LockWait: lockWait, Command: s.command, Version: version(), Log: s.log, Readers: s.readers, Progress: s.progress,
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
	f.StringVar(&dirs.PGN, "pgn-output-dir", "", "directory that gets <net>/games.pgn of its match (default: gatekeeper of the run)")
	f.BoolVar(&once, "quit-if-no-nets-to-test", false, "end when there is no net to test")
	f.DurationVar(&lockWait, "lock-wait", 0, "how long to wait for another gatekeeper of the run to end; 0 = not at all")
	takeNames(c, map[string]string{"sgf-output-dir": "pgn-output-dir", "no-autoreject-old-models": "test-older"}) // KataGo's
	return c
}

func newExport() *cobra.Command {
	var opt exporting.Options
	var gating string
	s := &session{}
	s.plan = func(_ *config.Effective, w io.Writer) error { return exporting.DryRun(opt, w) }
	c := &cobra.Command{
		Use:   "export",
		Short: "Make candidates of the nets that trainers hand over",
		Long: `Takes the nets that chessbrain train --export-mode main puts into toexport/ of the run, oldest first,
writes the files that --exporter makes of them into modelstobetested/, or with --gating 0 into models/, and then
removes what it took. Those of --export-mode extra go from toexport_extra/ to models_extra/.

A kill at any moment costs nothing: the next start does what is missing, and no net is made twice. The first Ctrl-C
or SIGTERM ends it with 5.`,
		Example: `  chessbrain export --run-dir runs/a --exporter lc0 --poll 30s`,
		Args:    noArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		switch {
		case opt.Poll <= 0:
			return usagef("--poll %v: want a time above 0", opt.Poll)
		case opt.LockWait < 0:
			return usagef("--lock-wait %v: want 0 or more", opt.LockWait)
		case opt.Once && given(c, "poll") != "":
			return usagef("--once: --poll is given too; keep one of the two")
		}
		if opt.Gating, err = strconv.ParseBool(gating); err != nil {
			return usagef("--gating %q: want 0 or 1", gating)
		}
		if err := s.resolve(c); err != nil {
			return err
		}
		if _, err := os.ReadDir(opt.From); given(c, "models-dir") != "" && err != nil { // a name that is wrong would be waited for
			return pathError(fmt.Errorf("--models-dir: %w; name the directory that trainers hand nets over in", err))
		}
		if opt.From != "" && s.effective.Origin("run_dir") == "default" { // locks and logs lie beside the nets
			s.effective.Config.RunDir = new(filepath.Dir(filepath.Clean(opt.From)))
		}
		opt.Effective, opt.Command = s.effective, s.command
		return perform(c, s, func(ctx context.Context) (*exporting.Summary, error) {
			opt.Log, opt.Readers = s.log, s.readers
			return exporting.Run(ctx, opt)
		})
	}
	s.bind(c, config.ExportGroups)
	f := c.Flags()
	f.StringVar(&opt.From, "models-dir", "", "directory that trainers hand nets over in (default: toexport/ and toexport_extra/ of the run)")
	f.StringVar(&opt.To, "output-dir", "", "directory of the nets made (default: modelstobetested/ of the run, models/ with --gating 0)")
	f.StringVar(&gating, "gating", "1", "1 = nets must win a match of chessbrain gatekeeper before they play; 0 = they play at once")
	f.BoolVar(&opt.Once, "once", false, "end when no net is left")
	f.DurationVar(&opt.Poll, "poll", exporting.DefaultPoll, "time between two looks for nets")
	f.DurationVar(&opt.LockWait, "lock-wait", 0, "wait so long for another exporter of the run to end; 0 = exit with 2 at once")
	bindJSON(c, "one JSON object at the end")
	return c
}
