package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// DirSource finds the games that other processes write below a directory, in
// sealed and in growing chunks, each once (by id). It polls: that also works
// where a network file system sends no events. Used by one goroutine.
type DirSource struct {
	fsys  fsx.FS
	dir   string
	files map[string]*fileCursor // by path without suffix: a chunk keeps its cursor when it is sealed
	seen  map[[16]byte]struct{}
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
	stem, growing := strings.CutSuffix(path, GrowingSuffix)
	if !growing {
		stem = strings.TrimSuffix(path, SealedSuffix)
	}
	c := d.files[stem]
	if c == nil {
		c = &fileCursor{}
		d.files[stem] = c
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
	data, err := readFrom(d.fsys, path, c.offset)
	if err != nil {
		return err
	}
	if c.offset == 0 {
		return d.readWhole(path, data, growing, c, found)
	}
	s := scanBlocks(data, c.offset)
	d.take(path, s.games, s.damage, found)
	c.offset = s.next
	c.done = s.footer != nil || !growing
	if c.done && s.footer == nil {
		found.Problems = append(found.Problems, &CorruptError{Path: path, Offset: s.next,
			Length: info.Size() - s.next, Reason: "sealed chunk without a footer"})
	}
	return nil
}

// readWhole reads a chunk from its beginning.
func (d *DirSource) readWhole(path string, data []byte, growing bool, c *fileCursor, found *Found) error {
	if _, short, _ := parseHeader(data); short && growing {
		return nil
	}
	games, info, err := DecodeChunk(path, data)
	if err != nil {
		c.done = true // an unknown version does not become known
		return err
	}
	d.take(path, games, info.Damage, found)
	if growing {
		c.offset = info.Bytes - info.Lost
		c.done = !info.Torn || c.offset == 0 // whole, or no chunk at all (reported)
		return nil
	}
	c.done = true
	if info.Torn {
		found.Problems = append(found.Problems, &CorruptError{Path: path, Offset: info.Bytes - info.Lost, Length: info.Lost,
			Reason: "sealed chunk without a footer"})
	}
	return nil
}

// take sorts games into new and known ones.
func (d *DirSource) take(path string, games []*record.Game, damage []*CorruptError, found *Found) {
	for _, e := range damage {
		e.Path = path
		found.Problems = append(found.Problems, e)
	}
	for _, g := range games {
		if _, ok := d.seen[g.ID]; ok {
			found.Duplicates++
			continue
		}
		d.seen[g.ID] = struct{}{}
		found.Games = append(found.Games, g)
	}
}

// Run polls at once and then at each interval until ctx ends or fn fails, and
// calls fn when there is something new. It returns fn's error or ctx's.
func (d *DirSource) Run(ctx context.Context, interval time.Duration, fn func(Found) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		found, err := d.Poll(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			found.Problems = append(found.Problems, err)
		}
		if len(found.Games)+len(found.Problems)+found.Duplicates > 0 {
			if err := fn(found); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

const dirSourceVersion = 1

// Section is the set of games seen: number u64, ids of 16 bytes. After Load the
// chunks are read again, and only games not seen then are new.
func (d *DirSource) Section() stage.Section {
	return stage.Section{Name: "dir_source", Version: dirSourceVersion, Save: d.save, Load: d.load}
}

func (d *DirSource) save(w io.Writer) error {
	data := le.AppendUint64(make([]byte, 0, 8+16*len(d.seen)), uint64(len(d.seen)))
	for _, id := range sortedIDs(d.seen) {
		data = append(data, id[:]...)
	}
	_, err := w.Write(data)
	return err
}

func (d *DirSource) load(r io.Reader, version int) error {
	if version != dirSourceVersion {
		return fmt.Errorf("dir_source section has version %d, this program reads %d", version, dirSourceVersion)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("dir_source section: %w", err)
	}
	if len(data) < 8 || uint64(len(data)-8)/16 != le.Uint64(data) || (len(data)-8)%16 != 0 {
		return fmt.Errorf("dir_source section of %d bytes is damaged", len(data))
	}
	seen := make(map[[16]byte]struct{}, len(data)/16)
	for data = data[8:]; len(data) > 0; data = data[16:] {
		seen[[16]byte(data)] = struct{}{}
	}
	d.seen, d.files = seen, map[string]*fileCursor{}
	return nil
}
