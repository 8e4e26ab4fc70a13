package lc0

import "errors"

// Errors about network files.
var (
	// ErrCorrupt: the file is not what it says, or is damaged.
	ErrCorrupt = errors.New("corrupt Leela network file")
	// ErrUnsupported: a sound file of a net that this build does not know.
	ErrUnsupported = errors.New("Leela network not supported")
)
