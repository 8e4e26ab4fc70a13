package lc0

import "github.com/chessbrain/chessbrain/record"

// GameReader makes games of chunks as DecodeRecords and Game do. It keeps its
// memory, some 8.4 KB for each record of the longest chunk so far, which is most
// of what that costs. The zero value is ready. One goroutine at a time.
type GameReader struct{ chunk chunkReader }

// Game returns the game of a chunk's inflated bytes, which it does not keep.
// Errors are those of DecodeRecords and of Game.
func (r *GameReader) Game(raw []byte) (*record.Game, error) {
	c := &r.chunk
	c.records, c.scans = c.records[:0], c.scans[:0]
	if err := c.decode(raw); err != nil {
		return nil, err
	}
	return gameOf(c.records, c.scans)
}

// Room returns the number of records that r keeps memory for.
func (r *GameReader) Room() int { return cap(r.chunk.records) }
