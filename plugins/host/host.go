package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/spawn"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// Host makes stages and looks after those that are programs. Safe for concurrent
// use.
type Host struct {
	o     Options
	rooms rooms

	life context.Context // ends with Close
	end  context.CancelFunc
	busy sync.WaitGroup // calls that start programs

	mu    sync.Mutex // guards Add of busy against its Wait, and what follows
	live  []*supervisor
	known map[string]*stage.Definition // what programs said of themselves, by SHA-256 and name
	said  map[string]bool              // warnings, each given once
}

// New checks the options. Programs are looked for when a stage is asked for.
func New(o Options) (*Host, error) {
	for _, d := range o.Builtin {
		if err := d.Validate(); err != nil {
			return nil, fmt.Errorf("plugin host: %w", err)
		}
		if d.Kind == stage.KindRescorer && d.Concurrency > 0 {
			return nil, fmt.Errorf("plugin host: built-in rescorer %s: a bound on its calls at a time holds for programs only", d.Name)
		}
	}
	h := &Host{o: o.withDefaults(), known: map[string]*stage.Definition{}, said: map[string]bool{}}
	if _, err := spawn.Resident(os.Getpid()); err != nil && o.Memory > 0 {
		h.o.Log.Warn("this system does not tell how much memory a process holds: plugins have no limit", "error", err)
	}
	h.life, h.end = context.WithCancel(context.Background())
	return h, nil
}

// enter begins a call that starts programs: it ends with ctx and with the host.
// The caller calls leave at its end.
func (h *Host) enter(ctx context.Context, name string) (in context.Context, leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return nil, nil, &Error{Name: name, Did: "was not started", Err: ErrClosed}
	}
	h.busy.Add(1)
	in, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.life, cancel)
	return in, func() {
		stop()
		cancel()
		h.busy.Done()
	}, nil
}

// warn logs a warning about a program, the first time.
func (h *Host) warn(name, text string) {
	h.mu.Lock()
	first := !h.said[text]
	h.said[text] = true
	h.mu.Unlock()
	if first {
		h.o.Log.Warn(text, "plugin", name)
	}
}

// Programs returns the programs in the plugin directories; see Discover.
func (h *Host) Programs() ([]Program, error) { return Discover(h.o.Dirs) }

