package replay

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
)

// RemovedName is the list of the chunk files that retention removed, in the
// directory with the games of all nets: one RemovedFile a line. Their games are
// gone, but they were played: their numbers are used up, and they count among the
// rows that self-play has made.
const RemovedName = "removed.jsonl"

// RemovedFile is a chunk file that was removed for good.
type RemovedFile struct {
	Path      string      `json:"path"`       // below the directory, with slashes: <net>/<process>/NNNNNNNN.games
	SHA256    string      `json:"sha256"`     // of the content before the footer, as the footer had it; hexadecimal
	Games     int         `json:"games"`      // that it held
	TrainRows int64       `json:"train_rows"` // meant for training, on that side of the split
	ValRows   int64       `json:"val_rows"`   // the same for validation
	Random    bool        `json:"random,omitempty"`
	Ordinals  [][2]uint64 `json:"ordinals"` // numbers of its games with their process: ranges [from, to), ascending
	Removed   time.Time   `json:"removed"`
}

// Process is the name of the process that played the games.
func (f *RemovedFile) Process() string { return path.Base(path.Dir(f.Path)) }

func (f *RemovedFile) key() [2]string { return [2]string{f.Path, f.SHA256} }

// check says what a line of the list cannot say.
func (f *RemovedFile) check() error {
	if !fs.ValidPath(f.Path) || f.Games < 0 || f.TrainRows < 0 || f.ValRows < 0 {
		return fmt.Errorf("path %q, %d games, rows %d and %d", f.Path, f.Games, f.TrainRows, f.ValRows)
	}
	games, last := uint64(0), uint64(0)
	for _, r := range f.Ordinals {
		if r[0] < last || r[1] <= r[0] || r[1]-r[0] > uint64(f.Games) {
			return fmt.Errorf("numbers %v of %d games", r, f.Games)
		}
		games, last = games+r[1]-r[0], r[1]
	}
	if games > uint64(f.Games) {
		return fmt.Errorf("%d numbers of %d games", games, f.Games)
	}
	return nil
}

// ReadRemoved returns the files that were removed below dir, each once; none
// where there is no list. A file that is listed and still there, because the
// process that removed it was killed in between, is left out. A torn last line is
// none; any other that cannot be read is a *CorruptError.
func ReadRemoved(fsys fsx.FS, dir string) ([]RemovedFile, error) {
	listed, _, err := readRemovedList(fsys, dir)
	if err != nil {
		return nil, err
	}
	gone := listed[:0]
	for _, f := range listed {
		sum, err := sealedSum(fsys, filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil {
			return nil, err
		}
		if sum != f.SHA256 {
			gone = append(gone, f)
		}
	}
	return gone, nil
}

// readRemovedList returns the lines of the list, each file once, and the bytes of
// the whole lines.
func readRemovedList(fsys fsx.FS, dir string) (listed []RemovedFile, whole int64, err error) {
	name := filepath.Join(dir, RemovedName)
	data, err := ReadPart(fsys, name, 0, -1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read list of removed games: %w", err)
	}
	seen := map[[2]string]bool{}
	for at := 0; ; {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return listed, int64(at), nil
		}
		var f RemovedFile
		err := json.Unmarshal(data[at:at+n], &f)
		if err == nil {
			err = f.check()
		}
		if err != nil {
			return nil, 0, &CorruptError{Path: name, Offset: int64(at), Length: int64(n), Reason: err.Error() + "; put it back from a copy"}
		}
		if !seen[f.key()] {
			seen[f.key()] = true
			listed = append(listed, f)
		}
		at += n + 1
	}
}

// sealedSum returns the hash in the footer of a sealed chunk, "" where there is no
// such file.
func sealedSum(fsys fsx.FS, name string) (string, error) {
	info, err := fsys.Stat(name)
	var tail []byte
	if err == nil {
		tail, err = ReadPart(fsys, name, max(info.Size()-footerSize, 0), -1)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read chunk: %w", err)
	}
	if end, ok := parseFooter(tail, info.Size()-footerSize); ok {
		return hex.EncodeToString(end.sum[:]), nil
	}
	return "", nil
}

// DescribeRemoved returns the line of a sealed chunk file, of which games are all
// games, for Remove; the caller fills in the rows. A file without a footer is a
// *CorruptError.
func DescribeRemoved(fsys fsx.FS, dir, rel string, games []*record.Game) (RemovedFile, error) {
	name := filepath.Join(dir, filepath.FromSlash(rel))
	f := RemovedFile{Path: rel, Games: len(games)}
	var err error
	if f.SHA256, err = sealedSum(fsys, name); err != nil {
		return f, err
	}
	if f.SHA256 == "" {
		return f, &CorruptError{Path: name, Reason: "sealed chunk without a footer"}
	}
	ordinals := make([]uint64, len(games))
	for i, g := range games {
		ordinals[i] = g.Ordinal
	}
	slices.Sort(ordinals)
	for _, n := range slices.Compact(ordinals) {
		if last := len(f.Ordinals) - 1; last >= 0 && f.Ordinals[last][1] == n {
			f.Ordinals[last][1] = n + 1
		} else {
			f.Ordinals = append(f.Ordinals, [2]uint64{n, n + 1})
		}
	}
	return f, nil
}

// Remove lists chunk files below dir as removed, durably, and then removes them.
// After a kill in between they are counted once, as files or as lines, and a
// second Remove goes on. One process at a time may call it for a directory.
func Remove(fsys fsx.FS, dir string, files []RemovedFile) error {
	listed, whole, err := readRemovedList(fsys, dir)
	if err != nil {
		return err
	}
	there := map[[2]string]bool{}
	for _, f := range listed {
		there[f.key()] = true
	}
	var lines []byte
	for _, f := range files {
		if there[f.key()] {
			continue
		}
		line, err := json.Marshal(f)
		if err != nil {
			return fmt.Errorf("list removed games: %w", err)
		}
		lines = append(append(lines, line...), '\n')
	}
	if err := appendRemoved(fsys, filepath.Join(dir, RemovedName), whole, lines); err != nil {
		return fmt.Errorf("list removed games: %w", err)
	}
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove games: %w", err)
		}
		if err := fsx.SyncDir(fsys, filepath.Dir(name)); err != nil {
			return err
		}
	}
	return nil
}

// appendRemoved cuts a torn line off the list and appends lines, durably.
func appendRemoved(fsys fsx.FS, name string, whole int64, lines []byte) error {
	list, err := fsx.OpenAppend(fsys, name)
	if err != nil {
		return err
	}
	if list.Size() > whole {
		err = list.Truncate(whole)
	}
	if err == nil {
		_, err = list.Write(lines)
	}
	if err == nil {
		err = list.Sync()
	}
	return errors.Join(err, list.Close())
}
