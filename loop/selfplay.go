package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
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
	return games, errors.Join(err, s.close())
}

// selfPlayer is a playing process.
type selfPlayer struct {
	opt   SelfPlayOptions
	cfg   *config.Config
	name  string
	dir   Dir
	job   string
	nets  Nets
	store *Store
	locks []*fsx.Lock
	games int64 // on disk
	stats selfplay.Stats
}

func (s *selfPlayer) run(ctx context.Context) (int64, error) {
	if err := s.open(ctx); err != nil {
		return 0, err
	}
	worker, tickets, err := s.worker(ctx)
	if err != nil {
		return s.games, err
	}
	if tickets == nil {
		return s.games, nil // all asked for are there
	}
	worker.Tickets = tickets
	group, groupCtx := errgroup.WithContext(ctx)
	playing, stopWatching := context.WithCancel(groupCtx)
	workers := max(1, int(s.cfg.GetSelfplay().GetProducerWorkers()))
	players := new(errgroup.Group)
	for range workers {
		worker.Nets = s.nets.ForWorker(worker.Parallel)
		w, err := selfplay.NewWorker(worker)
		if err != nil {
			stopWatching()
			return s.games, err
		}
		players.Go(func() error { return w.Run(groupCtx) })
	}
	group.Go(func() error {
		defer stopWatching()
		return players.Wait()
	})
	group.Go(func() error { return s.watch(playing) })
	group.Go(func() error {
		for range s.store.Durable() {
			s.games++
		}
		return nil
	})
	group.Go(func() error { // ends the counting above once nobody plays
		<-playing.Done()
		return s.store.finish()
	})
	err = group.Wait()
	if ctx.Err() != nil && (err == nil || errors.Is(err, selfplay.ErrStopped) || errors.Is(err, context.Canceled)) {
		return s.games, ErrInterrupted
	}
	return s.games, err
}

// open joins the run and loads the newest net.
func (s *selfPlayer) open(ctx context.Context) error {
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
	}
	net, name, err := s.newest()
	if err != nil {
		return err
	}
	if err := s.nets.Publish(name, net); err != nil {
		return err
	}
	s.opt.Log.Info("playing", "net", name, "process", s.name, "device", deviceCPU, "kernels", kernelTier())
	return nil
}

// newest returns the newest checkpoint's net, or the initial net.
func (s *selfPlayer) newest() (*nn.Net, string, error) {
	c, err := trainer.LoadCheckpoint(fsx.OS, s.dir.Checkpoints)
	if errors.Is(err, trainer.ErrNoCheckpoint) {
		arch, err := archOf(s.cfg.GetModel().GetArch())
		if err != nil {
			return nil, "", err
		}
		return nn.Init(arch, s.cfg.GetSeed()), fmt.Sprintf("%s-%s-s0-d0", s.job, s.dir.Training), nil
	}
	if err != nil {
		return nil, "", err
	}
	net, err := CheckpointNet(c)
	name := fmt.Sprintf("%s-%s-s%d-d%d", s.job, s.dir.Training, c.Manifest.Samples, c.Manifest.Rows)
	return net, name, err
}

// worker prepares the games: which are still to be played, and how.
func (s *selfPlayer) worker(ctx context.Context) (selfplay.WorkerConfig, selfplay.Tickets, error) {
	st, err := stagesOf(s.cfg, s.dir.models())
	if err != nil {
		return selfplay.WorkerConfig{}, nil, err
	}
	game, err := gameConfig(s.cfg)
	if err != nil {
		return selfplay.WorkerConfig{}, nil, &config.Error{Field: "selfplay", Reason: err.Error()}
	}
	mine, err := filepath.Glob(filepath.Join(s.dir.selfplay(), "*", s.name))
	if err != nil {
		return selfplay.WorkerConfig{}, nil, err
	}
	var taken Ordinals
	for _, dir := range mine {
		if _, err := replay.SealTorn(ctx, fsx.OS, dir); err != nil {
			return selfplay.WorkerConfig{}, nil, err
		}
		scan, err := replay.ScanDir(ctx, fsx.OS, dir)
		if err != nil {
			return selfplay.WorkerConfig{}, nil, err
		}
		for _, g := range scan.Games {
			taken.Add(g.Ordinal)
		}
	}
	s.games = int64(taken.Len())
	w := selfplay.WorkerConfig{Game: game, RunSeed: s.cfg.GetSeed(), Process: s.opt.Process,
		Parallel: int(s.cfg.GetSelfplay().GetGamesPerWorker()), CacheEntries: int(s.cfg.GetMcts().GetCacheEntries()), Stats: &s.stats}
	if s.opt.MaxGames > 0 && s.games >= s.opt.MaxGames {
		return w, nil, nil
	}
	s.store = OpenStore(s.dir, s.name, s.nets.Name(), s.job, st.rescorers, maxGroup)
	w.Sink = s.store
	return w, newFreeTickets(&taken, s.opt.MaxGames), nil
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
			net, name, err := s.newest()
			if err != nil {
				s.opt.Log.Warn("the newest net cannot be read; playing on", "error", err)
			} else if name != s.nets.Name() {
				if err := s.nets.Publish(name, net); err != nil {
					return err
				}
				s.store.NewNet(name)
				s.opt.Log.Info("net loaded", "net", name)
			}
			if now.Sub(shown) >= time.Minute {
				shown = now
				s.opt.Log.Info("statistics", "started", s.stats.GamesStarted.Load(), "finished", s.stats.GamesFinished.Load(),
					"net", s.nets.Name(), "evaluations", s.stats.Evaluations.Load(), "batches", s.stats.Batches.Load(), "cache_hits", s.stats.CacheHits.Load())
			}
		}
	}
}

func (s *selfPlayer) close() error {
	var errs []error
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	for _, l := range s.locks {
		errs = append(errs, l.Release())
	}
	return errors.Join(errs...)
}
