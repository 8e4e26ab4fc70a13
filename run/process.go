package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// ErrInterrupted says that a run was asked to stop, has saved its state, and
// goes on when it is started again.
var ErrInterrupted = errors.New("interrupted and saved; the same command goes on")

// ErrLockLost says that another process took over a lock, because it thought
// this one dead. It happens only where there is no flock, to a process that was
// suspended. Nothing more may be written: the other one writes there now.
var ErrLockLost = errors.New("another process took over while this one was suspended; nothing more is written")

// RunLock says how a process holds the run as a whole.
type RunLock int

const (
	RunNotHeld RunLock = iota // nobody needs to
	RunShared                 // beside others that share it
	RunAlone
)

// Options open a Process.
type Options struct {
	Run      RunLock
	Locked   bool          // somebody else holds the run for this process
	Before   []Role        // further locks of the run; they are taken before the role's
	LockWait time.Duration // for each lock that another process holds; 0 = not at all
	Command  string        // for the locks' owner files, e.g. "chessbrain train"
	Log      *slog.Logger  // nil = nothing is said
	Events   *Events       // nil = none, or OpenEvents later
	Commands *Commands     // nil = no control socket, or Listen later

	heartbeatOnly bool // no flock, for tests
}

// Process is this program at work in a run directory: it holds a role, tells
// events and answers the control socket. One goroutine opens and closes it;
// Context, Publish and Stop are for all.
type Process struct {
	dir    Dir
	role   Role
	opt    Options
	ctx    context.Context
	cancel context.CancelCauseFunc

	locks    []*fsx.Lock
	own      *fsx.Lock // one of them: the role's
	watching sync.WaitGroup
	closing  chan struct{} // ends the goroutines that watch the locks

	events  Events
	bus     *monitor.Bus   // nil before OpenEvents
	files   *monitor.Files // nil without
	control *control       // nil before Listen

	closers []func() error
	once    sync.Once
	result  error // of Close
}

