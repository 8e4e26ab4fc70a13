package host

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

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
	var builtin, programs []string
	for _, d := range h.o.Builtin {
		if kind == "" || d.Kind == kind {
			builtin = append(builtin, d.Name)
		}
	}
	for _, p := range found {
		programs = append(programs, p.Name+" ("+p.Path+")")
	}
	return mark(ErrUnknown, fmt.Errorf("unknown %s %q; built in: %s; programs: %s; looked for in: %s; "+
		"--plugin-dir and $%s name directories of programs",
		cmp.Or(kind, "stage"), name, list(builtin), list(programs), list(h.o.Dirs), DirEnv))
}

// list joins names, "none" where there are none.
func list(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }
