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

// statusPage is the page of a running process. Safe for concurrent use.
type statusPage struct {
	mu    sync.Mutex
	page  Page
	sums  map[string]float64 // of losses since the last checkpoint
	steps int
}

// set changes the page.
func (s *statusPage) set(change func(*Page)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.page)
}

// add counts the losses of one step for the means.
func (s *statusPage) add(losses monitor.Numbers) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sums == nil {
		s.sums = map[string]float64{}
	}
	for name, v := range losses {
		s.sums[name] += float64(v)
	}
	s.steps++
}

// get returns a copy of the page.
func (s *statusPage) get() Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.page
}

// writeMetrics writes metrics.json of a checkpoint: the last values, and the
// means since the previous checkpoint, which begin anew.
func (s *statusPage) writeMetrics(w io.Writer) error {
	s.mu.Lock()
	p := s.page
	p.Means = monitor.Numbers{}
	for name, sum := range s.sums {
		p.Means[name] = monitor.Number(sum / float64(s.steps))
	}
	s.sums, s.steps = nil, 0
	s.mu.Unlock()
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(p)
}

// openControl opens the control socket and names it in the lock's owner file.
func (r *training) openControl() error {
	commands := r.commands()
	if r.opt.Commands != nil {
		r.opt.Commands(r.live(commands))
	}
	var err error
	r.control, err = r.listen(commands)
	return err
}

func (r *training) listen(commands run.Commands) (*run.Control, error) {
	return run.ListenRole(r.dir.Locks(), string(run.Trainer(r.dir.Training)), r.locks.role, commands)
}

// listenWaiting opens the control socket of a run that is still being opened and
// waits for its first rows; stop ends the wait. It is closed before the run goes
// on: until then nothing changes that the commands look at.
func (r *training) listenWaiting(why string, stop func()) (*run.Control, error) {
	r.page.set(func(p *Page) {
		*p = Page{Job: r.info.Job, Stage: "waiting", Started: r.began.UTC(), Pace: map[string]any{"waiting": why}, Arithmetic: r.info.Arithmetic}
	})
	c := r.commands()
	c.Status = func() any { return r.pageNow() } // there are no rows yet that could be asked
	c.Stop, c.Checkpoint, c.Subscribe = stop, nil, nil
	c.StartNow = func() error { return errNeverWaits }
	c.Swap = func(context.Context, run.Swap) error {
		return errors.New("the training still waits for its first rows: start it again with the other stage")
	}
	return r.listen(c)
}

// pageNow is the page with the stages as they are.
func (c *core) pageNow() Page {
	p := c.page.get()
	p.Stages, p.Plugins = c.stages.Page()
	return p
}

// commands are what others may ask of a training under way.
func (r *training) commands() run.Commands {
	return run.Commands{
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
		Stop: r.stop,
		Checkpoint: func() {
			select {
			case r.saver.asked <- struct{}{}:
			default: // one is asked for already
			}
		},
		Subscribe: func() (<-chan monitor.Event, func()) {
			s := r.bus.Subscribe(256)
			return s.Events(), s.Close
		},
		Swap:     r.swaps.Swap,
		StartNow: func() error { return r.pace.StartNow() },
	}
}

// Live is a training under way, for the process that runs it: what its control
// socket takes, and figures that no socket shows. ok is false for a training without
// data loader, or without schedule.
type Live struct {
	run.Commands
	Loader   func() (s loader.Stats, ok bool)
	Schedule func() (p SchedulePage, ok bool)
}

func (r *training) live(commands run.Commands) Live {
	return Live{Commands: commands,
		Loader:   r.rows.Loader,
		Schedule: r.pace.Schedule,
	}
}

// announceDevices writes the first line of the log: what the run computes with.
func (c *core) announceDevices() {
	a := setup.ArithmeticOf(c.cfg, true, playsGames(c.cfg))
	c.log.Info("devices", "trainer", setup.TrainerDevice(c.cfg).Describe(), "producers", setup.PlayerDevice(c.cfg).Describe(), "kernels", a.Kernels,
		"precision", a.Precision, "producer_precision", a.ProducerPrecision)
	if lacks := setup.LacksPrecision(c.opt.Effective, true, playsGames(c.cfg)); lacks != "" {
		c.log.Warn(lacks)
	}
}

// announce starts the clocks and says what runs.
func (r *training) announce() {
	r.reporter.meter = monitor.NewMeter()
	r.reporter.meter.Observe(time.Now(), r.reporter.totals()) // from here on
	cfg := r.cfg.GetTraining()
	net := r.trainer.Net()
	batch := int(cfg.GetBatchSize()) * int(cfg.GetGradAccumSteps())
	phase := monitor.RunStart
	if r.resumed {
		phase = monitor.RunResume
	}
	a := r.info.Arithmetic
	r.stages.Log(r.log)
	r.log.Info("net", "arch", net.Arch.String(), "parameters", numParams(net), "name", r.netName())
	r.log.Info("training", "phase", phase, "run", r.dir.Root, "batch", cfg.GetBatchSize(), "accumulate", cfg.GetGradAccumSteps(),
		"effective_batch", batch, "episode", r.state.Episodes, "of", r.players.target, "step", r.trainer.NumSteps())
	window, _ := r.rows.Size()
	r.page.set(func(p *Page) {
		*p = Page{Job: r.info.Job, Stage: "self-play", Net: r.netName(), Episode: r.state.Episodes, Episodes: r.players.target,
			Step: r.trainer.NumSteps(), Positions: r.state.Rows, WindowRows: window, Started: r.began.UTC(), Arithmetic: a}
	})
	r.bus.Publish(&monitor.Run{Phase: phase, Command: r.opt.Command, Version: r.opt.Version, ConfigHash: r.info.ConfigHash,
		Seed: r.cfg.GetSeed(), Device: a.Device, ProducerDevice: a.ProducerDevice,
		Kernels: a.Kernels, Precision: a.Precision, ProducerPrecision: a.ProducerPrecision, Arch: net.Arch.String(), Params: int64(numParams(net)),
		EffectiveBatch: batch, Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Episodes: r.players.target})
}

// watchPlugins reports what programs do, every few seconds, and reads the
// configuration file again when that is asked for, until end is called.
func (r *training) watchPlugins(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	tick := time.NewTicker(setup.ReportEvery(r.cfg))
	var watch sync.WaitGroup
	watch.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				r.desk.Report(r.stages.AllHosts())
			case <-r.opt.Reload:
				r.swaps.ReloadNow(ctx)
			}
		}
	})
	return func() {
		cancel()
		watch.Wait()
		r.desk.Report(r.stages.AllHosts())
	}
}
