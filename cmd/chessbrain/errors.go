package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/exam"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/typo"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2 // usage, configuration, a run directory in use
	exitCorrupt     = 3 // data on disk are damaged
	exitPlugin      = 4 // a plugin failed
	exitInterrupted = 5 // interrupted and saved
	exitKilled      = 130
)

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// codedError is an error with an exit code of its own.
type codedError struct {
	error
	code int
}

func (e codedError) Unwrap() error { return e.error }

// ExitCode is the code with which the program ends.
func (e codedError) ExitCode() int { return e.code }

// interruptedf is the end by SIGINT or SIGTERM of work that was kept.
func interruptedf(format string, args ...any) error {
	return codedError{fmt.Errorf(format, args...), exitInterrupted}
}

// corruptf is a finding of damaged or unreadable data.
func corruptf(format string, args ...any) error {
	return codedError{fmt.Errorf(format, args...), exitCorrupt}
}

// corrupt makes one of err.
func corrupt(err error) error { return codedError{err, exitCorrupt} }

// noArgs refuses arguments as a usage error: a sub-command may have been meant.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, below := range c.Commands() {
		names = append(names, below.Name())
	}
	if len(names) > 0 {
		return usagef("unknown command %q for %q%s", args[0], c.CommandPath(), typo.Meant(args[0], names...))
	}
	hint := ""
	if _, err := os.Stat(args[0]); c.Flags().Lookup("net") != nil && (err == nil || args[0] == config.NetBuiltin) {
		hint = "; did you mean --net " + args[0] + "?"
	}
	return usagef("%s takes no argument, got %q%s", c.CommandPath(), args[0], hint)
}

// exactArgs wants so many arguments: what says which, with %d for how many there are.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usagef("%s: %s", c.CommandPath(), strings.ReplaceAll(what, "%d", strconv.Itoa(len(args))))
	}
}

// atMostOne wants one argument or none, in the words of all others.
func atMostOne(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes one argument at most, got %q; usage: %s", c.CommandPath(), args, c.UseLine())
	}
	return nil
}

// someArgs wants an argument at least: what says which.
func someArgs(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usagef("%s: %s", c.CommandPath(), what)
	}
}

// given returns the first of some flags that is on the command line, "" where none is.
func given(c *cobra.Command, names ...string) string {
	for _, name := range names {
		if c.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// between refuses a flag's value that is out of range.
func between(flag string, value, low, high int) error {
	if value < low || value > high {
		return usagef("--%s %d: want %d to %d", flag, value, low, high)
	}
	return nil
}

// pathError makes a usage error of a path that the user gave and that is not
// there, does not hold what it should, or cannot be written.
func pathError(err error) error {
	if isAny(err, checkpoint.ErrNoCheckpoint, fs.ErrNotExist, fs.ErrPermission, syscall.EROFS) {
		return usageError{err}
	}
	return err
}

// notThere says what to do where a path that somebody named is not there.
func notThere(path string, err error, remedy string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w; %s", path, syscall.ENOENT, remedy)
	}
	return err
}

// isAny says whether err is or wraps one of the others.
func isAny(err error, others ...error) bool {
	return slices.ContainsFunc(others, func(other error) bool { return errors.Is(err, other) })
}

// printError writes one line a fault: what is wrong and what to do.
func printError(w io.Writer, err error) {
	lines := once(strings.Split(strings.TrimSuffix(run.PlainJSON(err).Error(), "\n"), "\n"))
	if isAny(err, syscall.EIO, fsx.ErrSync) {
		lines = append(lines, diskRemedy)
	}
	for _, p := range pathRemedies {
		if len(lines) == 1 && errors.Is(err, p.fault) && !strings.Contains(lines[0], ";") {
			lines[0] += "; " + p.remedy
		}
	}
	for _, line := range lines {
		fmt.Fprintf(w, "chessbrain: %s\n", line)
	}
}

// pathRemedies say what to do about faults of a path, where nobody who knows more has said it.
var pathRemedies = []struct {
	fault  error
	remedy string
}{
	{syscall.ENOTDIR, "a file is where a directory should be: move it away, or name another path"},
	{syscall.ELOOP, "symbolic links there lead in a circle: remove them, or name another path"},
	{syscall.EROFS, "the file system is read-only: name a path that can be written"},
}

// diskRemedy is what to do where a disk fails. Each who had to do with it says so, and none
// of them knows more.
const diskRemedy = "the disk or the way to it fails: look at it and at the system's log (dmesg); then the same command goes on from " +
	"what is saved, and chessbrain verify lists what is damaged"

// once leaves out lines that others say with more around them, or again.
func once(lines []string) (kept []string) {
	for i, line := range lines {
		if !slices.Contains(lines[:i], line) && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, ": "+line) }) {
			kept = append(kept, line)
		}
	}
	return kept
}

// as says whether err is or wraps an error of type E.
func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// exitCode returns the code of what a command came to.
func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, run.ErrInterrupted):
		return exitInterrupted
	case as[*checkpoint.CorruptError](err), as[*replay.CorruptError](err), as[*replay.MissingGamesError](err),
		errors.Is(err, lc0.ErrCorrupt), as[*record.CorruptError](err), as[*arena.CorruptError](err), as[*monitor.CorruptError](err), as[*nn.FormatError](err),
		as[*json.SyntaxError](err), as[*json.UnmarshalTypeError](err): // run.json, manifests
		return exitCorrupt
	case errors.As(err, &coded):
		return coded.ExitCode()
	case as[usageError](err), as[*fsx.LockedError](err),
		isAny(err, trainer.ErrConfig, checkpoint.ErrStateMismatch, host.ErrUnknown, host.ErrSettings, exam.ErrEngine),
		isAny(err, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.ELOOP, fsx.ErrNotFile): // a path that somebody named is another thing
		return exitUsage
	case as[*host.Error](err):
		return exitPlugin
	}
	return exitFailure
}
