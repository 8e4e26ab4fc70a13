package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay/loader"
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
	freePace
	steps       int64 // of a net
	chunks      int   // that a net waits for; 0 = supervised, it never waits
	everyExport int64 // nets between two exports
	atEnd       bool  // the net of the end is exported all the same
	most        int64 // nets of this process; 0 = no limit

	source  chunkSource
	waits   func(why string)      // says so
	publish func(e monitor.Event) // the end of each net
	now     func() time.Time
	during  func(wait func() error) error // lets stages be exchanged meanwhile

	mu      sync.Mutex // guards the rest: the status is read by others
	state   scheduleState
	here    int64 // nets finished by this process
	done    bool  // it ended the training
	clock   scheduleClock
	waiting bool // for chunks
	base    int  // new chunks when the wait began
}

// scheduleState is what the checkpoint holds.
type scheduleState struct {
	Networks int64 `json:"networks"` // finished by the training in all
	Steps    int64 `json:"steps"`    // of the net under way
	Paid     bool  `json:"paid"`     // its chunks have come
}

// scheduleClock keeps when things began and how long the last ones took. A cycle
// is a wait and the training after it.
type scheduleClock struct {
	cycle, training         time.Time // zero = none is under way
	lastCycle, lastTraining time.Duration
}

// newSchedulePace returns the pace of a run whose rows the data loader gives.
func newSchedulePace(r *training, rows *loaderRows) *schedulePace {
	return &schedulePace{
		steps: r.cfg.Schedule.Steps, chunks: r.cfg.Schedule.Chunks,
		everyExport: max(1, r.cfg.Epochs.PerExport), most: r.cfg.Epochs.Most,
		source: rows.loader, waits: r.waits, publish: r.process.Publish, now: time.Now,
		freePace: freePace{log: r.log}, atEnd: r.cfg.Epochs.PerExport == 0, during: r.bounds.during,
	}
}

// Wait is Pace's. Between two nets it waits for chunks.
func (p *schedulePace) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	state, here := p.state, p.here
	if p.clock.cycle.IsZero() {
		p.clock.cycle = p.now()
	}
	p.mu.Unlock()
	if state.Steps == 0 && p.most > 0 && here >= p.most {
		p.log.Info("the nets of this process are done", "nets", here, "limit", "--max-epochs-this-instance")
		return p.end()
	}
	if !state.Paid {
		err := p.during(func() error { return p.wait(ctx) })
		if errors.Is(err, loader.ErrDataEnded) && state.Networks > 0 {
			p.log.Info("training ends", "lacking", err)
			return p.end()
		}
		if err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Paid = true
	if p.clock.training.IsZero() {
		p.clock.training = p.now()
		p.log.Info("network", "number", p.state.Networks+1, "steps", p.steps-p.state.Steps)
	}
	return nil
}

func (p *schedulePace) end() error {
	p.done = true
	return io.EOF
}

// Exports is Pace's.
func (p *schedulePace) Exports() (alone, last bool) { return true, p.done && p.atEnd }

// wait waits for the chunks of the next net, and says so at once and then from
// time to time.
func (p *schedulePace) wait(ctx context.Context) error {
	first, ended := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() { // ends with ctx at the latest; it is waited for below
		ended <- p.source.WaitForChunks(ctx, p.chunks, func(have, _ int) {
			once.Do(func() {
				p.beginWait(have)
				close(first)
			})
		})
	}()
	ticker := time.NewTicker(scheduleWords)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			p.mu.Lock()
			p.waiting = false
			p.mu.Unlock()
			return err
		case <-first:
			first = nil
			p.say()
		case <-ticker.C:
			p.say()
		}
	}
}

func (p *schedulePace) beginWait(have int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting, p.base = true, have
}

// say says what is waited for.
func (p *schedulePace) say() {
	have, want := p.source.NewChunks()
	p.waits(fmt.Sprintf("new chunks (games): have %d, need %d for the next net (chunks_per_network; chessbrain ctl RUN start-training-now begins at once)", have, want))
}

