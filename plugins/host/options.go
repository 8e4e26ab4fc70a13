package host

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// Options say what a host offers and how it treats plugins.
type Options struct {
	// Builtin are the stages of this program. A program wins over a built-in of
	// the same kind and name, with a warning in the log.
	Builtin []*stage.Definition

	Dirs      []string // where programs are looked for, first to last; see Dirs
	LockFiles []string // those that exist must all allow a program (Lock)

	StartTimeout time.Duration // for a process to say what it is, and again to be open; 0 = 30 s
	CallTimeout  time.Duration // for the answer to one call, such as a batch of games; 0 = 2 min

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
