package host

import (
	"maps"
	"slices"
)

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
	if l.Check(p) == nil {
		return LockYes
	}
	if _, there := l.Programs[p.Name]; there {
		return LockChanged
	}
	return LockNo
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
