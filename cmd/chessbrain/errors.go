package main

import (
	"errors"
	"fmt"
	"io"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2 // usage, configuration, a run directory in use
	exitCorrupt     = 3 // data on disk are damaged
	exitInterrupted = 5 // interrupted and saved
	exitKilled      = 130
)

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// noArgs refuses arguments as a usage error.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument, got %q", c.CommandPath(), args[0])
	}
	return nil
}

// printError writes one line: what is wrong and what to do.
func printError(w io.Writer, _ fang.Styles, err error) {
	fmt.Fprintf(w, "chessbrain: %v\n", err)
}

// as says whether err is or wraps an error of type E.
func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
