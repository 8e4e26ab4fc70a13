package uci

import (
	"errors"
	"fmt"
)

// What may go wrong with an engine. Errors of a Client are of type *ClientError
// and wrap one of these, or the context's error, or what the system said.
var (
	ErrExited  = errors.New("the engine's process ended")
	ErrHung    = errors.New("the engine does not answer")
	ErrIllegal = errors.New("illegal move")
	ErrOption  = errors.New("wrong option")
	ErrClosed  = errors.New("the engine was closed")
)

// ClientError says what an engine did.
type ClientError struct {
	Engine string // its name, or its program's before it has said one
	Did    string // such as "sent no readyok within 10s"
	Said   string // its last words, where they may explain it; else ""
	Err    error
}

func (e *ClientError) Error() string {
	text := fmt.Sprintf("engine %s: %s: %v", e.Engine, e.Did, e.Err)
	if e.Said != "" {
		text += fmt.Sprintf("; it last said %q", e.Said)
	}
	return text
}

// Unwrap returns the cause.
func (e *ClientError) Unwrap() error { return e.Err }
