package run

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/chessbrain/chessbrain/selfplay"
)

// exitMu is held while a checkpoint is being renamed into place.
var exitMu sync.Mutex

// ExitNow ends the process at once, as a second interrupt asks, but not in the
// middle of a checkpoint's renames.
func ExitNow(code int) {
	exitMu.Lock()
	os.Exit(code)
}

// ErrInterrupted says that a run was asked to stop, has saved its state, and
// goes on when it is started again.
var ErrInterrupted = errors.New("interrupted and saved; the same command goes on")

// stopped says whether err only says that the workers were told to stop.
func stopped(err error) bool {
	return errors.Is(err, selfplay.ErrStopped) || errors.Is(err, context.Canceled)
}
