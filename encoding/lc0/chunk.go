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
	var r GameReader
	err := r.decode(raw)
	return r.records, err
}

// decode adds the records of a chunk's inflated bytes; those before a bad one
// come with the error.
func (r *GameReader) decode(raw []byte) error {
	if size, err := r.sizeOf(raw); err == nil {
		n := min(len(raw)/size, maxChunkRecords)
		r.records, r.scans = slices.Grow(r.records, n), slices.Grow(r.scans, n)
	}
	for len(raw) > 0 {
		size, err := r.sizeOf(raw)
		if err == nil && len(raw) < size {
			err = recordError("the chunk ends after %d of %d bytes of a record", len(raw), size)
		}
		if err == nil {
			err = r.add(raw[:size])
		}
		if err != nil {
			return fmt.Errorf("read Leela chunk: record %d: %w", len(r.records), err)
		}
		raw = raw[size:]
	}
	return nil
}

// sizeOf returns the length of the next record, which must have the version of
// those before it.
func (r *GameReader) sizeOf(head []byte) (int, error) {
	size, err := sizeAt(head)
	if err == nil && len(r.records) > 0 {
		if v := binary.LittleEndian.Uint32(head); v != r.records[0].Version {
			err = recordError("version is %d, that of the records before it %d", v, r.records[0].Version)
		}
	}
	return size, err
}

func (r *GameReader) add(b []byte) error {
	n := len(r.records)
	if n == maxChunkRecords {
		return recordError("more than %d records", maxChunkRecords)
	}
	// A new Record need not be empty: decode writes all of it.
	r.records = slices.Grow(r.records, 1)[:n+1]
	scan, err := r.records[n].decode(b)
	if err == nil && r.records[n].InputFormat != r.records[0].InputFormat {
		err = recordError("input_format is %d, that of the records before it %d", r.records[n].InputFormat, r.records[0].InputFormat)
	}
	if err != nil {
		r.records = r.records[:n]
		return err
	}
	r.scans = append(r.scans, scan)
	return nil
}

func isGzip(head []byte) bool { return len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b }

// GameReader makes games of chunks as DecodeRecords and Game do. It keeps its
// memory, some 8.4 KB for each record of the longest chunk so far, which is most
// of what that costs. The zero value is ready. One goroutine at a time.
type GameReader struct {
	records []Record
	scans   []policyScan // one of each record
}

// Game returns the game of a chunk's inflated bytes, which it does not keep.
// Errors are those of DecodeRecords and of Game.
func (r *GameReader) Game(raw []byte) (*record.Game, error) {
	r.records, r.scans = r.records[:0], r.scans[:0]
	if err := r.decode(raw); err != nil {
		return nil, err
	}
	return gameOf(r.records, r.scans)
}

// Room returns the number of records that r keeps memory for.
func (r *GameReader) Room() int { return cap(r.records) }
