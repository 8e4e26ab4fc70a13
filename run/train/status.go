package train

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Page is one page of a run's state, as `chessbrain ctl RUN status` shows it.
type Page struct {
	Job        string              `json:"job"`
	Stage      string              `json:"stage"`
	Net        string              `json:"net"`
	Episode    int64               `json:"episode"`
	Episodes   int64               `json:"episodes"` // asked for; 0 = no such limit
	Step       int64               `json:"step"`
	Positions  int64               `json:"positions"` // of all games counted
	WindowRows int64               `json:"window_rows"`
	Losses     monitor.Numbers     `json:"losses,omitempty"`
	Means      monitor.Numbers     `json:"means,omitempty"` // of the losses since the last checkpoint
	Validation monitor.Numbers     `json:"validation,omitempty"`
	Rates      monitor.Rates       `json:"rates"`
	Started    time.Time           `json:"started"`
	Stages     []string            `json:"stages,omitempty"` // rescorers, sampler and exporter in use
	Plugins    []setup.PluginState `json:"plugins,omitempty"`
	Pace       map[string]any      `json:"pace,omitempty"` // what the training waits for, where it follows the games; not changed once it is here
	run.Arithmetic
}

// statusPage is the page of a running process.
type statusPage struct {
	run.Shared[Page]

	// Of losses since the last checkpoint; the training goroutine's alone.
	sums  map[string]float64
	steps int
}

// add counts the losses of one step for the means.
func (s *statusPage) add(losses monitor.Numbers) {
	if s.sums == nil {
		s.sums = map[string]float64{}
	}
	for name, v := range losses {
		s.sums[name] += float64(v)
	}
	s.steps++
}

// writeMetrics writes metrics.json of a checkpoint: the last values, and the
// means since the previous checkpoint, which begin anew.
func (s *statusPage) writeMetrics(w io.Writer) error {
	p := s.Get()
	p.Means = monitor.Numbers{}
	for name, sum := range s.sums {
		p.Means[name] = monitor.Number(sum / float64(s.steps))
	}
	s.sums, s.steps = nil, 0
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(p)
}

// listen answers on the control socket, and in this process.
func (r *training) listen() error {
	live := Live{Commands: run.Commands{
		Status: func() any {
			p := r.pageNow()
			if why := r.rows.Waiting(); why != "" {
				p.Stage = "waiting"
				if p.Pace == nil {
					p.Pace = map[string]any{"waiting": why}
				}
			}
			return p
		},
		Games:      func() any { return r.players.stats.Shown.Games() },
		Stop:       r.process.Stop,
		Checkpoint: func() { r.saver.asked.Store(true) },
		Swap:       r.swaps.Swap,
		StartNow:   r.pace.StartNow,
	}}
	if rows, ok := r.rows.(*loaderRows); ok {
		live.Loader = rows.loader.Stats
	}
	if pace, ok := r.pace.(*schedulePace); ok {
		live.Schedule = pace.page
	}
	if r.opt.Commands != nil {
		r.opt.Commands(live)
	}
	return r.process.Listen(live.Commands)
}

// listenWaiting answers on the control socket of a run that is still being opened and
// waits for its first rows.
func (r *training) listenWaiting(why string) error {
	r.page.Set(func(p *Page) {
		*p = Page{Job: r.info.Job, Stage: "waiting", Started: r.began.UTC(), Pace: map[string]any{"waiting": why}, Arithmetic: r.info.Arithmetic}
	})
	return r.process.Listen(run.Commands{
		Status:   func() any { return r.pageNow() },
		StartNow: func() error { return errNeverWaits },
		Swap: func(context.Context, run.Swap) error {
			return errors.New("the training still waits for its first rows: start it again with the other stage")
		},
	})
}

// pageNow is the page with the stages as they are.
func (c *core) pageNow() Page {
	p := c.page.Get()
	p.Stages, p.Plugins = c.stages.Page()
	return p
}

// Live is a training under way, for the process that runs it: what its control
// socket takes, and figures that no socket shows.
type Live struct {
	run.Commands
	Loader   func() loader.Stats // nil = there is no data loader
	Schedule func() SchedulePage // nil = there is no schedule
}

// announceDevices writes the first line of the log: what the run computes with.
func (c *core) announceDevices() {
	trainer, producers, lacks := c.cfg.Devices()
	a := c.cfg.Arithmetic()
	c.log.Info("devices", "trainer", trainer, "producers", producers, "kernels", a.Kernels,
		"precision", a.Precision, "producer_precision", a.ProducerPrecision)
	if lacks != "" {
		c.log.Warn(lacks)
	}
}

// announce starts the clocks and says what runs.
func (r *training) announce() {
	r.reporter.meter = new(monitor.Meter)
	r.reporter.meter.Observe(time.Now(), r.reporter.totals()) // from here on
	net := r.trainer.View()
	batch := r.cfg.Batch * r.cfg.Accumulate
	phase := monitor.RunStart
	if r.saver.episodes >= 0 { // there is a checkpoint
		phase = monitor.RunResume
	}
	a := r.info.Arithmetic
	r.stages.Log(r.log)
	r.log.Info("net", "arch", net.Arch.String(), "parameters", net.Len(), "name", r.netName())
	r.log.Info("training", "phase", phase, "run", r.dir.Root, "batch", r.cfg.Batch, "accumulate", r.cfg.Accumulate,
		"effective_batch", batch, "episode", r.state.Episodes, "of", r.players.target, "step", r.trainer.NumSteps())
	window, _ := r.rows.Size()
	r.page.Set(func(p *Page) {
		*p = Page{Job: r.info.Job, Stage: "self-play", Net: r.netName(), Episode: r.state.Episodes, Episodes: r.players.target,
			Step: r.trainer.NumSteps(), Positions: r.state.Rows, WindowRows: window, Started: r.began.UTC(), Arithmetic: a}
	})
	r.process.Publish(&monitor.Run{Phase: phase, Command: r.opt.Command, Version: r.opt.Version, ConfigHash: r.info.ConfigHash,
		Seed: r.cfg.Seed, Device: a.Device, ProducerDevice: a.ProducerDevice,
		Kernels: a.Kernels, Precision: a.Precision, ProducerPrecision: a.ProducerPrecision, Arch: net.Arch.String(), Params: int64(net.Len()),
		EffectiveBatch: batch, Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Episodes: r.players.target})
}

// watchPlugins reports what programs do, every few seconds, and reads the
// configuration file again when that is asked for, until end is called.
func (r *training) watchPlugins(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	tick := time.NewTicker(r.cfg.ReportEvery)
	var watch sync.WaitGroup
	watch.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				r.plugins.Report(r.stages.AllHosts())
			case <-r.opt.Reload:
				r.swaps.ReloadNow(ctx)
			}
		}
	})
	return func() {
		cancel()
		watch.Wait()
		r.plugins.Report(r.stages.AllHosts())
	}
}
