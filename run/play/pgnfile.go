package play

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/export"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
)

// pgnFile is an append-only file of games that export.WritePGN wrote, each once.
type pgnFile struct {
	file  *fsx.AppendFile
	known run.Ordinals // of the games in it
	buf   bytes.Buffer
}

// openPGN opens the file at path and makes it if it is missing. What a kill or
// a power cut left of a game is cut off (lost is its bytes): the file holds whole
// games then, and known says which.
func openPGN(fsys fsx.FS, path string) (f *pgnFile, lost int64, err error) {
	if err := fsx.MkdirAll(fsys, filepath.Dir(path)); err != nil {
		return nil, 0, fmt.Errorf("make directory of PGN file: %w", err)
	}
	f = &pgnFile{}
	if f.file, err = fsx.OpenAppend(fsys, path); err != nil {
		return nil, 0, fmt.Errorf("open PGN file: %w", err)
	}
	whole, err := scanPGN(fsys, path, &f.known)
	if err == nil {
		lost, err = f.mend(fsys, whole)
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("mend PGN file %s: %w", path, err), f.file.Close())
	}
	return f, lost, nil
}

// mend keeps the given parts of the file only: mostly all but a torn end, which
// is cut off; with damage between games the file is written anew.
func (f *pgnFile) mend(fsys fsx.FS, whole [][2]int64) (lost int64, err error) {
	size, path := f.file.Size(), f.file.Path()
	lost = size
	for _, part := range whole {
		lost -= part[1] - part[0]
	}
	switch {
	case lost == 0:
		return 0, nil
	case len(whole) == 0 || len(whole) == 1 && whole[0][0] == 0:
		return lost, f.file.Truncate(size - lost)
	}
	err = fsx.WriteFileFunc(fsys, path, func(w io.Writer) error {
		in, err := fsys.OpenFile(path, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer in.Close()
		for _, part := range whole {
			if _, err := io.Copy(w, io.NewSectionReader(in, part[0], part[1]-part[0])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := f.file.Close(); err != nil {
		return 0, err
	}
	f.file, err = fsx.OpenAppend(fsys, path) // the new file of that name
	return lost, err
}

// scanPGN adds the ordinals of the whole games of a file to known and returns
// the byte ranges of them, neighbours joined. A game that is there twice counts
// once, the second is no part of the ranges.
func scanPGN(fsys fsx.FS, path string, known *run.Ordinals) ([][2]int64, error) {
	in, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var at, from int64 // what was read, and where the latest game begins
	var game []byte    // from there on
	var whole [][2]int64
	r := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull { // a torn line is no part of a whole game
			if err == io.EOF {
				return whole, nil
			}
			return nil, err
		}
		if bytes.HasPrefix(line, []byte(`[Event "`)) {
			game, from = game[:0], at
		}
		at, game = at+int64(len(line)), append(game, line...)
		if string(line) != "\n" {
			continue
		}
		if ordinal, ok := wholeGame(game); !ok || !known.Add(ordinal) {
			continue
		}
		if n := len(whole); n > 0 && whole[n-1][1] == from {
			whole[n-1][1] = at
		} else {
			whole = append(whole, [2]int64{from, at})
		}
	}
}

// wholeGame returns the Round of a game as export.WritePGN writes them: tags from Event
// on, an empty line, moves that end with the result, an empty line.
func wholeGame(game []byte) (ordinal uint64, ok bool) {
	tags, moves, _ := bytes.Cut(game, []byte("\n\n"))
	moves, ended := bytes.CutSuffix(moves, []byte("\n\n"))
	ended = ended && !bytes.Contains(moves, []byte("\n\n"))
	zeros := bytes.IndexByte(game, 0) >= 0 // a power cut may leave them
	tagged := bytes.HasPrefix(tags, []byte("[Event ")) && bytes.Count(tags, []byte("\n[")) == bytes.Count(tags, []byte("\n"))
	result := moves[bytes.LastIndexAny(moves, " \n")+1:]
	ordinal, err := strconv.ParseUint(tagOf(tags, "Round"), 10, 64)
	return ordinal, err == nil && tagged && ended && !zeros && len(result) > 0 && string(result) == tagOf(tags, "Result")
}

// tagOf returns the value of a tag that is not the first, "" where it is not there.
func tagOf(tags []byte, name string) string {
	_, rest, _ := bytes.Cut(tags, []byte("\n["+name+` "`))
	value, _, _ := bytes.Cut(rest, []byte(`"]`))
	return string(value)
}

// put appends the games that are not there yet, durably. After an error none of
// them counts as there.
func (f *pgnFile) put(games []*record.Game, job string) error {
	f.buf.Reset()
	for _, g := range games {
		if f.known.Has(g.Ordinal) {
			continue
		}
		if err := export.WritePGN(&f.buf, g, job); err != nil {
			return err
		}
	}
	if f.buf.Len() == 0 {
		return nil
	}
	if _, err := f.file.Write(f.buf.Bytes()); err != nil {
		return err
	}
	if err := f.file.Sync(); err != nil {
		return err
	}
	for _, g := range games {
		f.known.Add(g.Ordinal)
	}
	return nil
}
