package daemon

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/train"
)

// job is a training under way.
type job struct {
	config   string
	training *Training
	ctx      context.Context // its end asks it to stop
	cancel   context.CancelFunc
	done     chan struct{}
	summary  string // once done is closed
	err      error

	mu       sync.Mutex  // guards the rest
	commands *train.Live // nil = it takes none yet
	now      bool        // start_training_immediately came before that
	seen     ownStatus   // what the run's events say

	dropped atomic.Int64 // events for which there was no room
}

// begin starts a training; its events beside steps go to events.
func begin(ctx context.Context, config string, t *Training, events chan<- monitor.Event) *job {
	ctx, cancel := context.WithCancel(ctx)
	j := &job{config: config, training: t, ctx: ctx, cancel: cancel, done: make(chan struct{})}
	hooks := Hooks{Commands: j.take, Sink: monitor.SinkFunc(func(e monitor.Event) error {
		j.see(e)
		switch e.(type) { // what comes with every step, game or second is in the status
		case *monitor.Run, *monitor.Stage, *monitor.Validation, *monitor.Measure, *monitor.Net, *monitor.Gate, *monitor.Alarm:
			select {
			case events <- e:
			default:
				j.dropped.Add(1)
			}
		}
		return nil
	})}
	go func() { // its end is waited for: finished
		defer close(j.done)
		defer cancel()
		j.summary, j.err = t.Run(ctx, hooks)
	}()
	return j
}

// finished is closed when the training has ended; nil without one.
func (j *job) finished() <-chan struct{} {
	if j == nil {
		return nil
	}
	return j.done
}

// see notes what the status shows. It is called inside Publish.
func (j *job) see(e monitor.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	o := &j.seen
	o.Job = e.Head().Job
	switch e := e.(type) {
	case *monitor.Step:
		o.Step, o.Samples, o.Skipped = e.Step, e.Samples, e.SkippedTotal
		o.Losses, o.Loss, o.LR, o.GradNorm = e.Losses, &e.Loss, &e.LR, &e.GradNorm
		o.StepsPerSecond, o.RowsPerSecond = &e.Rates.StepsPerSecond, &e.Rates.RowsPerSecond
	case *monitor.Validation:
		o.Validation = e.Losses
	case *monitor.Net:
		o.Net = e.NetID
	}
}

// take notes the run's commands.
func (j *job) take(c train.Live) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.commands = &c
	if j.now && c.StartNow != nil {
		_ = c.StartNow() // a run that never waits refuses it, and nothing is lost
	}
}

// do does what one line asks of the training, and says so.
func (j *job) do(kind string) (text string, err error) {
	if kind == askStop {
		j.cancel()
		return "finishing the current step, then saving", nil
	}
	j.mu.Lock()
	c := j.commands
	if c == nil && kind == startNow {
		j.now = true
	}
	j.mu.Unlock()
	switch {
	case kind == startNow && c == nil:
		return "the training begins without waiting for new chunks", nil
	case c == nil:
		return "", errors.New("the training is starting and takes no commands yet: send it again")
	case kind == startNow:
		if err := c.StartNow(); err != nil {
			return "", err
		}
		return "no more waiting for new chunks", nil
	}
	c.Checkpoint()
	return "a checkpoint follows the next step", nil
}
