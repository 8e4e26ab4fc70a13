package shuffle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

// listChunks returns the game files below the directories (a layout of
// selfplay/<net>/<process>/*.games), newest first by time of last change, then
// path. A file below two of the directories counts once. A directory that is
// not there is an error.
func listChunks(fsys fsx.FS, dirs []string) ([]*chunk, error) {
	if err := checkInputs(fsys, dirs); err != nil {
		return nil, err
	}
	byPath := map[string]*chunk{}
	for _, dir := range dirs {
		paths, err := replay.ListChunks(fsys, filepath.Clean(dir))
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", dir, err)
		}
		for _, path := range paths {
			c, err := findChunk(fsys, path)
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", dir, err)
			}
			if c != nil {
				byPath[c.path] = c
			}
		}
	}
	return slices.SortedFunc(maps.Values(byPath), func(a, b *chunk) int {
		return cmp.Or(b.modified.Compare(a.modified), cmp.Compare(b.path, a.path))
	}), nil
}

// checkInputs refuses a directory that is not there.
func checkInputs(fsys fsx.FS, dirs []string) error {
	for _, dir := range dirs {
		if _, err := fsys.Stat(dir); err != nil {
			return fmt.Errorf("input directory: %w", err)
		}
	}
	return nil
}

// findChunk looks at a game file that was listed; nil if retention has removed it.
func findChunk(fsys fsx.FS, path string) (*chunk, error) {
	info, err := fsys.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		path = replay.SealedName(path) // sealed meanwhile
		info, err = fsys.Stat(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	net := filepath.Base(filepath.Dir(filepath.Dir(path)))
	return &chunk{path: path, modified: info.ModTime(), bytes: info.Size(), random: untrained.MatchString(net)}, nil
}

// countChunks fills in the games of each chunk, from the index where it knows
// the file, and returns the new index.
func countChunks(ctx context.Context, fsys fsx.FS, chunks []*chunk, old index, threads int) (index, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(threads)
	keys := make([]fileKey, len(chunks))
	for i, c := range chunks {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			keys[i] = keyOf(fsys, c)
			if games, ok := old[keys[i]]; ok {
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
	fresh := index{}
	for i, c := range chunks {
		if keys[i] != (fileKey{}) && len(c.problems) == 0 {
			fresh[keys[i]] = c.games
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
		c.problems = append(c.problems, info.Unsealed())
	}
	c.bytes = info.Bytes - info.Lost
	for _, g := range games {
		c.games = append(c.games, gameRows{g.ID, uint32(g.NumRows())})
	}
}

// read returns the games in the first n bytes of the chunk.
func (c *chunk) read(fsys fsx.FS, n int64) ([]*record.Game, replay.ChunkInfo, error) {
	games, info, err := replay.ReadPrefix(fsys, c.path, n)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", ErrInputChanged, err)
	}
	return games, info, err
}
