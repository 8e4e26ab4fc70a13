package run

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Entry says that a game entered the window (or the validation set) as the
// given episode, before the training step that follows Step. The lines of the
// journal are the order of the run's games: a checkpoint holds how many of them
// it has seen, and after a kill the games of the later lines enter again in the
// same order.
type Entry struct {
	Episode int64  `json:"episode"` // 1 = the run's first
	Game    string `json:"game"`    // id, hexadecimal
	Ordinal uint64 `json:"ordinal"` // the game's number with the process that played it
	Step    int64  `json:"step"`    // optimizer steps done when it first entered
}

// Journal is the append-only file of entries, one JSON object a line. Used by
// one goroutine.
type Journal struct {
	file  *fsx.AppendFile
	ends  []int64 // file offsets after each line that was there at the start
	ahead int     // lines that are there already and whose games enter again
}

// OpenJournal reads the journal at path, cuts a torn last line off, and opens
// it for appending. A line in the middle that is no entry is a
// *fsx.CorruptError.
func OpenJournal(path string) (*Journal, []Entry, error) {
	file, err := fsx.OpenAppend(fsx.OS, path)
	if err != nil {
		return nil, nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{file: file}
	data, err := fsx.ReadFile(fsx.OS, path)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read journal: %w", err), file.Close())
	}
	var entries []Entry
	if entries, j.ends, err = ParseJournal(data); err != nil {
		err = &fsx.CorruptError{Path: path, Reason: err.Error() + "; put it back from a copy, or begin a new run"}
	} else {
		err = j.Cut(len(entries))
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return j, entries, nil
}

// ParseJournal returns the entries of the whole lines and where each ends.
func ParseJournal(data []byte) (entries []Entry, ends []int64, err error) {
	for at := 0; ; {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return entries, ends, nil // nothing, or a torn line
		}
		var e Entry
		if err := json.Unmarshal(data[at:at+n], &e); err != nil {
			return nil, nil, fmt.Errorf("line %d at byte %d: %w", len(entries)+1, at, err)
		}
		at += n + 1
		entries, ends = append(entries, e), append(ends, int64(at))
	}
}

// Cut keeps the first n of the lines that were there when it was opened.
func (j *Journal) Cut(n int) error {
	size := int64(0)
	if n > 0 {
		size = j.ends[n-1]
	}
	if size == j.file.Size() {
		return nil
	}
	if err := j.file.Truncate(size); err != nil {
		return fmt.Errorf("cut journal %s: %w", j.file.Path(), err)
	}
	return nil
}

// Repeat says that the games of the last n lines enter again, in their order:
// Enter then writes nothing for them.
func (j *Journal) Repeat(n int) { j.ahead = n }

// Enter writes the line of a game that enters; nil means on stable storage.
func (j *Journal) Enter(e Entry) error {
	if j.ahead > 0 {
		j.ahead--
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode journal entry: %w", err)
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("append to journal %s: %w", j.file.Path(), err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync journal %s: %w", j.file.Path(), err)
	}
	return nil
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

// ReadJournal returns the entries of the journal at path, and the bytes of a
// torn last line, which the next start cuts off. Nothing is changed. A line that
// is no entry is a *fsx.CorruptError.
func ReadJournal(path string) (entries []Entry, torn int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read journal: %w", err)
	}
	entries, ends, err := ParseJournal(data)
	if err != nil {
		return nil, 0, &fsx.CorruptError{Path: path, Reason: err.Error()}
	}
	whole := int64(0)
	if len(ends) > 0 {
		whole = ends[len(ends)-1]
	}
	return entries, int64(len(data)) - whole, nil
}

// GameID reads a game's id as journal lines hold it.
func (e Entry) GameID() (id [16]byte, ok bool) {
	raw, err := hex.DecodeString(e.Game)
	if err != nil || len(raw) != len(id) {
		return id, false
	}
	return [16]byte(raw), true
}
