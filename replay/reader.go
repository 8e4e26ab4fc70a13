package replay

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
)

// ChunkInfo says what a chunk file holds and what is wrong with it.
type ChunkInfo struct {
	Path         string
	NetID, RunID string // empty where the header is damaged
	Bytes        int64
	Blocks       int // whole ones
	Games        int // in whole blocks
	Positions    int

	// Torn: there is no footer, as in a file that is still written or whose
	// writer was killed. Lost bytes at its end hold no whole block; what they
	// were meant to hold was never acknowledged.
	Torn bool
	Lost int64

	// Damage lists stretches that are not as they were written.
	Damage []*CorruptError

	tail string // what is wrong with the lost bytes
}

// Unsealed is the damage of a file that is called sealed, and is torn.
func (info *ChunkInfo) Unsealed() *CorruptError {
	return &CorruptError{Path: info.Path, Offset: info.Bytes - info.Lost, Length: info.Lost,
		Reason: "sealed chunk without a footer"}
}

// ReadChunk reads the games of a chunk file, sealed, growing or torn, in the
// order of writing. A growing one that is not there any more was sealed: it is read
// under its final name, which the info has. Damage costs the block that it hits and
// stands in the info, not in the error: that is for a file that cannot be read at all,
// or is of an unknown version (*VersionError).
func ReadChunk(fsys fsx.FS, path string) ([]*record.Game, ChunkInfo, error) {
	return ReadPrefix(fsys, path, -1)
}

// ReadPrefix is ReadChunk of the first n bytes of a file, of all where n is -1. A
// shorter file is io.EOF.
func ReadPrefix(fsys fsx.FS, path string, n int64) ([]*record.Game, ChunkInfo, error) {
	data, err := ReadPart(fsys, path, 0, n)
	if sealed := SealedName(path); sealed != path && errors.Is(err, fs.ErrNotExist) {
		path = sealed
		data, err = ReadPart(fsys, path, 0, n)
	}
	if err != nil {
		return nil, ChunkInfo{Path: path}, fmt.Errorf("read chunk: %w", err)
	}
	return DecodeChunk(path, data)
}

// DecodeChunk is ReadChunk of the file's bytes; path is for messages.
func DecodeChunk(path string, data []byte) ([]*record.Game, ChunkInfo, error) {
	return readGames(path, data, 0, decodeGame)
}

// readGames reads a chunk's games in the form that read gives them. data begins at offset
// base, where a block does if that is not the file's beginning.
func readGames[T any](path string, data []byte, base int64, read readGame[T]) ([]T, ChunkInfo, error) {
	info := ChunkInfo{Path: path, Bytes: base + int64(len(data)), Torn: true}
	from := 0
	if base == 0 {
		var err error
		if from, err = info.header(data); err != nil || from < 0 {
			return nil, info, err
		}
	}
	games, next, end := scanBlocks(&info, data[from:], base+int64(from), read)
	if end == nil {
		info.Lost = info.Bytes - next
	} else if info.Torn = false; base == 0 { // its hash is of the whole file
		info.checkFooter(end, data[:next-footerSize])
	}
	return games, info, nil
}

// damaged notes a stretch that is not as it was written.
func (info *ChunkInfo) damaged(offset, length int64, reason string) {
	info.Damage = append(info.Damage, &CorruptError{Path: info.Path, Offset: offset, Length: length, Reason: reason})
}

// header reads the file header and returns where the blocks begin, -1 if there
// are none. Behind a damaged header blocks are looked for.
func (info *ChunkInfo) header(data []byte) (int, error) {
	h, short, reason := parseHeader(data)
	if reason == "" {
		if h.version != chunkVersion {
			return -1, &VersionError{Path: info.Path, Version: h.version}
		}
		info.NetID, info.RunID = h.netID, h.runID
		return h.size, nil
	}
	if skip := resync(data, 0, 0); skip > 0 {
		info.damaged(0, int64(skip), reason)
		return skip, nil
	}
	info.Lost, info.tail = int64(len(data)), reason
	if !short {
		info.damaged(0, info.Lost, reason)
	}
	return -1, nil
}

// checkFooter compares what was found, in the bytes before the footer, with what that
// counts.
func (info *ChunkInfo) checkFooter(f *footer, data []byte) {
	if len(info.Damage) > 0 {
		return // reported already, and the sum differs because of it
	}
	switch end := int64(len(data)); {
	case sha256.Sum256(data) != f.sum:
		info.damaged(0, end, "the file's hash differs from its footer")
	case f.blocks != int64(info.Blocks), f.games != int64(info.Games), f.positions != int64(info.Positions):
		info.damaged(end, footerSize, fmt.Sprintf("the footer counts %d blocks, %d games, %d positions; there are %d, %d, %d",
			f.blocks, f.games, f.positions, info.Blocks, info.Games, info.Positions))
	}
}

// ReadPart returns n bytes of a file from offset on, up to its end where n is -1.
func ReadPart(fsys fsx.FS, path string, offset, n int64) ([]byte, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if n < 0 {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		n = max(info.Size()-offset, 0)
	}
	if n > maxChunk {
		return nil, fmt.Errorf("%s has %d bytes, at most %d are read", path, n, maxChunk)
	}
	data := make([]byte, n)
	if have, err := f.ReadAt(data, offset); have < len(data) {
		return nil, fmt.Errorf("%s: %d of %d bytes: %w", path, have, n, err)
	}
	return data, nil
}

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
	data, err := ReadPart(fsys, path, 0, -1)
	if err != nil {
		return nil, fmt.Errorf("read chunk: %w", err)
	}
	games, info, err := readGames(path, data, 0, locateGame)
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
	data, err := ReadPart(x.fsys, x.path, p.offset, int64(p.size))
	if err != nil {
		return nil, fmt.Errorf("read game at byte %d: %w", p.offset, err)
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
