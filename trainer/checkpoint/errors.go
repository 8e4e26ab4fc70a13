package checkpoint

import (
	"errors"
	"fmt"
)

// ErrStateMismatch means that a saved state belongs to another net or optimizer, or to
// another run's parts.
var ErrStateMismatch = errors.New("saved trainer state does not fit")

// ErrNoCheckpoint means that a directory holds no checkpoint at all.
var ErrNoCheckpoint = errors.New("no checkpoint")

// CorruptError says which file of a checkpoint, or which part of a state, is damaged.
type CorruptError struct {
	Path   string // file, or the name of the part
	Reason string
}

func (e *CorruptError) Error() string { return fmt.Sprintf("%s is corrupt: %s", e.Path, e.Reason) }
