package shuffle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// maxChunkBytes bounds the game files that are read.
const maxChunkBytes = 1 << 30

// gameRows is a game and its number of training rows.
type gameRows struct {
	id   [16]byte
	rows uint32
}

// chunk is one game file as it was found.
type chunk struct {
	path     string
	modified time.Time
	random   bool  // of the bootstrap net with random weights
	bytes    int64 // that hold whole blocks: what counts, also if the file grows
	games    []gameRows
	problems []error
}

func (c *chunk) growing() bool { return strings.HasSuffix(c.path, replay.GrowingSuffix) }

// untrained matches the directories of nets that never saw a sample: the
// bootstrap net, and <job>-<training>-s0-d<rows>.
var untrained = regexp.MustCompile(`^random$|-s0-d[0-9]+$`)

// isRow says whether a position is meant for training: it has a policy and a
// weight.
func isRow(p *record.Ply) bool { return p.Kind != record.PolicyNone && p.Weight > 0 }

// countRows counts the rows of a game.
func countRows(g *record.Game) (n uint32) {
	for i := range g.Plies {
		if isRow(&g.Plies[i]) {
			n++
		}
	}
	return n
}

// listChunks returns the game files below the directories (a layout of
// selfplay/<net>/<process>/*.games), newest first by time of last change, then
// path. A file below two of the directories counts once. A directory that is
// not there is an error.
func listChunks(fsys fsx.FS, dirs []string) ([]*chunk, error) {
	byPath := map[string]*chunk{}
	for _, dir := range dirs {
		if _, err := fsys.Stat(dir); err != nil {
			return nil, fmt.Errorf("input directory: %w", err)
		}
		if err := walkChunks(fsys, filepath.Clean(dir), byPath); err != nil {
			return nil, fmt.Errorf("list %s: %w", dir, err)
		}
	}
	chunks := make([]*chunk, 0, len(byPath))
	for _, c := range byPath {
		chunks = append(chunks, c)
	}
	slices.SortFunc(chunks, func(a, b *chunk) int {
		return cmp.Or(b.modified.Compare(a.modified), cmp.Compare(b.path, a.path))
	})
	return chunks, nil
}

func walkChunks(fsys fsx.FS, dir string, found map[string]*chunk) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			if err := walkChunks(fsys, name, found); err != nil {
				return err
			}
		case strings.HasSuffix(name, replay.SealedSuffix), strings.HasSuffix(name, replay.GrowingSuffix):
			info, err := fsys.Stat(name)
			if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(name, replay.GrowingSuffix) {
				name = strings.TrimSuffix(name, replay.GrowingSuffix) + replay.SealedSuffix // sealed meanwhile
				info, err = fsys.Stat(name)
			}
			if errors.Is(err, fs.ErrNotExist) {
				continue // retention has removed it
			}
			if err != nil {
				return err
			}
			net := filepath.Base(filepath.Dir(filepath.Dir(name)))
			found[name] = &chunk{path: name, modified: info.ModTime(), bytes: info.Size(), random: untrained.MatchString(net)}
		}
	}
	return nil
}

// countChunks fills in the games of each chunk, from the index where it knows
// the file, and returns the new index.
func countChunks(ctx context.Context, fsys fsx.FS, chunks []*chunk, old *index, threads int) (*index, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(threads)
	keys := make([]fileKey, len(chunks))
	for i, c := range chunks {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			keys[i] = keyOf(fsys, c)
			if games, ok := old.find(keys[i]); ok {
				c.games = games
				return nil
			}
			c.count(fsys)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	fresh := newIndex()
	for i, c := range chunks {
		if keys[i].known() && len(c.problems) == 0 {
			fresh.add(keys[i], c.games)
		}
	}
	return fresh, nil
}

// count reads the chunk. What cannot be read becomes a problem of this file and
// keeps no other back.
func (c *chunk) count(fsys fsx.FS) {
	games, info, err := c.read(fsys, c.bytes)
	if err != nil {
		c.bytes, c.problems = 0, []error{err}
		return
	}
	for _, d := range info.Damage {
		c.problems = append(c.problems, d)
	}
	if !c.growing() && info.Torn {
		c.problems = append(c.problems, &replay.CorruptError{Path: c.path, Offset: info.Bytes - info.Lost, Length: info.Lost,
			Reason: "sealed chunk without a footer"})
	}
	c.bytes = info.Bytes - info.Lost
	for _, g := range games {
		c.games = append(c.games, gameRows{g.ID, countRows(g)})
	}
}

// read returns the games in the first n bytes of the chunk. A growing one that
// is not there any more was sealed.
func (c *chunk) read(fsys fsx.FS, n int64) ([]*record.Game, replay.ChunkInfo, error) {
	data, err := readPrefix(fsys, c.path, n)
	if errors.Is(err, fs.ErrNotExist) && c.growing() {
		data, err = readPrefix(fsys, strings.TrimSuffix(c.path, replay.GrowingSuffix)+replay.SealedSuffix, n)
	}
	if err != nil {
		return nil, replay.ChunkInfo{}, fmt.Errorf("read games: %w", err)
	}
	return replay.DecodeChunk(c.path, data)
}

// readPrefix returns the first n bytes of a file.
func readPrefix(fsys fsx.FS, path string, n int64) ([]byte, error) {
	if n > maxChunkBytes {
		return nil, fmt.Errorf("%s has %d bytes, a game file has at most %d", path, n, int64(maxChunkBytes))
	}
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, n)
	for have := 0; have < len(data); {
		k, err := f.ReadAt(data[have:], int64(have))
		if have += k; err != nil && have < len(data) {
			return nil, fmt.Errorf("%s: %w: %d of %d bytes, %w", path, ErrInputChanged, have, n, err)
		}
	}
	return data, nil
}
