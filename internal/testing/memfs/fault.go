package memfs

import (
	"errors"
	"io/fs"
)

// ErrPowerCut is what every operation returns between a power cut and Restart.
var ErrPowerCut = errors.New("power cut")

// fault is what is planned to go wrong.
type fault struct {
	at     int   // operation number that fails, 0 = none
	err    error // what it returns
	sticky bool  // all later operations fail too
	power  bool
}

// FailAt lets the k-th operation from now (1 = the next) fail with err, and
// all after it too if sticky. A failing write writes half of its bytes.
func (m *FS) FailAt(k int, err error, sticky bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ops, m.tripped = 0, false
	m.fault = fault{at: k, err: err, sticky: sticky}
}

// CutAt cuts the power at the k-th operation from now: it and all later ones
// fail with ErrPowerCut until Restart.
func (m *FS) CutAt(k int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ops, m.tripped = 0, false
	m.fault = fault{at: k, err: ErrPowerCut, sticky: true, power: true}
}

// Heal ends the planned fault.
func (m *FS) Heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = fault{}
}

// Tripped says whether the planned fault has happened.
func (m *FS) Tripped() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tripped
}

// Ops returns the operations since New, FailAt or CutAt.
func (m *FS) Ops() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ops
}

// step counts one operation and returns its planned error. mu is held.
func (m *FS) step(op, name string) error {
	m.ops++
	if m.fault.at == 0 || m.ops < m.fault.at || (m.ops > m.fault.at && !m.fault.sticky) {
		return nil
	}
	m.tripped = true
	return &fs.PathError{Op: op, Path: name, Err: m.fault.err}
}

// Fate decides what becomes of state that was not synced when the power went.
type Fate interface {
	// Entries returns how many of n pending changes of a directory survive,
	// oldest first.
	Entries(n int) int

	// Data returns what a file with synced and current content holds after.
	Data(synced, current []byte) []byte
}

// DropAll is the harshest honest disk: nothing that was not synced survives.
var DropAll Fate = dropAll{}

// KeepAll is the kindest: everything written survives.
var KeepAll Fate = keepAll{}

type dropAll struct{}

func (dropAll) Entries(int) int              { return 0 }
func (dropAll) Data(synced, _ []byte) []byte { return synced }

type keepAll struct{}

func (keepAll) Entries(n int) int             { return n }
func (keepAll) Data(_, current []byte) []byte { return current }
