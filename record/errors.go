package record

import (
	"errors"
	"fmt"
)

// Sentinels that a *CorruptError may wrap.
var (
	// ErrTruncated: the bytes end before the game does. More bytes may help.
	ErrTruncated = errors.New("truncated")
	// ErrVersion: a newer program wrote this game.
	ErrVersion = errors.New("unsupported version")
)

// CorruptError is Decode's refusal of bytes.
type CorruptError struct {
	Offset int    // in the bytes given to Decode
	Reason string // what is wrong there
	err    error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("game record: byte %d: %s", e.Offset, e.Reason)
}

// Unwrap returns ErrTruncated, ErrVersion, an *InvalidError or nil.
func (e *CorruptError) Unwrap() error { return e.err }

// InvalidError says what makes a game invalid, and where.
type InvalidError struct {
	Ply    int    // index of the ply; -1 = the game as a whole
	Field  string // field of Game or Ply, in lower case
	Reason string
	err    error
}

func (e *InvalidError) Error() string {
	if e.Ply < 0 {
		return fmt.Sprintf("game: %s: %s", e.Field, e.Reason)
	}
	return fmt.Sprintf("game: ply %d: %s: %s", e.Ply, e.Field, e.Reason)
}

// Unwrap returns the cause, such as a *chess.FENError, or nil.
func (e *InvalidError) Unwrap() error { return e.err }

func invalid(ply int, field, format string, args ...any) error {
	return &InvalidError{Ply: ply, Field: field, Reason: fmt.Sprintf(format, args...)}
}
