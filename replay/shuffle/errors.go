package shuffle

import (
	"errors"
	"fmt"
)

// ErrNone says that a directory holds no finished shuffle yet.
var ErrNone = errors.New("no finished shuffle")

// ErrInputChanged says that game files changed between counting and reading.
var ErrInputChanged = errors.New("game files changed while they were read: run the shuffle again")

// CorruptError is damage found in a shuffle's file. Nothing of the file, or of
// the block named by the offset, is used.
type CorruptError struct {
	Path   string
	Offset int64
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: damaged at byte %d: %s; delete this shuffle's directory and shuffle again", e.Path, e.Offset, e.Reason)
}

// ExitCode is that of damaged data.
func (e *CorruptError) ExitCode() int { return 3 }

// VersionError is a file of a format that this program does not know.
type VersionError struct {
	Path    string
	Version uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s: shuffle format version %d, this program reads version %d: shuffle again", e.Path, e.Version, fileVersion)
}

// ExitShort is the exit code of a shuffle that has not enough rows yet.
const ExitShort = 6

// ShortError says that there are fewer usable rows than the window's minimum.
// It is no fault: more games will mend it.
type ShortError struct {
	Have, Need int64
	Dirs       []string
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("have %d rows, need %d in %v: play more games, or lower --min-rows", e.Have, e.Need, e.Dirs)
}

// ExitCode is ExitShort.
func (e *ShortError) ExitCode() int { return ExitShort }

// GoneError says that the shuffle that a saved position belongs to is not there
// any more.
type GoneError struct {
	Dir string
	err error
}

func (e *GoneError) Error() string {
	return fmt.Sprintf("the saved position is in %s, which cannot be opened (%v): bring it back, or start without the saved position", e.Dir, e.err)
}

func (e *GoneError) Unwrap() error { return e.err }
