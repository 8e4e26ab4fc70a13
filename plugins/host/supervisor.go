package host

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 10 * time.Second
)

// supervisor keeps the process behind one stage. Its methods are called by one
// goroutine at a time.
type supervisor struct {
	h        *Host
	kind     stage.Kind
	name     string
	path     string // of the program
	settings map[string]string
	stats    counters

	life context.Context // ends when the stage is closed
	end  context.CancelFunc

	proc     *process // nil = none runs
	failures int      // in a row
	good     bool     // a call has succeeded, ever
	givenUp  error    // set for good
}

// supervise takes over a process that has described itself, and opens it.
func (h *Host) supervise(ctx context.Context, proc *process, settings map[string]string) (*supervisor, error) {
	s := &supervisor{h: h, kind: proc.def.Kind, name: proc.def.Name, path: proc.program.Path, settings: settings}
	if err := proc.open(ctx, settings, h.o.StartTimeout); err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.use(proc)
	return s, nil
}

// use makes proc, which is open, the process of the stage.
func (s *supervisor) use(proc *process) {
	s.proc = proc
	s.stats.now(proc.def.Version, proc.child.number())
	s.tell(slog.LevelInfo, Started, fmt.Sprintf("version %s, process %d, %s, SHA-256 %s",
		proc.def.Version, proc.child.number(), proc.program.Path, proc.program.SHA256))
}

// tell logs a change and notifies.
func (s *supervisor) tell(level slog.Level, state, detail string) {
	s.h.o.Log.Log(context.Background(), level, fmt.Sprintf("%s %s %s: %s", s.kind, s.name, state, detail), "plugin", s.name)
	s.h.o.Notify(Event{Kind: s.kind, Name: s.name, State: state, Detail: detail})
}

// process returns the running process. It starts one where none runs, after a
// pause that grows with the failures in a row, again and again until the plugin
// is given up. Errors: that of ctx, or one with ErrGivenUp or ErrClosed.
func (s *supervisor) process(ctx context.Context) (*process, error) {
	if s.proc != nil && s.proc.child.hasExited() {
		s.fail(s.proc.died("was idle"))
	}
	for s.proc == nil {
		if err := s.pause(ctx); err != nil {
			return nil, err
		}
		proc, err := s.restart(ctx)
		switch {
		case err == nil:
			s.stats.restarted()
			s.use(proc)
		case s.usable(ctx) == nil:
			s.fail(err)
		}
	}
	return s.proc, s.usable(ctx)
}

// usable says why no call can be made any more.
func (s *supervisor) usable(ctx context.Context) error {
	switch {
	case s.life.Err() != nil:
		return &Error{Kind: s.kind, Name: s.name, Did: "was stopped", Err: ErrClosed}
	case s.givenUp != nil:
		return s.givenUp
	}
	return ctx.Err()
}

// pause waits before a start that follows failures.
func (s *supervisor) pause(ctx context.Context) error {
	if s.failures == 0 || s.usable(ctx) != nil {
		return s.usable(ctx)
	}
	select {
	case <-s.h.o.after(pauseAfter(s.failures)):
	case <-ctx.Done():
	case <-s.life.Done():
	}
	return s.usable(ctx)
}

// pauseAfter returns the pause after n failures in a row, n >= 1.
func pauseAfter(n int) time.Duration {
	return min(firstPause<<min(n-1, 10), maxPause)
}

// restart starts the program again and opens it.
func (s *supervisor) restart(ctx context.Context) (*process, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	proc, err := s.h.start(ctx, Program{Name: s.name, Path: s.path})
	if err != nil {
		return nil, err
	}
	if proc.def.Kind != s.kind {
		proc.kill()
		return nil, &Error{Kind: s.kind, Name: s.name, Did: fmt.Sprintf("was replaced on disk by a %s", proc.def.Kind)}
	}
	if err := proc.open(ctx, s.settings, s.h.o.StartTimeout); err != nil {
		return nil, err
	}
	return proc, nil
}

// fail notes what the plugin did, and ends what is left of its process.
func (s *supervisor) fail(err error) {
	s.drop()
	s.failures++
	s.tell(slog.LevelWarn, Failed, what(err))
	if s.failures > s.h.o.Restarts {
		did := fmt.Sprintf("failed %d times in a row and was given up", s.failures)
		s.givenUp = &Error{Kind: s.kind, Name: s.name, Did: did, Err: mark(ErrGivenUp, err)}
		s.tell(slog.LevelError, Failed, did)
	}
}

// drop kills the process, if there is one.
func (s *supervisor) drop() {
	if s.proc != nil {
		s.proc.kill()
		s.proc = nil
	}
	s.stats.now("", 0)
}

// succeeded notes a good call.
func (s *supervisor) succeeded() { s.failures, s.good = 0, true }

// close ends the process politely, once nothing is under way.
func (s *supervisor) close() error {
	s.end()
	if s.proc == nil {
		return nil
	}
	err := s.proc.stop()
	s.proc = nil
	s.stats.now("", 0)
	s.tell(slog.LevelInfo, Stopped, "on purpose")
	return err
}
