package train

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
)

// scheduleWords is how often a training that waits for chunks says so.
const scheduleWords = 5 * time.Minute

// errNeverWaits answers start-training-now where there is nothing to cut short.
var errNeverWaits = errors.New("this training never waits for new chunks: that is for source LOADER with training.schedule { steps_per_network chunks_per_network }")

// chunkSource is what a schedule needs of the data loader.
type chunkSource interface {
	WaitForChunks(ctx context.Context, perNetwork int, report func(have, want int)) error
	NewChunks() (have, want int)
	TrainNow()
}

// schedulePace trains one net after the other as lczero-training's daemon does:
// each waits for new chunks (ChunksToWait of replay/loader has the rule) and takes
// so many optimizer steps; then the state is saved and the net exported.
type schedulePace struct {
	rounds
	net    setup.Schedule
	source chunkSource
	clock  func() time.Time
	during func(wait func() error) error // lets stages be exchanged meanwhile
	now    run.Shared[scheduleNow]       // the status is read by others
}

// scheduleNow is where a schedule stands. A cycle is a wait and the training after it.
type scheduleNow struct {
	scheduleState
	here    int64 // nets finished by this process
	waiting bool  // for chunks
	base    int   // new chunks when the wait began

	cycle, training         time.Time // when they began; zero = none is under way
	lastCycle, lastTraining time.Duration
}

// scheduleState is what the checkpoint holds.
type scheduleState struct {
	Networks int64 `json:"networks"` // finished by the training in all
	Steps    int64 `json:"steps"`    // of the net under way
	Paid     bool  `json:"paid"`     // its chunks have come
}

// Wait is Pace's. Between two nets it waits for chunks.
func (p *schedulePace) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.now.Set(func(s *scheduleNow) {
		if s.cycle.IsZero() {
			s.cycle = p.clock()
		}
	})
	state := p.now.Get()
	if state.Steps == 0 && p.enough() {
		return p.end("the nets of this process are done", "nets", p.here, "limit", "--max-epochs-this-instance")
	}
	if !state.Paid {
		err := p.during(func() error { return p.wait(ctx) })
		if errors.Is(err, loader.ErrDataEnded) && state.Networks > 0 {
			return p.end("training ends", "lacking", err)
		}
		if err != nil {
			return err
		}
	}
	p.now.Set(func(s *scheduleNow) {
		s.Paid = true
		if s.training.IsZero() {
			s.training = p.clock()
			p.log.Info("network", "number", s.Networks+1, "steps", p.net.Steps-s.Steps)
		}
	})
	return nil
}

// wait waits for the chunks of the next net, and says so at once and then from
// time to time.
func (p *schedulePace) wait(ctx context.Context) error {
	first, ended := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() { // ends with ctx at the latest; it is waited for below
		ended <- p.source.WaitForChunks(ctx, p.net.Chunks, func(have, _ int) {
			once.Do(func() {
				p.now.Set(func(s *scheduleNow) { s.waiting, s.base = true, have })
				close(first)
			})
		})
	}()
	ticker := time.NewTicker(scheduleWords)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			p.now.Set(func(s *scheduleNow) { s.waiting = false })
			return err
		case <-first:
			first = nil
			p.say()
		case <-ticker.C:
			p.say()
		}
	}
}

// say says what is waited for.
func (p *schedulePace) say() {
	have, want := p.source.NewChunks()
	p.waits(fmt.Sprintf("new chunks (games): have %d, need %d for the next net (chunks_per_network; chessbrain ctl RUN start-training-now begins at once)", have, want))
}

func (p *schedulePace) StartNow() error {
	if p.net.Chunks == 0 {
		return errNeverWaits
	}
	p.source.TrainNow()
	return nil
}

func (p *schedulePace) Left() (steps int64, ok bool) {
	return (p.Most-p.here)*p.net.Steps - p.now.Get().Steps, p.Most > 0
}

func (p *schedulePace) After(*trainer.StepStats) (save, export bool) {
	p.now.Set(func(s *scheduleNow) {
		if s.Steps++; s.Steps < p.net.Steps {
			return
		}
		save = true
		now := p.clock()
		*s = scheduleNow{scheduleState: scheduleState{Networks: s.Networks + 1}, here: s.here + 1, cycle: now,
			lastCycle: now.Sub(s.cycle), lastTraining: now.Sub(s.training)}
	})
	if !save {
		return false, false
	}
	s := p.now.Get()
	p.finish("network", s.lastTraining, fmt.Sprintf("network %d, %d steps", s.Networks, p.net.Steps))
	return true, s.Networks%max(1, p.PerExport) == 0
}

const scheduleVersion = 1

// Section is Pace's: the net under way. What its chunks are counted from is in
// the loader's own section.
func (p *schedulePace) Section() stage.Section {
	get := func() scheduleState { return p.now.Get().scheduleState }
	return replay.JSONSection("schedule", "schedule section", scheduleVersion, get, func(saved scheduleState) error {
		if saved.Networks < 0 || saved.Steps < 0 {
			return fmt.Errorf("schedule section: %d networks and %d steps; neither can be below 0", saved.Networks, saved.Steps)
		}
		p.now.Set(func(s *scheduleNow) { s.scheduleState = saved })
		return nil
	})
}

// page returns where it stands. Safe for concurrent use.
func (p *schedulePace) page() SchedulePage {
	have, want := p.source.NewChunks()
	if want < 0 {
		want = p.net.Chunks
	}
	c, now := p.now.Get(), p.clock()
	s := SchedulePage{Waiting: c.waiting, Networks: c.Networks, FinishedHere: c.here,
		StepsDone: c.Steps, StepsPerNetwork: p.net.Steps, NewChunks: int64(have), ChunksToWait: int64(want),
		LastTrainingSeconds: c.lastTraining.Seconds(), LastCycleSeconds: c.lastCycle.Seconds()}
	if !c.training.IsZero() {
		s.TrainingSeconds = now.Sub(c.training).Seconds()
	}
	if !c.cycle.IsZero() {
		s.CycleSeconds = now.Sub(c.cycle).Seconds()
	}
	if c.waiting && s.CycleSeconds > 0 {
		s.ChunksPerSecond = float64(max(0, have-c.base)) / s.CycleSeconds
	}
	return s
}

func (p *schedulePace) Status() map[string]any {
	s := p.page()
	m := map[string]any{"networks": s.Networks, "network_steps": s.StepsDone, "steps_per_network": s.StepsPerNetwork}
	if p.net.Chunks > 0 {
		m["chunks_per_network"], m["new_chunks"], m["chunks_to_wait"] = p.net.Chunks, s.NewChunks, s.ChunksToWait
	}
	if s.Waiting {
		m["waiting"] = fmt.Sprintf("new chunks: have %d, need %d", s.NewChunks, s.ChunksToWait)
	}
	return m
}

// SchedulePage is where a training with a schedule stands. Times are seconds, 0
// where there was none yet. What lczero's TrainingScheduleData has bears its names.
type SchedulePage struct {
	Waiting         bool    `json:"-"` // for chunks
	Networks        int64   `json:"-"` // finished by the training in all
	StepsDone       int64   `json:"-"` // of the net under way
	StepsPerNetwork int64   `json:"-"`
	ChunksPerSecond float64 `json:"-"` // since the wait began; 0 = not known

	FinishedHere        int64   `json:"completed_epochs_since_start"`    // nets, by this process
	NewChunks           int64   `json:"new_chunks_since_training_start"` // since the last net began
	ChunksToWait        int64   `json:"chunks_to_wait"`                  // that the next net waits for
	TrainingSeconds     float64 `json:"current_training_time_seconds"`   // of the net under way
	LastTrainingSeconds float64 `json:"previous_training_time_seconds"`  // of the one before
	CycleSeconds        float64 `json:"current_cycle_time_seconds"`      // the same, with the wait before it
	LastCycleSeconds    float64 `json:"previous_cycle_time_seconds"`
}
