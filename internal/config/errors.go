package config

import (
	"errors"
	"strings"
)

// Error is a complaint about the configuration: what was wrong, where it was
// said, and what to do. Every error of this package that a user can cause is an
// *Error or joins several.
type Error struct {
	Where  string // "run.textproto:12:3", "--batch-size", "environment variable BATCH_SIZE" or "default"
	Field  string // path in the schema, such as training.batch_size; may be empty
	Value  string // as it was given; may be empty
	Reason string
	Remedy string // may be empty
}

// ExitCode is 2: usage or configuration (docs/RUN.md, exit codes).
func (e *Error) ExitCode() int { return 2 }

// DamagedError is an Error in what a run wrote.
type DamagedError struct{ Fault *Error }

// ExitCode is 3: data corrupt.
func (e *DamagedError) ExitCode() int { return 3 }

func (e *DamagedError) Error() string { return e.Fault.Error() }

func (e *Error) Error() string {
	var b strings.Builder
	if e.Where != "" && e.Where != "default" { // a place that nobody can go to
		b.WriteString(e.Where + ": ")
	}
	if e.Field != "" {
		b.WriteString(e.Field)
		if e.Value != "" {
			b.WriteString(" = " + e.Value)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Reason)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

// Errors is a list of *Error about one configuration, shown together.
type Errors []error

func (Errors) ExitCode() int { return 2 }

func (e Errors) Error() string { return errors.Join(e...).Error() }

// Unwrap lets errors.As find the single complaints.
func (e Errors) Unwrap() []error { return e }

// orNil avoids an error interface that holds an empty list.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

const notInThisBuild = "not in this build"
