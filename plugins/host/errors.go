package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/internal/typo"
	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// What an error is about, for errors.Is.
var (
	ErrUnknown  = errors.New("no such stage")        // neither built in nor found
	ErrSettings = errors.New("settings refused")     // by the stage or its description
	ErrLock     = errors.New("refused by lock file") // not in it, or changed since
	ErrUnsafe   = errors.New("others can change it") // the program, or the directory that it lies in
	ErrGivenUp  = errors.New("plugin given up")      // it failed too often in a row
	ErrClosed   = errors.New("plugin closed")        // Close or Release came first
)

// Error says which plugin did what.
type Error struct {
	Kind stage.Kind // "" where it has not said it yet
	Name string
	Did  string // such as "gave no answer to 12 games within 2m0s"
	Err  error  // the cause; nil where Did says it all
}

// Error returns "rescorer NAME: did what: cause".
func (e *Error) Error() string {
	text := string(cmp.Or(e.Kind, "plugin")) + " " + e.Name + ": " + e.Did
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// what returns an error's text without the plugin's name.
func what(err error) string {
	if e, ok := err.(*Error); ok {
		return strings.TrimPrefix(e.Error(), (&Error{Kind: e.Kind, Name: e.Name}).Error())
	}
	return err.Error()
}

// marked is an error with a message of its own that is also one of the
// sentinels above.
type marked struct {
	error
	mark error
}

func mark(sentinel, err error) error { return &marked{err, sentinel} }

func (m *marked) Is(target error) bool { return target == m.mark }
func (m *marked) Unwrap() error        { return m.error }

// unknown says that there is no stage of a name, what there is, and where
// programs were looked for. kind "" = any.
func (h *Host) unknown(kind stage.Kind, name string, found []Program) error {
	for _, l := range h.passedOver() {
		if l.Name == name {
			return mark(ErrUnknown, fmt.Errorf("unknown %s %q: %s %s", cmp.Or(kind, "stage"), name, l.Path, l.Error))
		}
	}
	var builtin, programs, names []string
	for _, d := range h.o.Builtin {
		if kind == "" || d.Kind == kind {
			builtin = append(builtin, d.Name)
		}
	}
	for _, p := range found {
		programs, names = append(programs, p.Name+" ("+p.Path+")"), append(names, p.Name)
	}
	dirs := slices.Clone(h.o.Dirs)
	for i, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			dirs[i] += " (not there)"
		}
	}
	return mark(ErrUnknown, fmt.Errorf("unknown %s %q; built in: %s; programs: %s; looked for in: %s; "+
		"--plugin-dir and $%s name directories of programs%s",
		cmp.Or(kind, "stage"), name, list(builtin), list(programs), list(dirs), DirEnv, typo.Meant(name, append(builtin, names...)...)))
}

// list joins names, "none" where there are none.
func list(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }

// What go-plugin says of a start that failed; it has no types for it.
const (
	garbagePrefix = "Unrecognized remote plugin message: "
	exitedPrefix  = "plugin exited before we could connect"
)

var versionError = regexp.MustCompile(`incompatible API version with plugin\. Plugin version: (-?\d+)`)

// startError says what a process did instead of starting, which ended with err.
// The process has been killed.
func (p *process) startError(ctx context.Context, err error, limit time.Duration) *Error {
	e := &Error{Name: p.program.Name}
	if p.def != nil { // it calls itself otherwise
		e.Kind = p.def.Kind
	}
	text := err.Error()
	version := versionError.FindStringSubmatch(text)
	garbage, isGarbage := strings.CutPrefix(text, garbagePrefix)
	garbage, _, _ = strings.Cut(garbage, "\n")
	switch {
	case ctx.Err() != nil:
		e.Did, e.Err = p.failure(ctx, "was being started", "was not ready within "+limit.String(), err)
	case p.child.Number() == 0:
		e.Did, e.Err = "could not be executed", err
	case version != nil:
		e.Did = fmt.Sprintf("speaks version %s of the plugin protocol, this chessbrain speaks version %d: build it against this version of chessbrain",
			version[1], api.ProtocolVersion)
	case isGarbage && garbage != "":
		e.Did = fmt.Sprintf("printed %.200q instead of a handshake", garbage)
	case isGarbage, strings.HasPrefix(text, exitedPrefix):
		e.Did = "died before its handshake" + p.death()
	case p.def == nil:
		e.Did, e.Err = p.failure(ctx, "was being started", "", err)
	default:
		e.Did, e.Err = "was not started", err
	}
	return e
}

// failure says what a process did while it was being used, which ended with err:
// the words for Error.Did and the cause that is not in them. hung are the words
// for the end of ctx's time. The process has been killed.
func (p *process) failure(ctx context.Context, while, hung string, err error) (did string, cause error) {
	code := status.Code(err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return "was stopped while it " + while, context.Cause(ctx)
	case ctx.Err() != nil:
		return "hung: it " + hung, nil
	case errors.Is(err, api.ErrAnswer):
		return "answered wrongly while it " + while, err
	case code == codes.Unavailable, code == codes.Canceled, errors.Is(err, api.ErrEnded), p.child.EndedAlone():
		return "died while it " + while + p.death(), nil
	}
	return "failed while it " + while, err
}

// death says in brackets how a process ended and what it said last.
func (p *process) death() string {
	how := p.child.State
	if !p.child.EndedAlone() {
		how = "it closed its connection"
	}
	if held := p.child.held.Load(); held > 0 {
		how = fmt.Sprintf("it held %d MiB of memory, more than the %d of plugins.memory_mib", held>>20, p.child.memory>>20)
	}
	if reason := p.child.logs.reason(); reason != "" {
		how += ": " + reason
	}
	return fmt.Sprintf(" (%.500s)", how)
}

// deadline bounds calls to one process: at the end of the time for a call the
// process is killed, which ends the call, whatever it waits for.
type deadline struct {
	proc  *process
	limit time.Duration
	hung  atomic.Bool // it came to that
}

func (s *supervisor) deadline() *deadline { return &deadline{proc: s.proc, limit: s.h.o.CallTimeout} }

func (d *deadline) call(f func() error) error {
	timer := time.AfterFunc(d.limit, func() {
		d.hung.Store(true)
		d.proc.child.KillGroup()
	})
	defer timer.Stop()
	return f()
}

// failure kills the process and says what it did: err came of a call. while is
// what it was doing, such as "rescored 12 games".
func (s *supervisor) failure(d *deadline, while string, err error) *Error {
	e := &Error{Kind: s.kind, Name: s.name}
	if d.hung.Load() {
		d.proc.kill()
		e.Did = fmt.Sprintf("hung: no answer within %s while it %s", d.limit, while)
		return e
	}
	d.proc.killAfter(err)
	e.Did, e.Err = d.proc.failure(context.Background(), while, "", err)
	return e
}

// died is the error of a process that is gone.
func (p *process) died(while string) *Error {
	p.kill()
	return &Error{Kind: p.def.Kind, Name: p.def.Name, Did: "died while it " + while + p.death()}
}
