package run

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
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
	Sum     string `json:"sum"`     // CRC-32C of the others, set by Enter; "" in journals of older programs
}

func (e *Entry) sum() string {
	text := fmt.Appendf(nil, "%d %s %d %d", e.Episode, e.Game, e.Ordinal, e.Step)
	return fmt.Sprintf("%08x", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// check refuses a line that a disk changed: its game would enter a second time.
func (e *Entry) check() error {
	if e.Sum != "" && e.Sum != e.sum() {
		return errors.New("it does not match its checksum")
	}
	return nil
}

// Journal is the file of entries. Used by one goroutine.
type Journal struct {
	*Lines[Entry]
	ahead int // lines that are there already and whose games enter again
}

// OpenJournal reads the journal at path, cuts a torn last line off, and opens
// it for appending. A line in the middle that is no entry is a
// *fsx.CorruptError.
func OpenJournal(path string) (*Journal, []Entry, error) {
	form := LinesForm[Entry]{Name: "journal", Check: (*Entry).check, Remedy: "; put it back from a copy, or begin a new run"}
	lines, entries, err := form.Open(path)
	if err != nil {
		return nil, nil, err
	}
	return &Journal{Lines: lines}, entries, nil
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
	e.Sum = e.sum()
	return j.Add(e)
}

// ReadJournal returns the entries of the journal at path, and the bytes of a
// torn last line, which the next start cuts off. Nothing is changed. A line that
// is no entry is a *fsx.CorruptError.
func ReadJournal(path string) (entries []Entry, torn int64, err error) {
	return LinesForm[Entry]{Name: "journal", Check: (*Entry).check}.Read(path)
}

// GameID reads a game's id as journal lines hold it.
func (e Entry) GameID() (id [16]byte, ok bool) {
	raw, err := hex.DecodeString(e.Game)
	if err != nil || len(raw) != len(id) {
		return id, false
	}
	return [16]byte(raw), true
}
