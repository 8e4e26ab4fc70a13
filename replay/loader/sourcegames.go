package loader

import (
	"fmt"

	"github.com/chessbrain/chessbrain/replay"
)

// gamesSource is a file of our own games (*.games).
type gamesSource struct {
	key   string
	index *replay.GameIndex
}

// openGames opens a file of our own games. A damaged stretch of it is an
// error: the games around it can be had with `chessbrain verify`, but a file
// that has changed after it was sealed is not to be trusted in training.
func openGames(r *chunkSourceReader, f File) (Source, error) {
	index, err := replay.OpenGameIndex(r.options.FS, f.Path)
	if err != nil {
		return nil, err
	}
	return &gamesSource{f.Key, index}, nil
}

func (s *gamesSource) Key() string { return s.key }
func (s *gamesSource) Len() int    { return s.index.Len() }

func (s *gamesSource) Game(i int) (*Game, error) {
	rec, err := s.index.Game(i)
	if err != nil {
		return nil, fmt.Errorf("chunk %d: %w", i, err)
	}
	return &Game{Key: ChunkHash(s.key, i), Source: s.key, Index: i, Rec: rec}, nil
}
