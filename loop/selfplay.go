package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/selfplay"
	"github.com/chessbrain/chessbrain/trainer"
)

// SelfPlayOptions start a process that only plays, for a trainer with
// `--source dir` to learn from.
type SelfPlayOptions struct {
	Effective *config.Effective
	Process   uint64 // number of this process among those of the run, from 1
	MaxGames  int64  // games to play, those on disk included; 0 = until stopped
	Command   string
	Log       *slog.Logger
}

// netPoll is how often a playing process looks for newer weights.
const netPoll = 5 * time.Second

// SelfPlay plays games with the newest net of the run directory (the seeded
// initial net while there is none) and stores them. Any number of such
// processes may share a run directory, each with its own number: they never
// play one game twice. It returns how many games are on disk, with
// ErrInterrupted when ctx ended first.
func SelfPlay(ctx context.Context, opt SelfPlayOptions) (int64, error) {
	if opt.Process == 0 {
		return 0, &config.Error{Where: "--process", Reason: "0 is the process that plays inside train; count from 1"}
	}
	s := &selfPlayer{opt: opt, cfg: opt.Effective.Config, name: "p" + strconv.FormatUint(opt.Process, 10)}
	games, err := s.run(ctx)
	told := ctx.Err() != nil || s.told.Load()
	if all := opt.MaxGames > 0 && games >= opt.MaxGames; told && !all && (err == nil || stopped(err)) {
		err = ErrInterrupted // also when no game had begun, which is no error to the players
	}
	return games, errors.Join(err, s.close())
}

// selfPlayer is a playing process.
type selfPlayer struct {
	opt     SelfPlayOptions
	cfg     *config.Config
	name    string
	dir     Dir
	job     string
	nets    Nets
	store   *Store
	locks   []*fsx.Lock
	games   int64 // on disk
	resign  ResignWatch
	rule    *selfplay.ResignRule
	before  int64 // games on disk at the start
	role    *fsx.Lock
	control *Control
	told    atomic.Bool // to stop, by the control socket
	current string      // checkpoint whose net plays
	stats   selfplay.Stats
}

