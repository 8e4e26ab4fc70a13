package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
)

// DirSource finds the games that other processes write below a directory, in
// sealed and in growing chunks, each once (by id). It polls: that also works
// where a network file system sends no events. Used by one goroutine.
type DirSource struct {
	fsys  fsx.FS
	dir   string
	files map[string]*fileCursor // by final name: a chunk keeps its cursor when it is sealed
	seen  map[[16]byte]struct{}
	out   string // process whose games are left out
}

// fileCursor is how far a chunk was read.
type fileCursor struct {
	offset int64 // 0 = header not read yet
	done   bool  // sealed and read to its end
}

// Found is what a poll found.
type Found struct {
	Games      []*record.Game // new ones, by ordinal, then id
	Duplicates int            // games seen before: written twice, or a chunk rewritten in place
	Problems   []error        // *CorruptError, *VersionError, files that cannot be read now
}

// NewDirSource returns a source of the games below dir, which need not exist
// yet.
func NewDirSource(fsys fsx.FS, dir string) *DirSource {
	return &DirSource{fsys: fsys, dir: dir, files: map[string]*fileCursor{}, seen: map[[16]byte]struct{}{}}
}

// MarkSeen leaves a game out of later polls, as one that was read before a
// restart.
func (d *DirSource) MarkSeen(id [16]byte) { d.seen[id] = struct{}{} }

// LeaveOut leaves the games of a process out.
func (d *DirSource) LeaveOut(process string) { d.out = process }

// Poll returns the games that are new since the last poll. The end of a growing
// chunk that is not a whole block yet is left for later. Problems of one file
// do not keep the others back, and each damage is reported once. The error is
// for a tree that cannot be listed and for a context that ended; games found
// before it are returned too.
func (d *DirSource) Poll(ctx context.Context) (Found, error) {
	var found Found
	paths, err := ListChunks(d.fsys, d.dir)
	if err != nil {
		return found, fmt.Errorf("watch %s: %w", d.dir, err)
	}
	for _, path := range paths {
		if err = ctx.Err(); err != nil {
			break
		}
		if filepath.Base(filepath.Dir(path)) == d.out {
			continue
		}
		if err := d.pollFile(path, &found); err != nil && !errors.Is(err, fs.ErrNotExist) {
			found.Problems = append(found.Problems, err)
		}
	}
	sortGames(found.Games)
	return found, err
}

// pollFile reads what a chunk has more than before. A growing chunk that is not
// there any more was sealed; the next poll reads it.
func (d *DirSource) pollFile(path string, found *Found) error {
	sealed := SealedName(path)
	growing := sealed != path
	c := d.files[sealed]
	if c == nil {
		c = &fileCursor{}
		d.files[sealed] = c
	}
	if c.done {
		return nil
	}
	info, err := d.fsys.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() < c.offset {
		c.offset = 0 // another file of the same name
	}
	if info.Size() == c.offset && growing {
		return nil
	}
	data, err := ReadPart(d.fsys, path, c.offset, -1)
	if err != nil {
		return err
	}
	if _, short, _ := parseHeader(data); c.offset == 0 && short && growing {
		return nil
	}
	games, chunk, err := readGames(path, data, c.offset, decodeGame)
	if err != nil {
		c.done = true // an unknown version does not become known
		return err
	}
	c.offset = chunk.Bytes - chunk.Lost
	c.done = !chunk.Torn || !growing || c.offset == 0 // whole, or no chunk at all (reported)
	for _, e := range chunk.Damage {
		found.Problems = append(found.Problems, e)
	}
	if chunk.Torn && !growing {
		found.Problems = append(found.Problems, chunk.Unsealed())
	}
	for _, g := range games {
		if _, ok := d.seen[g.ID]; ok {
			found.Duplicates++
			continue
		}
		d.seen[g.ID] = struct{}{}
		found.Games = append(found.Games, g)
	}
	return nil
}
