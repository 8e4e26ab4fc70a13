package train

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/selfplay"
)

// players play the run's own games: weights go in, durable games come out. Where
// other processes play, nothing of it is opened.
type players struct {
	*core
	target int64 // episodes asked for, 0 where the games are not the run's own

	nets    play.Nets
	outputs *play.Outputs // the store's, which closes them; nil = none
	store   *play.Store
	resign  *selfplay.ResignRule // of the games that begin
	front   *atomic.Int64        // of the course that they begin in
	starts  *selfplay.Openings   // theirs
	stats   selfplay.Stats
	between *inlineGames // of players between steps; nil where they play beside the trainer

	published time.Time     // when the players got their net
	took      time.Duration // to hand it over
	sampled   int64         // samples that it was trained on
}

// publishPause is the least time between two nets of players that play beside the trainer,
// in multiples of what the last one took. A small net is trained on a hundred games a
// second: to pack the weights after each of them would take as long as to train.
const publishPause = 50

// publishShare makes an exception of the beginning, where nets change much with each game:
// players get a net as soon as one in publishShare of the last one's samples came after it.
const publishShare = 6

// leadShare of a run's games, one in so many, may be ahead of the trainer: begun by a net
// that has not learnt from the games before them.
const leadShare = 16

// prepare opens what the players need before the games on disk are looked at.
func (p *players) prepare() (err error) {
	if p.nets.Inference, err = p.cfg.OpenInference(); err != nil {
		return err
	}
	p.outputs, err = play.OpenOutputs(play.OutputOptions{Root: p.dir.Root, Process: trainProcess, Job: p.info.Job, GameForms: p.cfg.Episodes.Forms, Log: p.log})
	return err
}

// open starts the players of the run, which get the weights first.
func (p *players) open() (Games, error) {
	back := p.ledger.back
	if err := p.publish(); err != nil {
		return nil, err
	}
	worker, err := p.cfg.Worker(processTrain, &p.state.Resign, &p.state.Course, &p.stats)
	if err != nil {
		return nil, err
	}
	p.resign, p.front, p.starts = worker.Resign, worker.Front, worker.Game.Openings
	e := &p.cfg.Episodes
	p.store = play.OpenStore(play.StoreOptions{FS: p.opt.storeFS, Dir: p.dir, Process: trainProcess, Net: p.netName(), Job: p.info.Job,
		Rescorers: p.stages.Rescorers, Queue: e.Queue, MaxBytes: p.opt.chunkBytes, Outputs: p.outputs})
	lacking := max(0, p.target-p.state.Episodes-int64(back.Len()))
	free := play.NewFreeTickets(&p.ledger.taken, lacking)
	if e.Workers == 0 {
		p.between = &inlineGames{back: back, store: p.store, nets: &p.nets, worker: worker, cohort: e.Cohort, free: free}
		return p.between, nil
	}
	ahead := min(max(e.Workers, int(p.target/leadShare)), e.Workers*worker.Parallel+e.Queue)
	games, err := newProducedGames(back, p.store, &p.nets, worker, e.Workers, free, lacking, ahead)
	if err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	if p.opt.Beside != nil {
		return &mixedGames{producedGames: games, others: p.ledger.others(trainProcess)}, nil
	}
	return games, nil
}

// refresh hands the newest weights to the players after a game's steps: to players beside
// the trainer not each time, to others before they play the next cohort.
func (p *players) refresh() error {
	if b := p.between; b != nil && len(b.ready) > 0 || b == nil && !p.due(p.trainer.NumSamples()) {
		return nil
	}
	return p.publish()
}

// due says whether players beside a trainer of so many samples get a net now.
func (p *players) due(samples int64) bool {
	return time.Since(p.published) >= publishPause*p.took || samples > p.sampled+p.sampled/publishShare
}

// publish hands the newest weights to the players, averaged ones where such are exported.
func (p *players) publish() error {
	name, began := p.netName(), time.Now()
	net := p.average()
	if net == nil {
		net = p.trainer.View()
	}
	if err := p.nets.Publish(name, net, uint64(p.trainer.NumSamples())); err != nil {
		return err
	}
	p.published = time.Now()
	p.took, p.sampled = p.published.Sub(began), p.trainer.NumSamples()
	p.tellNet(monitor.NetLoaded, name, "")
	p.page.Set(func(page *Page) { page.Net = name })
	return nil
}

// watch moves the course's front, lets games be resigned once that has proved right,
// and makes the threshold stricter where too many resignations would have been false.
func (p *players) watch(g *record.Game) {
	if p.state.Course.Count(g, p.starts) {
		p.front.Store(int64(p.state.Course.Lines))
	}
	if !p.state.Resign.Count(g, p.cfg.Episodes.MaxFalseRate) || p.resign == nil {
		return
	}
	w := &p.state.Resign
	if w.Trusted {
		p.log.Info("resignations have proved right: games may be resigned now", "resign_q", w.Q, "tested", w.Tested, "false", w.False)
	} else {
		p.log.Warn("too many resignations would have been false; the threshold is stricter now and is tested anew",
			"resign_q", w.Q, "tested", w.Tested, "false", w.False)
	}
	p.resign.Set(w.Rule(p.cfg.Episodes.Resign))
}

// saved lets the games that are stored from now on name the newest net.
func (p *players) saved() {
	if p.store != nil {
		p.store.NewNet(p.netName())
	}
}

// close ends what no store closes; the games of a store end with their pace.
func (p *players) close() error {
	if p.store == nil {
		return p.outputs.Close()
	}
	p.store.LogFaults(p.log)
	return nil
}
