package fsx

import (
	"errors"
	"fmt"
)

// ErrSync says that an fsync of a file or directory failed. What was written
// since the last good one may be lost even if a later fsync succeeds. The
// caller stops the process (errors.Is).
var ErrSync = errors.New("fsync failed, written data may be lost")

// SpaceError says that a file system is too full to go on.
type SpaceError struct {
	Path        string
	Free, Total uint64 // bytes
	Need        uint64 // bytes that must be free
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s: only %s of %s free, %s must stay free: make room, or name a directory on another disk",
		e.Path, FormatBytes(e.Free), FormatBytes(e.Total), FormatBytes(e.Need))
}

// LockedError says that another process holds a lock.
type LockedError struct {
	Path  string
	Owner Owner // zero PID where the holder has not said who it is
}

func (e *LockedError) Error() string {
	if e.Owner.PID == 0 {
		return fmt.Sprintf("%s is held by another process", e.Path)
	}
	return fmt.Sprintf("%s is held by process %d on %s (%s, started %s)", e.Path, e.Owner.PID, e.Owner.Host,
		e.Owner.Command, e.Owner.Started.Format("2006-01-02 15:04:05"))
}

// syncError wraps the reason of a failed fsync of path.
func syncError(path string, err error) error {
	return fmt.Errorf("sync %s: %w: %w", path, ErrSync, err)
}

// FormatBytes writes n in binary units.
func FormatBytes(n uint64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n)/unit, 0
	for value >= unit && prefix < 4 {
		value, prefix = value/unit, prefix+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTP"[prefix])
}

// CorruptError says which file, or which part of one, is damaged.
type CorruptError struct {
	Path   string // file, or the name of the part
	Reason string
}

func (e *CorruptError) Error() string { return fmt.Sprintf("%s is corrupt: %s", e.Path, e.Reason) }