// Describe starts a program, asks what it is, and ends it. The lock files hold
// for it as for every start. Path is enough; a SHA256 must be that of the file.
func (h *Host) Describe(ctx context.Context, p Program) (*stage.Definition, error) {
	p.Name = cmp.Or(p.Name, nameOf(p.Path))
	ctx, leave, err := h.enter(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	defer leave()
	proc, err := h.begin(ctx, p)
	if err != nil {
		return nil, err
	}
	return proc.def, proc.stop()
}

// begin starts a program and remembers what it is.
func (h *Host) begin(ctx context.Context, p Program) (*process, error) {
	proc, err := h.start(ctx, p)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.known[proc.program.SHA256+proc.program.Name] = proc.def
	h.mu.Unlock()
	return proc, nil
}

// Definition returns what is known of the stage of a kind and name, and the
// program that it is; nil for a built-in one. A program is started to be asked,
// once for each content. ErrUnknown: there is none.
func (h *Host) Definition(ctx context.Context, kind stage.Kind, name string) (*stage.Definition, *Program, error) {
	p, err := h.Find(name)
	if err != nil {
		return nil, nil, err
	}
	if p != nil {
		h.mu.Lock()
		d := h.known[p.SHA256+p.Name]
		h.mu.Unlock()
		if d == nil {
			d, err = h.Describe(ctx, *p)
		}
		if err != nil || d.Kind == kind {
			return d, p, err
		}
	}
	d, err := h.builtin(kind, name)
	return d, nil, err
}

// Find returns the program that a name means, with its hash and allowed by the lock
// files, and starts nothing; nil where there is none of that name. Its kind shows
// only when it runs: of another kind than wanted, the built-in stage is meant.
func (h *Host) Find(name string) (*Program, error) {
	p, err := h.find(name)
	if err != nil || p == nil {
		return nil, err
	}
	if p.SHA256, err = hashProgram(p.Path); err == nil {
		err = checkLocks(h.o.LockFiles, *p)
	}
	if err != nil {
		return nil, refused(name, err)
	}
	return p, nil
}

// HasBuiltin says whether there is a built-in stage of a kind and name.
func (h *Host) HasBuiltin(kind stage.Kind, name string) bool {
	_, err := stage.Find(h.o.Builtin, kind, name)
	return err == nil
}

// find looks for a program; nil where there is none.
func (h *Host) find(name string) (*Program, error) {
	all, err := scan(h.o.Dirs)
	if i := slices.IndexFunc(all, func(p Program) bool { return p.Name == name }); i >= 0 {
		return &all[i], nil
	}
	return nil, err
}

// Release ends the process behind a stage that this host made and that nobody
// uses any more; calls under way end with ErrClosed. For built-in stages, and
// the second time, it does nothing.
func (h *Host) Release(s any) error {
	e, ok := s.(interface{ supervised() *supervisor }) // a process
	if !ok {
		return nil
	}
	h.mu.Lock()
	i := slices.Index(h.live, e.supervised())
	if i >= 0 {
		h.live = slices.Delete(h.live, i, i+1)
	}
	h.mu.Unlock()
	if i < 0 {
		return nil
	}
	return e.supervised().stop()
}

// Stats count what an external stage has done since it was made, over all its
// processes.
type Stats struct {
	Kind    stage.Kind
	Name    string
	Version string
	PID     int // 0 = no process runs at the moment

	Calls       uint64  // answered: batches of games, draws, exports
	Games       uint64  // of a rescorer
	Rows        uint64  // positions of the games, or rows drawn
	Bytes       uint64  // of games sent, about, or of files written
	Seconds     float64 // in which it worked on calls that were answered: Seconds/Calls is the mean latency, Rows/Seconds its speed
	Restarts    uint64  // starts after the first
	Quarantined uint64  // games
}

// Stats returns the counters of the external stages in use, sorted by kind and
// name.
func (h *Host) Stats() []Stats {
	h.mu.Lock()
	live := slices.Clone(h.live)
	h.mu.Unlock()
	all := make([]Stats, len(live))
	for i, s := range live {
		s.count(func(now *Stats) { all[i] = *now })
	}
	slices.SortStableFunc(all, func(a, b Stats) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// Close ends all stages that are programs, and removes what they had on disk.
// Calls under way end with ErrClosed. The second time it does nothing.
func (h *Host) Close() error {
	h.mu.Lock()
	h.end()
	h.mu.Unlock()
	h.busy.Wait()
	h.mu.Lock()
	live := h.live
	h.live = nil
	h.mu.Unlock()
	errs := make([]error, len(live))
	var wg sync.WaitGroup
	for i, s := range live {
		wg.Go(func() { errs[i] = s.stop() })
	}
	wg.Wait()
	return errors.Join(append(errs, h.rooms.close())...)
}

// Options say what a host offers and how it treats plugins.
type Options struct {
	// Builtin are the stages of this program. A program wins over a built-in of
	// the same kind and name, with a warning in the log.
	Builtin []*stage.Definition

	Dirs      []string // where programs are looked for, first to last; see Dirs
	LockFiles []string // those that exist must all allow a program (Lock)

	StartTimeout time.Duration // for a process to say what it is, and again to be open; 0 = 30 s
	CallTimeout  time.Duration // for the answer to one call, such as a batch of games; 0 = 2 min

	// Memory is how many bytes the process of a plugin may hold. One with more is killed and
	// counts as failed; its GOMEMLIMIT is nine tenths of it. 0 = any number.
	Memory int64

	// Restarts is how often in a row, without a good call in between, a plugin is
	// started anew before it is given up. 0 = 5. The pause before the first is
	// 0.1 s and doubles up to 10 s.
	Restarts int

	// Continue says what follows when a plugin is given up. false: its calls are
	// errors (ErrGivenUp). true: a rescorer's games go on as they are, the
	// built-in sampler "uniform" takes a sampler's place; an exporter's calls are
	// errors all the same.
	Continue bool

	// Quarantine keeps games that killed a rescorer, for a later look; they go on
	// as they are. It comes from a goroutine of the stage, one call at a time.
	// nil = none are kept.
	Quarantine func(kind stage.Kind, name, reason string, games []*record.Game) error

	Log    *slog.Logger // what plugins log, too, each line with plugin=NAME; nil = slog.Default()
	Notify func(Event)  // told of each change; it must not block and not call the host; nil = nobody
	Env    []string     // extra environment of plugins; else only PATH, HOME, LANG, TZ and a TMPDIR of their own

	// Seams of the tests.
	after func(time.Duration) <-chan time.Time // the clock of pauses; nil = time.After
	hook  func(at string)                      // called in the course of a start: "hashed", "copied"; nil = nothing
}

// The states of an Event.
const (
	Started     = "started"     // a process runs and is open; Detail: version, process id, SHA-256
	Stopped     = "stopped"     // ended on purpose
	Failed      = "failed"      // died, hung or answered wrongly; Detail: what it did. A new start follows, or Replaced
	Replaced    = "replaced"    // given up; Detail: what goes on in its place
	Quarantined = "quarantined" // Detail: the game and why
)

// Event is a change of a plugin.
type Event struct {
	Kind   stage.Kind
	Name   string
	State  string // Started, ...
	Detail string
}

func (o Options) withDefaults() Options {
	o.StartTimeout = cmp.Or(max(o.StartTimeout, 0), 30*time.Second)
	o.CallTimeout = cmp.Or(max(o.CallTimeout, 0), 2*time.Minute)
	o.Restarts = cmp.Or(max(o.Restarts, 0), 5)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Notify == nil {
		o.Notify = func(Event) {}
	}
	if o.after == nil {
		o.after = time.After
	}
	if o.hook == nil {
		o.hook = func(string) {}
	}
	return o
}
