package run

import (
	"os"
	"sync"
)

// exitMu is held while a checkpoint is being renamed into place.
var exitMu sync.Mutex

// ExitNow ends the process at once, as a second interrupt asks, but not in the
// middle of a checkpoint's renames.
func ExitNow(code int) {
	exitMu.Lock()
	os.Exit(code)
}
