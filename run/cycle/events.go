package cycle

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/alarms"
)

// openEvents starts the cycle's own events, beside those of its stages.
func (r *runner) openEvents() (err error) {
	dir := filepath.Join(r.dir.Metrics, "cycle")
	if r.files, _, err = monitor.OpenFiles(monitor.FilesOptions{Dir: dir, Job: r.job}, monitor.FilesState{}); err != nil {
		return err
	}
	r.bus = monitor.NewBus(monitor.BusOptions{Job: r.job})
	r.bus.Attach(r.files)
	for _, sink := range r.opt.Readers {
		r.bus.Attach(sink)
	}
	r.bus.Go(256, alarms.New(r.bus.Publish))
	r.bus.Publish(&monitor.Run{Phase: monitor.RunStart, Command: r.opt.Command, Version: r.opt.Version, Seed: r.e.Config.GetSeed()})
	return nil
}

// listen opens the control socket.
func (r *runner) listen(stop func()) (err error) {
	r.control, err = run.ListenRole(filepath.Join(r.root, locksDir), loopRole, r.locks[len(r.locks)-1], run.Commands{
		Status: func() any { return r.page.Get() },
		Stop:   stop,
		Subscribe: func() (<-chan monitor.Event, func()) {
			s := r.bus.Subscribe(256)
			return s.Events(), s.Close
		},
		Swap: func(context.Context, run.Swap) error {
			return errors.New("a cycle has no stages of its own: swap those of the trainer while it trains, or change the configuration file and send SIGHUP")
		},
	})
	return err
}

// expected says whether err is that of a single stage which is no failure.
func expected(err error) bool {
	stage, ok := errors.AsType[*StageError](err)
	return ok && stage.Code != ExitOrder
}

// close ends everything that is open; err is what the process came to.
func (r *runner) close(err error) error {
	var errs []error
	if r.control != nil {
		errs = append(errs, r.control.Close())
	}
	if r.bus != nil {
		end := &monitor.Run{Phase: monitor.RunDone, Message: r.reason}
		switch {
		case errors.Is(err, run.ErrInterrupted):
			end.Phase = monitor.RunStopped
		case expected(err):
			end.Message = err.Error()
		case err != nil:
			end.Phase, end.Message = monitor.RunFailed, err.Error()
		}
		r.bus.Publish(end)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		errs = append(errs, r.bus.Close(ctx))
	}
	if r.files != nil {
		errs = append(errs, r.files.Close())
	}
	if r.desk != nil {
		errs = append(errs, r.desk.close())
	}
	return errors.Join(append(errs, release(r.locks))...)
}
