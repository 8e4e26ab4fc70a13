package trainer

import (
	"errors"
	"fmt"
)

// ErrNonFinite means that MaxConsecutiveSkips steps in a row had a loss or a
// gradient that is not finite. Weights and optimizer state are those of the
// last good step.
var ErrNonFinite = errors.New("losses or gradients are not finite")

// ErrConfig is wrapped by every complaint about a Config.
var ErrConfig = errors.New("trainer configuration")

// configError wraps ErrConfig with the name of the field at fault.
func configError(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrConfig, field, fmt.Sprintf(format, args...))
}
