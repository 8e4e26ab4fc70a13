package run

import (
	"fmt"
	"os"

	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// ReadJournal returns the entries of the journal at path, and the bytes of a
// torn last line, which the next start cuts off. Nothing is changed. A line that
// is no entry is a *checkpoint.CorruptError.
func ReadJournal(path string) (entries []Entry, torn int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read journal: %w", err)
	}
	entries, ends, err := parseJournal(data)
	if err != nil {
		return nil, 0, &checkpoint.CorruptError{Path: path, Reason: err.Error()}
	}
	whole := int64(0)
	if len(ends) > 0 {
		whole = ends[len(ends)-1]
	}
	return entries, int64(len(data)) - whole, nil
}

// ReadUnfinished counts the games in a file of unfinished games. An error says
// where the first unreadable one stands; those before it are counted.
func ReadUnfinished(path string) (games int, err error) {
	read, err := loadUnfinished(path)
	return len(read), err
}

// GameID reads a game's id as journal lines hold it.
func (e Entry) GameID() (id [16]byte, ok bool) { return parseID(e.Game) }

// JournalFile is the path of the run's journal.
func (d Dir) JournalFile() string { return d.journal() }

// LockDir is the directory of the run's locks.
func (d Dir) LockDir() string { return d.locks() }
