package replay

import (
	"errors"
	"fmt"
)

// ErrNoRows says that there is nothing to draw from: the window holds no game
// with a row meant for training.
var ErrNoRows = errors.New("the window holds no training rows")

// ErrClosed says that a Writer, Prefetcher, loader or queue was used after Close.
var ErrClosed = errors.New("used after Close")

// Wrong is the fault of a setting, nil if all is right with it.
func Wrong(is bool, format string, args ...any) error {
	if is {
		return fmt.Errorf(format, args...)
	}
	return nil
}

// CorruptError is damage found in a chunk file. The bytes named are not used;
// everything else of the file is.
type CorruptError struct {
	Path   string
	Offset int64 // of the first damaged byte
	Length int64 // damaged bytes
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: damaged at byte %d (%d bytes): %s", e.Path, e.Offset, e.Length, e.Reason)
}

// VersionError is a chunk file of a format that this program does not know.
type VersionError struct {
	Path    string
	Version uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s: chunk format version %d, this program reads version %d", e.Path, e.Version, chunkVersion)
}

// MissingGamesError says that games that a window held are not on disk.
type MissingGamesError struct {
	Wanted, Missing int
	First           [16]byte // id of the first one
}

func (e *MissingGamesError) Error() string {
	return fmt.Sprintf("%d of %d games of the window are not on disk (first %x)", e.Missing, e.Wanted, e.First)
}
