package replay

import (
	"bytes"
	"fmt"

	"github.com/chessbrain/chessbrain/record"
)

// scanned is what scanBlocks found in a stretch of a chunk file, games apart.
type scanned struct {
	games     int
	blocks    int
	positions int
	next      int64 // file offset after the last whole block (or damaged stretch before one, or footer)
	footer    *footer
	damage    []*CorruptError // without Path; each followed by a whole block, the footer or nothing else
	tail      string          // what is wrong with the bytes after next; "" if there are none
}

// readGame reads the game at the start of src, which stands at a file offset, and
// returns its plies and its bytes.
type readGame[T any] func(src []byte, offset int64) (game T, plies, size int, err error)

// decodeGame is the readGame of whole games.
func decodeGame(src []byte, _ int64) (g *record.Game, plies, size int, err error) {
	if g, size, err = record.Decode(src); err != nil {
		return nil, 0, 0, err
	}
	return g, len(g.Plies), size, nil
}

// scanBlocks reads data, a stretch of a chunk file from offset base, where a
// block or the footer begins, to the file's end as it is now.
func scanBlocks[T any](data []byte, base int64, read readGame[T]) (games []T, s scanned) {
	s.next = base
	for pos := 0; pos < len(data); {
		rest, offset := data[pos:], base+int64(pos)
		if f, ok := parseFooter(rest, offset); ok {
			s.footer = &f
			s.next = offset + footerSize
			if extra := len(rest) - footerSize; extra > 0 {
				s.damage = append(s.damage, &CorruptError{Offset: s.next, Length: int64(extra), Reason: "bytes after the footer"})
				s.next += int64(extra)
			}
			return games, s
		}
		some, positions, size, reason := readBlock(rest, offset, read)
		if reason == "" {
			games = append(games, some...)
			s.games += len(some)
			s.blocks++
			s.positions += positions
			pos += size
			s.next = base + int64(pos)
			continue
		}
		skip := resync(rest, offset, size)
		if skip < 0 {
			s.tail = reason
			return games, s
		}
		s.damage = append(s.damage, &CorruptError{Offset: offset, Length: int64(skip), Reason: reason})
		pos += skip
		s.next = base + int64(pos)
	}
	return games, s
}

// readBlock reads the block at the start of data, which stands at the given
// file offset. size is the block's length as its header says, 0 where the
// header is bad. reason is "" for a good block.
func readBlock[T any](data []byte, offset int64, read readGame[T]) (games []T, positions, size int, reason string) {
	h, ok := parseBlockHeader(data, offset)
	if !ok {
		if len(data) < blockHeaderSize {
			return nil, 0, 0, "block header is cut off"
		}
		return nil, 0, 0, "no valid block header"
	}
	size = blockHeaderSize + h.payload
	if len(data) < size {
		return nil, 0, size, fmt.Sprintf("block is cut off: %d of %d bytes are there", len(data), size)
	}
	if payloadSum(data[blockHeaderSize:size]) != h.sum {
		return nil, 0, size, "block checksum differs"
	}
	for at := blockHeaderSize; at < size; {
		g, plies, n, err := read(data[at:size], offset+int64(at))
		if err != nil {
			return nil, 0, size, fmt.Sprintf("game %d of the block: %v", len(games), err)
		}
		games = append(games, g)
		positions += plies
		at += n
	}
	if len(games) != h.games || positions != h.positions {
		return nil, 0, size, fmt.Sprintf("block has %d games and %d positions, its header says %d and %d",
			len(games), positions, h.games, h.positions)
	}
	return games, positions, size, ""
}

// resync returns how far after a bad block the next block header or footer
// that verifies begins, -1 if there is none. size is the bad block's length, if
// its header was good.
func resync(data []byte, offset int64, size int) int {
	if size > 0 && size < len(data) && startsPart(data[size:], offset+int64(size)) {
		return size
	}
	for pos := 1; pos < len(data); pos++ {
		k := bytes.IndexByte(data[pos:], blockMagic[0])
		if k < 0 {
			return -1
		}
		pos += k
		if startsPart(data[pos:], offset+int64(pos)) {
			return pos
		}
	}
	return -1
}

// startsPart says whether a verified block header or footer stands there.
func startsPart(data []byte, offset int64) bool {
	if _, ok := parseBlockHeader(data, offset); ok {
		return true
	}
	_, ok := parseFooter(data, offset)
	return ok
}
