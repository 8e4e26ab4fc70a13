package replay

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
)

// GameIndex reads single games of a sealed chunk file. It holds no open file.
// Safe for concurrent use.
type GameIndex struct {
	fsys  fsx.FS
	path  string
	games []gamePlace
}

// gamePlace says where in the file a game lies.
type gamePlace struct {
	offset int64
	size   int
}

// locateGame is the readGame of places.
func locateGame(src []byte, offset int64) (place gamePlace, plies, size int, err error) {
	_, plies, size, err = record.DecodeHeader(src)
	return gamePlace{offset, size}, plies, size, err
}

// OpenGameIndex reads a sealed chunk file once, checks all of it, and notes where its
// games lie. A file that is damaged anywhere, or has no footer, is refused
// (*CorruptError, *VersionError): it is not as it was written.
func OpenGameIndex(fsys fsx.FS, path string) (*GameIndex, error) {
	data, err := readFrom(fsys, path, 0)
	if err != nil {
		return nil, fmt.Errorf("read chunk: %w", err)
	}
	games, info, err := readGames(path, data, locateGame)
	switch {
	case err != nil:
		return nil, err
	case len(info.Damage) > 0:
		return nil, info.Damage[0]
	case info.Torn:
		torn := info.Unsealed()
		torn.Reason = cmp.Or(info.tail, torn.Reason)
		return nil, torn
	}
	return &GameIndex{fsys, path, games}, nil
}

// Len returns the number of games.
func (x *GameIndex) Len() int { return len(x.games) }

// Game reads game i from the file. It is valid. A *CorruptError says that the
// bytes there are no longer those of a game.
func (x *GameIndex) Game(i int) (*record.Game, error) {
	p := x.games[i]
	f, err := x.fsys.OpenFile(x.path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("read game: %w", err)
	}
	defer f.Close()
	data := make([]byte, p.size)
	if n, err := f.ReadAt(data, p.offset); n < len(data) {
		return nil, fmt.Errorf("read game at byte %d of %s: %w", p.offset, x.path, err)
	}
	g, n, err := record.Decode(data)
	if err == nil && n != len(data) {
		err = errors.New("it has another length")
	}
	if err != nil {
		return nil, &CorruptError{Path: x.path, Offset: p.offset, Length: int64(p.size), Reason: fmt.Sprintf("game %d: %v", i, err)}
	}
	return g, nil
}
