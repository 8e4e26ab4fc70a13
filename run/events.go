package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// subscribed is the number of events that wait for one slow reader.
const subscribed = 256

// closeWithin is how long Close waits for slow readers of events.
const closeWithin = 5 * time.Second

// Events are what a process tells and who reads it.
type Events struct {
	Job     string
	Metrics string // directory of metrics.jsonl; "" = no file
	Append  bool   // an earlier metrics.jsonl goes on where its whole lines end

	// State is where a checkpoint knew the files to end. The zero value without
	// Append sets an earlier file aside.
	State       monitor.FilesState
	TensorBoard bool
	TellMoved   bool // log which files of an earlier run were set aside
	Readers     []monitor.Sink

	// Start is the first event; its phase is filled in. A process without one
	// tells neither its start nor its end.
	Start *monitor.Run

	// End completes the last event, which has phase and message; nil = nothing to add.
	End func(*monitor.Run)
}

// OpenEvents opens the files, attaches the readers and publishes the start. It
// is for what must be read first, such as a checkpoint; else Options.Events.
func (p *Process) OpenEvents(e Events) (err error) {
	p.events = e
	bus := monitor.BusOptions{Job: e.Job}
	if e.Metrics != "" {
		if e.Append {
			if e.State, err = endOfMetrics(filepath.Join(e.Metrics, monitor.MetricsName)); err != nil {
				return err
			}
		}
		o := monitor.FilesOptions{Dir: e.Metrics, Job: e.Job, TensorBoard: e.TensorBoard}
		var found monitor.FilesInfo
		if p.files, found, err = monitor.OpenFiles(o, e.State); err != nil {
			return err
		}
		if found.Lost > 0 {
			p.opt.Log.Warn("metrics of earlier steps are gone", "dir", e.Metrics, "bytes", found.Lost)
		}
		if e.TellMoved && len(found.Moved) > 0 {
			p.opt.Log.Info("metrics of an earlier run were renamed", "files", found.Moved)
		}
		bus.Seq = e.State.Seq
	}
	p.bus = monitor.NewBus(bus)
	if p.files != nil {
		p.bus.Attach(p.files)
	}
	for _, r := range e.Readers {
		p.bus.Attach(r)
	}
	if e.Start != nil {
		e.Start.Phase = monitor.RunStart
		p.bus.Publish(e.Start)
	}
	return nil
}

// Publish tells an event to all readers; before OpenEvents it does nothing.
func (p *Process) Publish(e monitor.Event) {
	if p.bus != nil {
		p.bus.Publish(e)
	}
}

// Show has a display, which may block, follow the events from now on; nil = none.
func (p *Process) Show(display monitor.Sink) {
	if display != nil && p.bus != nil {
		p.bus.Go(subscribed, Forgiving(p.opt.Log, display))
	}
}

// Forgiving wraps a reader whose failure must not end the run, such as a
// terminal that went away. It is left out after its first error.
func Forgiving(log *slog.Logger, s monitor.Sink) monitor.Sink {
	failed := false
	return monitor.SinkFunc(func(e monitor.Event) error {
		if failed {
			return nil
		}
		if err := s.Handle(e); err != nil {
			failed = true
			log.Warn("a display is left out from now on", "error", err)
		}
		return nil
	})
}

// MendEvents cuts off what a process of a role was writing to its events in dir when it
// was interrupted, unless one is at work now. It is for who may not begin the role again.
func MendEvents(d Dir, r Role, dir, command string) error {
	lock, err := fsx.Acquire(d.Lock(r), fsx.LockOptions{Command: command})
	if _, held := errors.AsType[*fsx.LockedError](err); held {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(monitor.CutTorn(filepath.Join(dir, monitor.MetricsName)), lock.Release())
}

// Bus is where further readers of the events are attached, nil before OpenEvents.
func (p *Process) Bus() *monitor.Bus { return p.bus }

// SyncMetrics makes the metrics durable and returns where they end, for a checkpoint.
func (p *Process) SyncMetrics() (monitor.FilesState, error) { return p.files.Sync() }

// closeEvents publishes how the process ended, waits for slow readers and
// closes the files.
func (p *Process) closeEvents(err error) error {
	if p.bus == nil {
		return nil
	}
	if p.events.Start != nil {
		p.bus.Publish(p.endOf(err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	err = p.bus.Close(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		p.opt.Log.Warn("a display does not follow", "error", err)
		err = p.bus.Err() // what a sink failed with is not lost
	}
	errs := []error{err}
	if p.files != nil {
		errs = append(errs, p.files.Close())
	}
	return joined(errs)
}

// endOf is the event of an end with err.
func (p *Process) endOf(err error) *monitor.Run {
	end := &monitor.Run{Phase: monitor.RunDone}
	switch {
	case errors.Is(err, ErrInterrupted):
		end.Phase = monitor.RunStopped
	case err != nil:
		end.Phase, end.Message = monitor.RunFailed, err.Error()
	}
	if p.events.End != nil {
		p.events.End(end)
	}
	return end
}

// endOfMetrics returns where the whole lines of a metrics.jsonl end; a file that
// cannot be read to its end is set aside by the zero state.
func endOfMetrics(path string) (monitor.FilesState, error) {
	f, err := fsx.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return monitor.FilesState{}, nil
	}
	if err != nil {
		return monitor.FilesState{}, fmt.Errorf("open metrics: %w", err)
	}
	defer f.Close()
	info, err := monitor.Replay(f, func(monitor.Event) error { return nil })
	if err != nil {
		return monitor.FilesState{}, nil
	}
	return monitor.FilesState{MetricsOffset: info.Bytes, Seq: info.Seq}, nil
}
