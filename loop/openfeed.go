package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/chessbrain/chessbrain/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/selfplay"
)

// openFeed publishes the weights and starts what delivers games.
func (r *run) openFeed(back *backlog) error {
	if err := r.publishNet(r.netName(), r.trainer.Net()); err != nil {
		return err
	}
	if r.cfg.GetTraining().GetSource() == config.Training_DIR {
		r.feed = newDirFeed(back, r.gamesRoot(), r.log.Error)
		return nil
	}
	worker, err := r.workerConfig()
	if err != nil {
		return err
	}
	s := r.cfg.GetSelfplay()
	r.store = OpenStore(r.dir, trainProcess, r.netName(), r.info.Job, r.stages.rescorers, int(s.GetProducerQueueSize()))
	missing := r.missingOrdinals(back)
	if s.GetProducerWorkers() == 0 {
		r.feed = &inlineFeed{back: back, store: r.store, nets: &r.nets, worker: worker,
			cohort: uint64(s.GetCohortSize()), missing: missing}
		return nil
	}
	worker.Tickets = selfplay.NewList(missing)
	feed, err := newProducerFeed(back, r.store, &r.nets, worker, int(s.GetProducerWorkers()), len(missing))
	if err != nil {
		return err
	}
	r.feed = feed
	return nil
}

// workerConfig says how this process plays.
func (r *run) workerConfig() (selfplay.WorkerConfig, error) {
	game, err := gameConfig(r.cfg)
	if err != nil {
		return selfplay.WorkerConfig{}, &config.Error{Field: "selfplay", Reason: err.Error()}
	}
	return selfplay.WorkerConfig{
		Game: game, RunSeed: r.cfg.GetSeed(), Process: processTrain,
		Parallel: int(r.cfg.GetSelfplay().GetGamesPerWorker()), CacheEntries: int(r.cfg.GetMcts().GetCacheEntries()),
		Stats: &r.stats,
	}, nil
}

// missingOrdinals are the numbers of the games still to be played: the lowest
// that no game on disk has, as many as the run lacks.
func (r *run) missingOrdinals(back *backlog) []uint64 {
	lacking := r.cfg.GetSelfplay().GetEpisodes() - r.state.Episodes - int64(back.Len())
	var missing []uint64
	for n := uint64(0); int64(len(missing)) < lacking; n++ {
		if !r.taken.Has(n) {
			missing = append(missing, n)
		}
	}
	return missing
}

// dirFeed watches a directory for games that other processes write.
type dirFeed struct {
	back  *backlog
	dir   *replay.DirSource
	found []*record.Game
	warn  func(msg string, args ...any)
}

// pollEvery is how often a directory is looked at while no game waits.
const pollEvery = 2 * time.Second

// newDirFeed watches dir. Games of the backlog come first; what they and the
// windows hold is not read again.
func newDirFeed(back *backlog, dir string, warn func(string, ...any)) *dirFeed {
	return &dirFeed{back: back, dir: replay.NewDirSource(fsx.OS, dir), warn: warn}
}

// markSeen leaves out a game that was counted before the start.
func (f *dirFeed) markSeen(id [16]byte) { f.dir.MarkSeen(id) }

func (f *dirFeed) Next(ctx context.Context) (*record.Game, error) {
	if g := f.back.pop(); g != nil {
		f.dir.MarkSeen(g.ID)
		return g, nil
	}
	for len(f.found) == 0 {
		found, err := f.dir.Poll(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for games: %w", err)
		}
		for _, p := range found.Problems {
			f.warn("damaged games were left out", "error", p)
		}
		f.found = found.Games
		if len(f.found) > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
	g := f.found[0]
	f.found = f.found[1:]
	return g, nil
}

func (f *dirFeed) Waiting() int { return f.back.Len() + len(f.found) }

func (f *dirFeed) Close() error { return nil }
