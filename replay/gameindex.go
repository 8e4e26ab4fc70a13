package replay

import (
	"errors"
	"fmt"
	"os"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
)

// GameIndex reads single games of a sealed chunk file. It holds no open file.
// Safe for concurrent use.
type GameIndex struct {
	fsys      fsx.FS
	path      string
	games     []gamePlace
	positions int
}

// gamePlace says where in the file a game lies.
type gamePlace struct {
	offset int64
	size   int32
	plies  int32
}

// OpenGameIndex reads a sealed chunk file once, checks all of it, and notes where its
// games lie. A file that is damaged anywhere, or has no footer, is refused
// (*CorruptError, *VersionError): it is not as it was written.
func OpenGameIndex(fsys fsx.FS, path string) (*GameIndex, error) {
	data, err := readFrom(fsys, path, 0)
	if err != nil {
		return nil, fmt.Errorf("read chunk: %w", err)
	}
	info := ChunkInfo{Path: path, Bytes: int64(len(data))}
	from, err := info.header(data)
	if err != nil {
		return nil, err
	}
	if len(info.Damage) > 0 {
		return nil, info.Damage[0]
	}
	if from < 0 {
		return nil, &CorruptError{Path: path, Length: info.Bytes, Reason: "header is cut off"}
	}
	x := &GameIndex{fsys: fsys, path: path}
	s := scanned{next: int64(from)}
	for s.footer == nil {
		rest := data[s.next:]
		if f, ok := parseFooter(rest, s.next); ok {
			s.footer = &f
			break
		}
		size, reason := x.addBlock(rest, s.next)
		if reason != "" {
			return nil, &CorruptError{Path: path, Offset: s.next, Length: int64(len(rest)), Reason: reason}
		}
		s.blocks++
		s.next += int64(size)
	}
	s.positions, s.games = x.positions, make([]*record.Game, len(x.games))
	if s.next+footerSize != info.Bytes {
		return nil, &CorruptError{Path: path, Offset: s.next + footerSize, Length: info.Bytes - s.next - footerSize, Reason: "bytes after the footer"}
	}
	s.next += footerSize
	if info.checkFooter(s, data); len(info.Damage) > 0 {
		info.Damage[0].Path = path
		return nil, info.Damage[0]
	}
	return x, nil
}

// addBlock notes the games of the block at the start of data, which stands at
// the given offset, and returns its length, or what is wrong with it.
func (x *GameIndex) addBlock(data []byte, offset int64) (size int, reason string) {
	h, ok := parseBlockHeader(data, offset)
	if !ok {
		return 0, "no valid block header"
	}
	if size = blockHeaderSize + h.payload; size > len(data) {
		return 0, "block is cut off"
	}
	payload := data[blockHeaderSize:size]
	if payloadSum(payload) != h.sum {
		return 0, "block checksum differs"
	}
	games, positions := len(x.games), x.positions
	for at := 0; at < len(payload); {
		_, plies, n, err := record.DecodeHeader(payload[at:])
		if err != nil {
			return 0, fmt.Sprintf("game %d of the block: %v", len(x.games)-games, err)
		}
		x.games = append(x.games, gamePlace{offset + blockHeaderSize + int64(at), int32(n), int32(plies)})
		x.positions += plies
		at += n
	}
	if len(x.games)-games != h.games || x.positions-positions != h.positions {
		return 0, "block has other numbers of games and positions than its header says"
	}
	return size, ""
}

// Len returns the number of games.
func (x *GameIndex) Len() int { return len(x.games) }

// NumPositions returns the number of positions of all games.
func (x *GameIndex) NumPositions() int { return x.positions }

// Plies returns the number of positions of game i.
func (x *GameIndex) Plies(i int) int { return int(x.games[i].plies) }

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
	for have := 0; have < len(data); {
		n, err := f.ReadAt(data[have:], p.offset+int64(have))
		if have += n; err != nil && have < len(data) {
			return nil, fmt.Errorf("read game at byte %d of %s: %w", p.offset, x.path, err)
		}
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
