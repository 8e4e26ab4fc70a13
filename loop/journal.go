package loop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

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
	Step    int64  `json:"step"`    // optimizer steps done when it entered
}

// Journal is the append-only file of entries, one JSON object a line.
type Journal struct {
	file  *fsx.AppendFile
	ahead int // lines that are there already and whose games enter again
}

// OpenJournal reads the journal at path, cuts a torn last line off, and opens
// it for appending. A line in the middle that is no entry is an error.
func OpenJournal(path string) (*Journal, []Entry, error) {
	file, err := fsx.OpenAppend(fsx.OS, path)
	if err != nil {
		return nil, nil, fmt.Errorf("open journal: %w", err)
	}
	data, err := fsx.ReadFile(fsx.OS, path)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read journal: %w", err), file.Close())
	}
	entries, whole, err := parseJournal(data)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), file.Close())
	}
	if whole < len(data) {
		if err := file.Truncate(int64(whole)); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("cut torn line off journal %s: %w", path, err), file.Close())
		}
	}
	return &Journal{file: file}, entries, nil
}

// parseJournal returns the entries of the whole lines and their length in
// bytes.
func parseJournal(data []byte) (entries []Entry, whole int, err error) {
	for whole < len(data) {
		end := bytes.IndexByte(data[whole:], '\n')
		if end < 0 {
			return entries, whole, nil // torn
		}
		var e Entry
		if err := json.Unmarshal(data[whole:whole+end], &e); err != nil {
			return nil, 0, fmt.Errorf("offset %d: %w", whole, err)
		}
		entries = append(entries, e)
		whole += end + 1
	}
	return entries, whole, nil
}

// Restart makes the journal hold exactly entries and goes on from there.
func (j *Journal) Restart(entries []Entry) error {
	size := int64(0)
	for _, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode journal entry: %w", err)
		}
		size += int64(len(line)) + 1
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
	return j.Append(e)
}

// Append adds an entry; nil means on stable storage.
func (j *Journal) Append(e Entry) error {
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
