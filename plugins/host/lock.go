package host

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// A lock file (plugins.lock) is text: a line for each program that may run, its
// SHA-256 and its name as sha256sum writes them. Empty lines and lines that
// begin with # mean nothing.
const lockHeader = "# Programs that chessbrain may run as plugins: SHA-256 and name.\n"

const maxLockBytes = 1 << 20

// Lock is what a lock file allows.
type Lock struct {
	Path     string
	Programs map[string]string // SHA-256 by name, hexadecimal
}

// ReadLock reads a lock file. Errors name the line; one about a file that is not
// there is fs.ErrNotExist.
func ReadLock(path string) (*Lock, error) {
	data, err := fsx.ReadUpTo(fsx.OS, path, maxLockBytes)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	l := &Lock{Path: path, Programs: map[string]string{}}
	if err := l.parse(data); err != nil {
		return nil, fmt.Errorf("lock file %s:%w", path, err)
	}
	return l, nil
}

// parse adds the lines of a lock file. Errors begin with the line's number.
func (l *Lock) parse(data []byte) error {
	if len(data) > maxLockBytes {
		return fmt.Errorf("1: more than %d bytes", maxLockBytes)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		sum, name, _ := strings.Cut(line, " ")
		name = strings.TrimSpace(name)
		if b, err := hex.DecodeString(sum); err != nil || len(b) != 32 || name == "" {
			return fmt.Errorf("%d: %q, want a SHA-256 and a name", n, line)
		}
		if _, twice := l.Programs[name]; twice {
			return fmt.Errorf("%d: %s is there twice", n, name)
		}
		l.Programs[name] = strings.ToLower(sum)
	}
	return nil
}

// WriteLock makes path a lock file that allows programs and no others, durably.
// Each needs its SHA-256.
func WriteLock(fsys fsx.FS, path string, programs []Program) error {
	var text strings.Builder
	text.WriteString(lockHeader)
	for _, p := range programs {
		fmt.Fprintf(&text, "%s  %s\n", p.SHA256, p.Name)
	}
	l := &Lock{Programs: map[string]string{}}
	if err := l.parse([]byte(text.String())); err != nil {
		return fmt.Errorf("lock file %s:%w", path, err)
	}
	return fsx.WriteFile(fsys, path, []byte(text.String()))
}

// Check says why a program is not allowed (ErrLock), nil where it is or there is no
// lock file, l nil.
func (l *Lock) Check(p Program) error {
	switch l.State(p) {
	case LockNo:
		return mark(ErrLock, fmt.Errorf("%s is not in the lock file %s: to trust it, run chessbrain plugins lock", p.Path, l.Path))
	case LockChanged:
		return mark(ErrLock, fmt.Errorf("%s has SHA-256 %s, but the lock file %s has %s: the program was changed; to trust it, run chessbrain plugins lock",
			p.Path, p.SHA256, l.Path, l.Programs[p.Name]))
	}
	return nil
}

// checkLocks holds a program against those lock files that exist.
func checkLocks(files []string, p Program) error {
	for _, path := range files {
		l, err := ReadLock(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return mark(ErrLock, err)
		}
		if err := l.Check(p); err != nil {
			return err
		}
	}
	return nil
}

// How a program stands to a lock file.
const (
	LockYes     = "locked"
	LockChanged = "changed"
	LockNo      = "not locked"
	LockGone    = "not found"
)

// LockLine is a program and how it stands to the lock file.
type LockLine struct {
	Name   string `json:"name"`
	State  string `json:"state"`          // LockYes, ...
	SHA256 string `json:"sha256"`         // of what is there; LockGone: as locked
	Path   string `json:"path,omitempty"` // LockGone: none
}

// State is how a program stands to a lock file; "" where there is none, lock nil.
func (l *Lock) State(p Program) string {
	if l == nil {
		return ""
	}
	switch sum, there := l.Programs[p.Name]; {
	case !there:
		return LockNo
	case sum != p.SHA256:
		return LockChanged
	}
	return LockYes
}

// Compare returns a line for each program that is found, and for each that
// is locked and not found.
func (l *Lock) Compare(programs []Program) []LockLine {
	var lines []LockLine
	gone := maps.Clone(l.Programs)
	for _, p := range programs {
		lines = append(lines, LockLine{p.Name, l.State(p), p.SHA256, p.Path})
		delete(gone, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		lines = append(lines, LockLine{name, LockGone, gone[name], ""})
	}
	return lines
}