// StartNow is Pace's.
func (p *schedulePace) StartNow() error {
	if p.chunks == 0 {
		return errNeverWaits
	}
	p.source.TrainNow()
	return nil
}

// After is Pace's.
func (p *schedulePace) After(*trainer.StepStats) (save, export bool) {
	p.mu.Lock()
	p.state.Steps++
	if p.state.Steps < p.steps {
		p.mu.Unlock()
		return false, false
	}
	p.state = scheduleState{Networks: p.state.Networks + 1}
	p.here++
	now, c := p.now(), &p.clock
	*c = scheduleClock{cycle: now, lastCycle: now.Sub(c.cycle), lastTraining: now.Sub(c.training)}
	number, took := p.state.Networks, c.lastTraining
	p.mu.Unlock()
	p.publish(&monitor.Stage{Name: "network", State: "finished", Seconds: monitor.Number(took.Seconds()),
		Detail: fmt.Sprintf("network %d, %d steps", number, p.steps)})
	return true, number%p.everyExport == 0
}

const scheduleVersion = 1

// Section is Pace's: the net under way. What its chunks are counted from is in
// the loader's own section.
func (p *schedulePace) Section() stage.Section {
	get := func() scheduleState {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.state
	}
	return jsonSection("schedule", scheduleVersion, get, func(s scheduleState) error {
		if s.Networks < 0 || s.Steps < 0 {
			return fmt.Errorf("%d networks and %d steps; neither can be below 0", s.Networks, s.Steps)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.state = s
		return nil
	})
}

// page returns where it stands. Safe for concurrent use.
func (p *schedulePace) page() SchedulePage {
	have, want := p.source.NewChunks()
	if want < 0 {
		want = p.chunks
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c, now := &p.clock, p.now()
	s := SchedulePage{Waiting: p.waiting, Networks: p.state.Networks, FinishedHere: p.here,
		StepsDone: p.state.Steps, StepsPerNetwork: p.steps, NewChunks: int64(have), ChunksToWait: int64(want),
		LastTrainingSeconds: c.lastTraining.Seconds(), LastCycleSeconds: c.lastCycle.Seconds()}
	if !c.training.IsZero() {
		s.TrainingSeconds = now.Sub(c.training).Seconds()
	}
	if !c.cycle.IsZero() {
		s.CycleSeconds = now.Sub(c.cycle).Seconds()
	}
	if p.waiting && s.CycleSeconds > 0 {
		s.ChunksPerSecond = float64(max(0, have-p.base)) / s.CycleSeconds
	}
	return s
}

// Schedule is Pace's.
func (p *schedulePace) Schedule() (SchedulePage, bool) { return p.page(), true }

// Status is Pace's.
func (p *schedulePace) Status() map[string]any {
	s := p.page()
	m := map[string]any{"networks": s.Networks, "network_steps": s.StepsDone, "steps_per_network": s.StepsPerNetwork}
	if p.chunks > 0 {
		m["chunks_per_network"], m["new_chunks"], m["chunks_to_wait"] = p.chunks, s.NewChunks, s.ChunksToWait
	}
	if s.Waiting {
		m["waiting"] = fmt.Sprintf("new chunks: have %d, need %d", s.NewChunks, s.ChunksToWait)
	}
	return m
}

// SchedulePage is where a training with a schedule stands. Times are seconds, 0
// where there was none yet.
type SchedulePage struct {
	Waiting         bool    // for chunks
	Networks        int64   // finished by the training in all
	FinishedHere    int64   // by this process
	StepsDone       int64   // of the net under way
	StepsPerNetwork int64   //
	NewChunks       int64   // since the last net began
	ChunksToWait    int64   // that the next net waits for
	ChunksPerSecond float64 // since the wait began; 0 = not known

	TrainingSeconds, LastTrainingSeconds float64 // of the net under way, of the one before
	CycleSeconds, LastCycleSeconds       float64 // the same, with the wait before it
}
