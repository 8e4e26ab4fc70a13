package chunks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// ErrInput says that an input holds no games, or is not there.
var ErrInput = errors.New("no games to read")

// Game is a game and where it was found.
type Game struct {
	Path  string // the file
	Name  string // of the chunk in it, "" in *.games
	Index int    // of the chunk in the file, or of the game
	Rec   *record.Game

	// Of Leela's chunks alone:
	Source  *lc0.Source  // nil in *.games
	Records []lc0.Record // all of one version and input format; nil in *.games
}

// where names the game in messages.
func (g *Game) where() string {
	if g.Name == "" || g.Name == filepath.Base(g.Path) {
		return g.Path
	}
	return g.Path + ": " + g.Name
}

// Walk calls fn for every game of inputs: files, or directories, of which all
// *.gz, *.tar, *.games and *.games.tmp are taken, in path order, names with a
// dot in front left out. Memory is that of a file of games, or of one chunk.
// problems are what could not be read. The error is fn's, ctx's, or wraps
// ErrInput.
func Walk(ctx context.Context, fsys fsx.FS, inputs []string, fn func(*Game) error) (problems []error, err error) {
	paths, err := list(fsys, inputs)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return problems, err
		}
		bad, n, game := open(fsys, path)
		problems = append(problems, bad...)
		for i := range n {
			if err := ctx.Err(); err != nil {
				return problems, err
			}
			g, err := game(i)
			if err != nil {
				problems = append(problems, err)
			} else if err := fn(g); err != nil {
				return problems, err
			}
		}
	}
	return problems, nil
}

// Window is a window of all games of a path. Problems and errors are Walk's.
func Window(ctx context.Context, fsys fsx.FS, path string) (w *replay.Window, problems []error, err error) {
	w = replay.NewWindow(math.MaxInt)
	problems, err = Walk(ctx, fsys, []string{path}, func(g *Game) error {
		w.Add(g.Rec)
		return nil
	})
	return w, problems, err
}

// list returns the files of inputs.
func list(fsys fsx.FS, inputs []string) (paths []string, err error) {
	for _, in := range inputs {
		info, err := fsys.Stat(in)
		files := []string{in}
		if err == nil && info.IsDir() {
			files, err = replay.ListFiles(fsys, in, hasGames)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInput, err)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%w: %s holds no *.gz, *.tar or *.games", ErrInput, in)
		}
		paths = append(paths, files...)
	}
	return paths, nil
}

func hasGames(base string) bool {
	return replay.IsChunk(base) || strings.HasSuffix(base, ".gz") || strings.HasSuffix(base, ".tar")
}

// open says what cannot be read of a file, how many games it has, and how to read one.
func open(fsys fsx.FS, path string) (bad []error, n int, game func(i int) (*Game, error)) {
	if strings.HasSuffix(replay.SealedName(path), replay.SealedSuffix) {
		games, info, err := replay.ReadChunk(fsys, path)
		if err != nil {
			bad = append(bad, err)
		}
		for _, d := range info.Damage {
			bad = append(bad, d)
		}
		return bad, len(games), func(i int) (*Game, error) { return &Game{Path: path, Index: i, Rec: games[i]}, nil }
	}
	src, err := lc0.OpenSource(path)
	if err != nil {
		return []error{err}, 0, nil
	}
	for _, member := range src.Bad {
		bad = append(bad, &member)
	}
	return bad, src.Len(), func(i int) (*Game, error) { return Read(src, i) }
}

// Read reads chunk i of a source.
func Read(src *lc0.Source, i int) (*Game, error) {
	raw, err := src.Chunk(i)
	if err != nil {
		return nil, err
	}
	g := &Game{Path: src.Path, Name: src.Name(i), Index: i, Source: src}
	if g.Records, err = lc0.DecodeRecords(raw); err == nil {
		g.Rec, err = lc0.Game(g.Records)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.where(), err)
	}
	return g, nil
}
