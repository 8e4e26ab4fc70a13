package checkpoint

import (
	"errors"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// ErrStateMismatch means that a saved state belongs to another net or optimizer, or to
// another run's parts.
var ErrStateMismatch = errors.New("saved trainer state does not fit")

// ErrNoCheckpoint means that a directory holds no checkpoint at all.
var ErrNoCheckpoint = errors.New("no checkpoint")

// CorruptError says which file of a checkpoint, or which part of a state, is damaged.
type CorruptError = fsx.CorruptError
