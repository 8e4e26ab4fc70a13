package prepare

import (
	"errors"
	"fmt"
)

// Errors of steps.
var (
	// ErrNoInput: a step found no game to work on. Going on with what an earlier
	// run left would train on old data without a word.
	ErrNoInput = errors.New("no input")

	// ErrOther: the directory holds the step of other inputs or settings.
	ErrOther = errors.New("the directory holds another step")

	// ErrForeign: the directory holds something that no step wrote.
	ErrForeign = errors.New("the directory is not empty and has no manifest")

	// ErrPinned: what is to be removed is pinned.
	ErrPinned = errors.New("pinned")
)

// ManifestError is a manifest that cannot be read.
type ManifestError struct {
	Path   string
	Reason string
}

func (e *ManifestError) Error() string {
	return fmt.Sprintf("manifest %s: %s; run the step again into a new directory", e.Path, e.Reason)
}
