package train

import (
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/selfplay"
)

// openFeed starts what delivers games; where the run plays itself, the players
// get the weights first.
func (r *training) openFeed() error {
	back := r.back
	r.back = nil
	if !r.playsItself() {
		r.feed = newDirFeed(back, r.gamesRoot(), r.seen, r.log)
		return nil
	}
	if err := r.publishNet(); err != nil {
		return err
	}
	worker, err := setup.WorkerConfig(r.cfg, processTrain, &r.state.Resign, &r.stats)
	if err != nil {
		return err
	}
	r.resign = worker.Resign
	s := r.cfg.GetSelfplay()
	r.store = play.OpenStore(play.StoreOptions{FS: r.opt.storeFS, Dir: r.dir, Process: trainProcess, Net: r.netName(), Job: r.info.Job,
		Rescorers: r.stages.Rescorers, Queue: int(s.GetProducerQueueSize()), MaxBytes: r.opt.chunkBytes, Outputs: r.outputs})
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

// playsItself says whether the run's games are its own, and not those of other
// processes.
func (r *training) playsItself() bool { return playsGames(r.cfg) }

// playsGames is playsItself for a configuration.
func playsGames(c *config.Config) bool {
	return c.GetTraining().GetSource() == config.Training_SELFPLAY
}

// missingOrdinals are the numbers of the games still to be played: the lowest
// that no game of the run has, as many as it lacks.
func (r *training) missingOrdinals(back *backlog) []uint64 {
	lacking := r.target() - r.state.Episodes - int64(back.Len())
	var missing []uint64
	for n := uint64(0); int64(len(missing)) < lacking; n++ {
		if !r.taken.Has(n) {
			missing = append(missing, n)
		}
	}
	return missing
}
