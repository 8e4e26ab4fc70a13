package run

import (
	"errors"
	"os"
	"sync"
)

// ExitMu is held while a checkpoint is being renamed into place.
var ExitMu sync.Mutex

// ExitNow ends the process at once, as a second interrupt asks, but not in the
// middle of a checkpoint's renames.
func ExitNow(code int) {
	ExitMu.Lock()
	os.Exit(code)
}

// ErrInterrupted says that a run was asked to stop, has saved its state, and
// goes on when it is started again.
var ErrInterrupted = errors.New("interrupted and saved; the same command goes on")