// Open takes the locks, removes what killed processes left half written, and then opens
// what the options name: events, control socket. The order of locks is the run,
// Options.Before, the role; all roles keep it, so that no two wait for each other. A lock
// that stays held is a *fsx.LockedError. ErrInterrupted says that ctx ended during the wait.
func Open(ctx context.Context, dir Dir, role Role, o Options) (*Process, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	p := &Process{dir: dir, role: role, opt: o, closing: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	err := p.takeLocks()
	if err == nil && !o.Locked {
		err = Sweep(shared(dir), o.Log)
	}
	if err == nil && o.Events != nil {
		err = p.OpenEvents(*o.Events)
	}
	if err == nil && o.Commands != nil {
		err = p.Listen(*o.Commands)
	}
	if err != nil {
		return nil, p.Close(err)
	}
	return p, nil
}

// takeLocks takes the locks of the options and the role's.
func (p *Process) takeLocks() error {
	if err := fsx.MkdirAll(fsx.OS, p.dir.Locks()); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	if p.opt.Run != RunNotHeld && !p.opt.Locked {
		if err := p.Lock(p.dir.Lock(WholeRun), p.opt.Run == RunShared); err != nil {
			return err
		}
	}
	for _, name := range append(slices.Clone(p.opt.Before), p.role) {
		if err := p.Lock(p.dir.Lock(name), false); err != nil {
			return err
		}
	}
	p.own = p.locks[len(p.locks)-1]
	if p.own.HeartbeatOnly() {
		p.opt.Log.Warn("no flock on this file system: the lock's heartbeat decides", "stale_after", "60s")
	}
	return nil
}

// shared are the directories in which several processes write whole files, and how many
// levels below each they do.
func shared(d Dir) map[string]int {
	in := func(name string) string { return filepath.Join(d.Root, name) }
	return map[string]int{d.Root: 0, d.History(): 0, d.Trainings(): 2, d.ToExport(): 0, d.ToExportExtra(): 0, d.Candidates(): 0, d.Models(): 0,
		d.ModelsExtra(): 0, d.Rejected(): 0, d.Gates(): 1, d.Matches(): 0, in("ladder"): 1, d.Shuffled(): 0, d.Selfplay(): 2, d.Unfinished(): 0,
		in("pgn"): 0, in("metrics"): 2, in("report"): 1, d.Logs(): 0, d.Locks(): 0, d.Fleet(): 1}
}

// Sweep removes what killed processes left half written in directories, and so many levels
// below each, where others may be writing. What cannot be removed is in nobody's way.
func Sweep(dirs map[string]int, log *slog.Logger) (err error) {
	for dir, levels := range dirs {
		err = errors.Join(err, fsx.RemoveDead(fsx.OS, dir, levels))
	}
	if err != nil && !errors.Is(err, fsx.ErrSync) {
		log.Warn("what a killed process left half written stays", "error", err)
		return nil
	}
	return err
}

// Lock takes one more lock, such as that of a directory outside the run, and
// holds it until Close. Its directory must exist.
func (p *Process) Lock(path string, shared bool) error {
	o := fsx.LockOptions{Shared: shared, Command: p.opt.Command, HeartbeatOnly: p.opt.heartbeatOnly}
	l, err := fsx.AcquireWithin(p.ctx, path, o, p.opt.LockWait)
	if err != nil {
		return err
	}
	p.locks = append(p.locks, l)
	p.watching.Go(func() {
		select {
		case <-l.Lost():
			p.cancel(p.lockLost())
		case <-p.closing:
		}
	})
	return nil
}

func (p *Process) lockLost() error { return fmt.Errorf("%s: %w", p.dir.Root, ErrLockLost) }

// Context ends at Ctrl-C (with Open's ctx), at Stop, which the control socket
// calls, with Close, and with cause ErrLockLost where a lock is lost.
func (p *Process) Context() context.Context { return p.ctx }

// Stop asks the process to save and end.
func (p *Process) Stop() { p.cancel(ErrInterrupted) }

// Held is nil while this process holds all its locks, else ErrLockLost. A process
// asks before each thing that it does for good, such as moving a net: Context
// ends a moment later than the lock is lost.
func (p *Process) Held() error {
	for _, l := range p.locks {
		select {
		case <-l.Lost():
			return p.lockLost()
		default:
		}
	}
	return nil
}

// Err says why the process should end: a lock is lost, or a reader of the events
// failed, such as a metrics file on a full disk.
func (p *Process) Err() error {
	if err := p.Held(); err != nil || p.bus == nil {
		return err
	}
	return p.bus.Err()
}

// Listen opens the control socket; an earlier one of this process is closed
// first. What the commands lack is filled in: Stop is the process's, and Swap says
// that the role has no stages.
func (p *Process) Listen(c Commands) (err error) {
	earlier := p.control
	p.control = nil
	if err := earlier.Close(); err != nil {
		return err
	}
	if c.Stop == nil {
		c.Stop = p.Stop
	}
	if c.Swap == nil {
		c.Swap = func(context.Context, Swap) error { return fmt.Errorf("a %s has no stages", p.role) }
	}
	if p.control, err = p.listen(c); err != nil { // some systems and file systems have no sockets
		p.opt.Log.Warn("without a control socket status, ctl and swap cannot reach this process", "err", err)
	}
	return nil
}

// OnClose adds a function that Close calls once the control socket is closed
// and while events are still told. The last one added is called first.
func (p *Process) OnClose(end func() error) { p.closers = append(p.closers, end) }

// Close ends the process; err is what its work came to. An end of Context
// becomes its reason, ErrInterrupted or ErrLockLost. Close stops answering,
// calls the functions of OnClose, publishes how the process ended and gives up
// the locks, and returns err with what failed in between. A second Close
// returns the same.
func (p *Process) Close(err error) error {
	p.once.Do(func() { p.result = p.close(p.outcome(err)) })
	return p.result
}

func (p *Process) close(err error) error {
	errs := []error{err, p.control.Close()}
	for _, end := range slices.Backward(p.closers) {
		errs = append(errs, end())
	}
	errs = append(errs, p.closeEvents(err))
	close(p.closing)
	p.watching.Wait()
	for _, l := range slices.Backward(p.locks) {
		errs = append(errs, l.Release())
	}
	p.cancel(nil)
	return joined(errs)
}

// outcome turns an error of an ended Context into the reason of its end. Work
// that was done before the end stays done, but for a lost lock: the other
// process may have written over it.
func (p *Process) outcome(err error) error {
	if p.ctx.Err() == nil {
		return err
	}
	asked := errors.Is(err, p.ctx.Err()) || errors.Is(err, ErrInterrupted)
	if cause := context.Cause(p.ctx); errors.Is(cause, ErrLockLost) && (err == nil || asked) {
		return cause
	}
	if asked {
		return ErrInterrupted
	}
	return err
}

// joined is errors.Join that leaves a single error as it is, for its type.
func joined(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// Sleep waits for some time, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// OpenNumbered opens the first free of a role's numbers: from 1, or number alone
// where it is not 0. It is for roles that several processes of a run have.
func OpenNumbered(ctx context.Context, dir Dir, role func(uint64) Role, number uint64, o Options) (*Process, uint64, error) {
	for n := max(number, 1); ; n++ {
		p, err := Open(ctx, dir, role(n), o)
		held, ok := errors.AsType[*fsx.LockedError](err)
		if ok && number == 0 && held.Path == dir.Lock(role(n)) {
			continue
		}
		return p, n, err
	}
}

// ExitMu is held while a checkpoint is being renamed into place.
var ExitMu sync.Mutex

// ExitNow ends the process at once, as a second interrupt asks, but not in the
// middle of a checkpoint's renames.
func ExitNow(code int) {
	ExitMu.Lock()
	os.Exit(code)
}
