package lc0

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/chessbrain/chessbrain/record"
)

// maxChunkRecords bounds the positions of a chunk, and so the memory that a
// small file can ask for: 69 MB. lc0 cuts games at 450 plies.
const maxChunkRecords = 8192

// WriteChunk writes a game as Leela stores one: a gzip stream of the records
// of version 6 (AppendRecords). The bytes depend on the game alone. Nothing is written of a game
// without a row to train on.
func WriteChunk(w io.Writer, g *record.Game) error {
	return WriteChunkForm(w, g, Form{Version: v6Version})
}

// WriteChunkForm is WriteChunk in a version and input format of choice.
func WriteChunkForm(w io.Writer, g *record.Game, form Form) error {
	raw, err := AppendRecords(nil, g, form)
	if err != nil || len(raw) == 0 {
		return err
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return fmt.Errorf("write Leela chunk: %w", err)
	}
	_, err = z.Write(raw)
	if err := errors.Join(err, z.Close()); err != nil {
		return fmt.Errorf("write Leela chunk: %w", err)
	}
	return nil
}

// DecodeRecords reads a chunk's inflated bytes: records of any version. A record
// has 8.4 KB in memory, as on disk. Errors wrap ErrCorruptRecord and name the
// record, counted from 0; a change of the version within the chunk is one. The
// records before the bad one come with the error.
func DecodeRecords(raw []byte) ([]Record, error) {
	var c chunkReader
	err := c.decode(raw)
	return c.records, err
}

// chunkReader gathers the records of a chunk.
type chunkReader struct {
	records []Record
	scans   []policyScan // one of each record
}

// decode adds the records of a chunk's inflated bytes; those before a bad one
// come with the error.
func (c *chunkReader) decode(raw []byte) error {
	if size, err := c.sizeOf(raw); err == nil {
		n := min(len(raw)/size, maxChunkRecords)
		c.records, c.scans = slices.Grow(c.records, n), slices.Grow(c.scans, n)
	}
	for len(raw) > 0 {
		size, err := c.sizeOf(raw)
		if err == nil && len(raw) < size {
			err = recordError("the chunk ends after %d of %d bytes of a record", len(raw), size)
		}
		if err == nil {
			err = c.add(raw[:size])
		}
		if err != nil {
			return fmt.Errorf("read Leela chunk: record %d: %w", len(c.records), err)
		}
		raw = raw[size:]
	}
	return nil
}

// sizeOf returns the length of the next record, which must have the version of
// those before it.
func (c *chunkReader) sizeOf(head []byte) (int, error) {
	size, err := sizeAt(head)
	if err == nil && len(c.records) > 0 {
		if v := binary.LittleEndian.Uint32(head); v != c.records[0].Version {
			err = recordError("version is %d, that of the records before it %d", v, c.records[0].Version)
		}
	}
	return size, err
}

func (c *chunkReader) add(b []byte) error {
	n := len(c.records)
	if n == maxChunkRecords {
		return recordError("more than %d records", maxChunkRecords)
	}
	// A new Record need not be empty: decode writes all of it.
	c.records = slices.Grow(c.records, 1)[:n+1]
	scan, err := c.records[n].decode(b)
	if err == nil && c.records[n].InputFormat != c.records[0].InputFormat {
		err = recordError("input_format is %d, that of the records before it %d", c.records[n].InputFormat, c.records[0].InputFormat)
	}
	if err != nil {
		c.records = c.records[:n]
		return err
	}
	c.scans = append(c.scans, scan)
	return nil
}

func isGzip(head []byte) bool { return len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b }

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
