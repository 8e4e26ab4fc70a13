package syzygy

import (
	"errors"
	"fmt"
)

// ErrNoTables is returned by Open where no directory holds a table file.
var ErrNoTables = errors.New("no Syzygy tables (*.rtbw, *.rtbz)")

// TableError says which table file cannot be used and why. The other tables are
// not affected.
type TableError struct {
	Path   string // of the file
	Offset int64  // in bytes where the fault was seen, -1 where it is the whole file
	Reason string // what is wrong and what to do
}

// Error implements error.
func (e *TableError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("Syzygy table %s: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("Syzygy table %s: byte %d: %s", e.Path, e.Offset, e.Reason)
}
