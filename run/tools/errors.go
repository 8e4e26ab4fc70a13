package tools

import "errors"

// ErrInput is wrapped by faults of what a tool was asked to read or to do.
var ErrInput = errors.New("bad input")

// inputError is an ErrInput; its text is the whole message.
type inputError struct{ error }

func (e inputError) Unwrap() []error { return []error{e.error, ErrInput} }

// ExitCode is that of a usage error.
func (inputError) ExitCode() int { return 2 }
