package host

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 10 * time.Second
)

// supervisor keeps the process behind one stage. Whoever calls it has the turn, but for
// the methods that say otherwise.
type supervisor struct {
	h        *Host
	kind     stage.Kind
	name     string
	path     string // of the program
	settings map[string]string

	life context.Context // ends when the stage is closed
	end  context.CancelFunc
	turn chan struct{} // has room for one: who has the turn

	mu    sync.Mutex
	stats Stats

	proc     *process // nil = none runs
	failures int      // in a row
	good     bool     // a call has succeeded, ever
	givenUp  error    // set for good
}

// supervise takes over a process that has described itself, and opens it.
func (h *Host) supervise(ctx context.Context, proc *process, settings map[string]string) (*supervisor, error) {
	s := &supervisor{h: h, kind: proc.def.Kind, name: proc.def.Name, path: proc.program.Path, settings: settings,
		turn: make(chan struct{}, 1), stats: Stats{Kind: proc.def.Kind, Name: proc.def.Name}}
	if err := proc.open(ctx, settings, h.o.StartTimeout); err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.use(proc)
	return s, nil
}

func (s *supervisor) supervised() *supervisor { return s }

func (s *supervisor) Name() string { return s.name }

// count changes or reads the counters, with or without the turn.
func (s *supervisor) count(f func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.stats)
}

// answered counts one answered call.
func (s *supervisor) answered(games, rows, bytes int, took time.Duration) {
	s.count(func(now *Stats) {
		now.Calls++
		now.Games += uint64(games)
		now.Rows += uint64(rows)
		now.Bytes += uint64(bytes)
		now.Seconds += took.Seconds()
	})
}

// take waits for the turn. nil means that give has to follow.
func (s *supervisor) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *supervisor) give() { <-s.turn }

// use makes proc, which is open, the process of the stage.
func (s *supervisor) use(proc *process) {
	s.proc = proc
	s.count(func(now *Stats) { now.Version, now.PID = proc.def.Version, proc.child.Number() })
	s.tell(slog.LevelInfo, Started, fmt.Sprintf("version %s, process %d, %s, SHA-256 %s",
		proc.def.Version, proc.child.Number(), proc.program.Path, proc.program.SHA256))
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
			s.count(func(now *Stats) { now.Restarts++ })
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
	return proc, proc.open(ctx, s.settings, s.h.o.StartTimeout)
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
	s.count(func(now *Stats) { now.PID = 0 })
}

// succeeded notes a good call.
func (s *supervisor) succeeded() { s.failures, s.good = 0, true }

// stop ends the stage: the call under way, and then, politely, the process. It waits
// for the turn.
func (s *supervisor) stop() error {
	s.end()
	s.turn <- struct{}{}
	defer s.give()
	if s.proc == nil {
		return nil
	}
	err := s.proc.stop()
	s.drop()
	s.tell(slog.LevelInfo, Stopped, "on purpose")
	return err
}
