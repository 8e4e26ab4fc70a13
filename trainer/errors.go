package trainer

import (
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// ErrNonFinite means that MaxConsecutiveSkips steps in a row had a loss or a
// gradient that is not finite. Weights and optimizer state are those of the
// last good step.
var ErrNonFinite = errors.New("losses or gradients are not finite")

// ErrConfig is wrapped by every complaint about a Config.
var ErrConfig = errors.New("trainer configuration")

// ErrStateMismatch means that a saved state belongs to another net or optimizer.
var ErrStateMismatch = errors.New("saved trainer state does not fit")

// ErrNoCheckpoint means that a directory holds no checkpoint at all.
var ErrNoCheckpoint = errors.New("no checkpoint")

// CorruptError says which file of a checkpoint, or which part of a state, is damaged.
type CorruptError = fsx.CorruptError

// configError wraps ErrConfig with the name of the field at fault.
func configError(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrConfig, field, fmt.Sprintf(format, args...))
}
