package daemon

import (
	"math"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/train"
)

// States of the daemon.
const (
	stateIdle     = "idle"
	stateTraining = "training"
	stateStopping = "stopping"
)

// status is the state as of now.
func (s *server) status() statusPayload {
	var p statusPayload
	var schedule train.SchedulePage
	var scheduled bool
	own := &ownStatus{Version: s.opt.Version, State: stateIdle, Dropped: s.out.dropped.Load()}
	if !s.opt.Plain {
		p.ownStatus = own
	}
	j := s.job
	if j == nil {
		return p
	}
	j.mu.Lock()
	commands, seen := j.commands, j.seen
	j.mu.Unlock()
	own.State, own.ConfigFilepath, own.Steps = stateTraining, j.config, j.training.Steps
	if j.stopping.Load() {
		own.State = stateStopping
	}
	own.Dropped += j.dropped.Load()
	own.see(&seen)
	if commands == nil {
		own.Stage = "starting"
		return p
	}
	if page, ok := commands.Status().(train.Page); ok {
		own.Stage, own.Step, own.Job = page.Stage, page.Step, page.Job
		if own.Net == "" {
			own.Net = page.Net
		}
	}
	if commands.Loader != nil {
		if stats, ok := commands.Loader(); ok {
			p.UpdateSecs, p.OneSecond, p.Total = &stats.Seconds, metricsOf(&stats, false), metricsOf(&stats, true)
		}
	}
	if commands.Schedule != nil {
		if schedule, scheduled = commands.Schedule(); scheduled {
			p.TrainingSchedule = scheduleOf(&schedule, s.opt.now().Sub(s.began).Seconds())
			own.StepsLeft, own.Networks = schedule.StepsPerNetwork-schedule.StepsDone, schedule.Networks
		}
	}
	own.ETASeconds = own.eta(scheduled, &schedule)
	return p
}

// see fills in what the run's events say.
func (o *ownStatus) see(seen *seen) {
	o.Job, o.Net, o.Validation = seen.job, seen.net, seen.validation
	e := seen.step
	if e == nil {
		return
	}
	o.Step, o.Samples, o.Skipped = e.Step, e.Samples, e.SkippedTotal
	o.Losses, o.Loss, o.LR, o.GradNorm = e.Losses, &e.Loss, &e.LR, &e.GradNorm
	o.StepsPerSecond, o.RowsPerSecond = &e.Rates.StepsPerSecond, &e.Rates.RowsPerSecond
}

// scheduleOf is lczero's form of a schedule's page.
func scheduleOf(p *train.SchedulePage, uptime float64) *scheduleData {
	stage := "TRAINING"
	if p.Waiting {
		stage = "WAITING FOR DATA"
	}
	return &scheduleData{CurrentStage: stage, CompletedEpochs: p.FinishedHere, NewChunks: p.NewChunks, ChunksToWait: p.ChunksToWait,
		Uptime: uptime, CurrentTraining: p.TrainingSeconds, PreviousTraining: p.LastTrainingSeconds,
		CurrentCycle: p.CycleSeconds, PreviousCycleTime: p.LastCycleSeconds}
}

// eta is the time to the end of the net under way, or else of all steps asked
// for; while it waits for chunks, that of the wait, by how fast they came since
// it began. nil = not known.
func (o *ownStatus) eta(scheduled bool, p *train.SchedulePage) *float64 {
	left, rate := float64(o.Steps-o.Step), rateOf(o.StepsPerSecond)
	switch {
	case scheduled && p.Waiting:
		left, rate = float64(p.ChunksToWait-p.NewChunks), p.ChunksPerSecond
	case scheduled:
		left = float64(o.StepsLeft)
	case o.Steps == 0:
		return nil
	}
	seconds := max(0, left) / rate
	if math.IsNaN(seconds) || math.IsInf(seconds, 0) {
		return nil
	}
	return &seconds
}

func rateOf(n *monitor.Number) float64 {
	if n == nil {
		return 0
	}
	return float64(*n)
}