func (s *selfPlayer) run(ctx context.Context) (int64, error) {
	if err := s.open(); err != nil {
		return 0, err
	}
	worker, err := s.prepare(ctx)
	if err != nil || s.opt.MaxGames > 0 && s.games >= s.opt.MaxGames {
		return s.games, err // nothing to play: all asked for are there
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := s.openControl(func() { s.told.Store(true); stop() }); err != nil {
		return s.games, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	players, err := startPlayers(groupCtx, &s.nets, worker, max(1, int(s.cfg.GetSelfplay().GetProducerWorkers())))
	if err != nil {
		return s.games, err
	}
	watching, stopWatching := context.WithCancel(groupCtx)
	group.Go(func() error {
		defer stopWatching()
		<-players.done
		return errors.Join(players.err, s.store.finish())
	})
	group.Go(func() error { return s.watch(watching) })
	group.Go(func() error {
		s.count()
		return nil
	})
	err = group.Wait() // before games is read
	return s.games, err
}

// PlayPage is one page of a playing process's state.
type PlayPage struct {
	Job         string `json:"job"`
	Process     string `json:"process"`
	Net         string `json:"net"`
	Games       int64  `json:"games"` // finished, those of earlier starts included
	Started     uint64 `json:"started"`
	Positions   uint64 `json:"positions"`
	Evaluations uint64 `json:"evaluations"`
	Batches     uint64 `json:"batches"`
	CacheHits   uint64 `json:"cache_hits"`
	Arithmetic
}

// openControl opens the process's control socket: status and stop.
func (s *selfPlayer) openControl(stop func()) error {
	s.before = s.games
	var err error
	s.control, err = ListenControl(s.dir.locks(), "selfplay-"+s.name, Commands{
		Status: func() any {
			n := &s.stats
			return PlayPage{Job: s.job, Process: s.name, Net: s.nets.Name(), Games: s.before + int64(n.GamesFinished.Load()),
				Started: n.GamesStarted.Load(), Positions: n.Plies.Load(), Evaluations: n.Evaluations.Load(),
				Batches: n.Batches.Load(), CacheHits: n.CacheHits.Load(),
				Arithmetic: arithmeticOf(s.cfg, false, true)}
		},
		Stop: stop,
	})
	if err != nil {
		return err
	}
	return s.control.nameIn(s.role)
}

// count takes the durable games until the store has ended. It must take them
// all, also after an error: the store waits for it.
func (s *selfPlayer) count() {
	rule := s.cfg.GetSelfplay().GetResign()
	for g := range s.store.Durable() {
		s.games++
		if s.resign.Count(g, rule.GetMaxFalseRate()) {
			s.rule.Set(s.resign.Rule(rule))
			s.opt.Log.Info("the resignation rule changed", "resign_q", s.resign.Q, "trusted", s.resign.Trusted,
				"tested", s.resign.Tested, "false", s.resign.False)
		}
	}
}

// open joins the run and loads the newest net.
func (s *selfPlayer) open() error {
	if err := CheckConfig(s.opt.Effective); err != nil {
		return err
	}
	root := s.cfg.GetRunDir()
	info, exists, err := ReadRunInfo(root)
	if err != nil {
		return err
	}
	s.job = info.Job
	if !exists {
		s.job = newJob(s.cfg)
	}
	s.dir = NewDir(root, s.cfg.GetTraining().GetTrainingName(), s.job,
		s.cfg.GetTraining().GetCheckpoint().GetDir(), s.cfg.GetMetrics().GetDir())
	if err := fsx.MkdirAll(fsx.OS, s.dir.locks()); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	for _, l := range []struct {
		name   string
		shared bool
	}{{"run", true}, {"selfplay-" + s.name, false}} {
		lock, err := fsx.Acquire(filepath.Join(s.dir.locks(), l.name), fsx.LockOptions{Shared: l.shared, Command: s.opt.Command})
		if err != nil {
			return err
		}
		s.locks = append(s.locks, lock)
		s.role = lock // the second is the process's own
	}
	s.nets.precision = playerPrecision(s.cfg)
	net, name, err := s.newest()
	if err != nil {
		return err
	}
	if err := s.nets.Publish(name, net); err != nil {
		return err
	}
	a := arithmeticOf(s.cfg, false, true)
	s.opt.Log.Info("playing", "net", name, "process", s.name, "device", deviceCPU, "kernels", a.Kernels, "precision", a.ProducerPrecision)
	if lacks := lacksBF16(s.opt.Effective, false, true); lacks != "" {
		s.opt.Log.Warn(lacks)
	}
	return nil
}

// newest returns the newest checkpoint's net, or the initial net, and notes which
// checkpoint was current then.
func (s *selfPlayer) newest() (*nn.Net, string, error) {
	var err error
	if s.current, err = trainer.CurrentName(fsx.OS, s.dir.Checkpoints); err != nil {
		return nil, "", err
	}
	c, err := trainer.LoadCheckpoint(fsx.OS, s.dir.Checkpoints)
	if errors.Is(err, trainer.ErrNoCheckpoint) {
		net, err := initialNet(s.opt.Effective, s.cfg.GetSeed())
		return net, fmt.Sprintf("%s-%s-s0-d0", s.job, s.dir.Training), err
	}
	if err != nil {
		return nil, "", err
	}
	net, err := CheckpointNet(c)
	name := fmt.Sprintf("%s-%s-s%d-d%d", s.job, s.dir.Training, c.Manifest.Samples, c.Manifest.Rows)
	return net, name, err
}

// prepare reads this process's games, to know which are still to be played, and
// opens the store.
func (s *selfPlayer) prepare(ctx context.Context) (selfplay.WorkerConfig, error) {
	st, err := stagesOf(s.cfg)
	if err != nil {
		return selfplay.WorkerConfig{}, &config.Error{Reason: err.Error()}
	}
	s.resign.Rule(s.cfg.GetSelfplay().GetResign())
	var taken Ordinals
	if err := s.readGames(ctx, &taken); err != nil {
		return selfplay.WorkerConfig{}, err
	}
	s.games = int64(taken.Len())
	w, err := workerConfig(s.cfg, s.opt.Process, &s.resign, &s.stats)
	if err != nil {
		return w, err
	}
	s.store = OpenStore(StoreOptions{Dir: s.dir, Process: s.name, Net: s.nets.Name(), Job: s.job, Rescorers: st.rescorers, Queue: maxGroup})
	s.rule = w.Resign
	w.Sink, w.Tickets = s.store, newFreeTickets(&taken, s.opt.MaxGames)
	return w, nil
}

// readGames mends and reads the games that this process has played before.
func (s *selfPlayer) readGames(ctx context.Context, taken *Ordinals) error {
	nets, err := os.ReadDir(s.dir.selfplay())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read games: %w", err)
	}
	var games []*record.Game
	for _, net := range nets {
		dir := s.dir.gamesOf(net.Name(), s.name)
		if _, err := replay.SealTorn(ctx, fsx.OS, dir); errors.Is(err, fsx.ErrSync) {
			return err
		} else if err != nil {
			s.opt.Log.Error("a chunk could not be mended", "error", err)
		}
		scan, err := replay.ScanDir(ctx, fsx.OS, dir)
		if err != nil {
			return err
		}
		for _, bad := range scan.Quarantine {
			s.opt.Log.Error("damaged games were left out", "error", bad)
		}
		games = append(games, scan.Games...)
	}
	slices.SortFunc(games, func(a, b *record.Game) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	for _, g := range games {
		if taken.Add(g.Ordinal) {
			s.resign.Count(g, s.cfg.GetSelfplay().GetResign().GetMaxFalseRate())
		}
	}
	return nil
}

// watch loads newer weights as they appear, until nobody plays any more.
func (s *selfPlayer) watch(ctx context.Context) error {
	tick := time.NewTicker(netPoll)
	defer tick.Stop()
	shown := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if err := s.follow(); err != nil {
				return err
			}
			if now.Sub(shown) >= time.Minute {
				shown = now
				s.opt.Log.Info("statistics", "started", s.stats.GamesStarted.Load(), "finished", s.stats.GamesFinished.Load(),
					"net", s.nets.Name(), "evaluations", s.stats.Evaluations.Load(), "batches", s.stats.Batches.Load(), "cache_hits", s.stats.CacheHits.Load())
			}
		}
	}
}

// follow loads the newest net if another checkpoint is current than before. One
// that cannot be read is left for the next time.
func (s *selfPlayer) follow() error {
	if marked, err := trainer.CurrentName(fsx.OS, s.dir.Checkpoints); err == nil && marked == s.current {
		return nil
	}
	net, name, err := s.newest()
	if err != nil {
		s.opt.Log.Warn("the newest net cannot be read; playing on", "error", err)
		s.current = ""
		return nil
	}
	if name == s.nets.Name() {
		return nil
	}
	if err := s.nets.Publish(name, net); err != nil {
		return err
	}
	s.store.NewNet(name)
	s.opt.Log.Info("net loaded", "net", name)
	return nil
}

func (s *selfPlayer) close() error {
	var errs []error
	if s.control != nil {
		errs = append(errs, s.control.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	for _, l := range s.locks {
		errs = append(errs, l.Release())
	}
	return errors.Join(errs...)
}
