package replay

import (
	"bytes"
	"fmt"

	"github.com/chessbrain/chessbrain/record"
)

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
// block or the footer begins, to the file's end as it is now. What it finds is
// counted in info. next is the file offset after the last whole block, or damaged
// stretch before one, or footer. There may be no footer.
func scanBlocks[T any](info *ChunkInfo, data []byte, base int64, read readGame[T]) (games []T, next int64, end *footer) {
	pos := 0
	for pos < len(data) {
		rest, offset := data[pos:], base+int64(pos)
		if f, ok := parseFooter(rest, offset); ok {
			next = offset + footerSize
			if extra := int64(len(rest) - footerSize); extra > 0 {
				info.damaged(next, extra, "bytes after the footer")
				next += extra
			}
			return games, next, &f
		}
		some, positions, size, reason := readBlock(rest, offset, read)
		if reason == "" {
			games = append(games, some...)
			info.Games += len(some)
			info.Blocks++
			info.Positions += positions
		} else if size = resync(rest, offset, size); size < 0 {
			info.tail = reason
			return games, offset, nil
		} else {
			info.damaged(offset, int64(size), reason)
		}
		pos += size
	}
	return games, base + int64(pos), nil
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
