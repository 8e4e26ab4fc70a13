package train

import (
	"errors"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/selfplay"
)

// openGamesDir watches the directory that other processes write games to.
func (r *training) openGamesDir() (Games, error) {
	return newWatchedGames(r.takeBacklog(), r.gamesRoot(), r.seen, r.log), nil
}

// takeBacklog hands the games on disk to those who deliver them.
func (r *training) takeBacklog() *backlog {
	back := r.back
	r.back = nil
	return back
}

// openPlayers starts the players of the run, which get the weights first.
func (r *training) openPlayers() (Games, error) {
	back := r.takeBacklog()
	if err := r.publishNet(); err != nil {
		return nil, err
	}
	worker, err := setup.WorkerConfig(r.cfg, processTrain, &r.state.Resign, &r.stats)
	if err != nil {
		return nil, err
	}
	r.resign = worker.Resign
	s := r.cfg.GetSelfplay()
	r.store = play.OpenStore(play.StoreOptions{FS: r.opt.storeFS, Dir: r.dir, Process: trainProcess, Net: r.netName(), Job: r.info.Job,
		Rescorers: r.stages.Rescorers, Queue: int(s.GetProducerQueueSize()), MaxBytes: r.opt.chunkBytes, Outputs: r.outputs})
	missing := r.missingOrdinals(back)
	if s.GetProducerWorkers() == 0 {
		return &inlineGames{back: back, store: r.store, nets: &r.nets, worker: worker,
			cohort: uint64(s.GetCohortSize()), missing: missing}, nil
	}
	worker.Tickets = selfplay.NewList(missing)
	games, err := newProducedGames(back, r.store, &r.nets, worker, int(s.GetProducerWorkers()), len(missing))
	if err != nil {
		return nil, errors.Join(err, r.store.Close())
	}
	return games, nil
}

// playsGames says whether the run's games are its own, and not those of other
// processes.
func playsGames(c *config.Config) bool {
	return c.GetTraining().GetSource() == config.Training_SELFPLAY
}

// missingOrdinals are the numbers of the games still to be played: the lowest
// that no game of the run has, as many as it lacks.
func (r *training) missingOrdinals(back *backlog) []uint64 {
	lacking := r.target - r.state.Episodes - int64(back.Len())
	var missing []uint64
	for n := uint64(0); int64(len(missing)) < lacking; n++ {
		if !r.taken.Has(n) {
			missing = append(missing, n)
		}
	}
	return missing
}
