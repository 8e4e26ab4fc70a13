package lc0

import (
	"bufio"
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
// of AppendV6. The bytes depend on the game alone. Nothing is written of a game
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
	if _, err := z.Write(raw); err != nil {
		return fmt.Errorf("write Leela chunk: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("write Leela chunk: %w", err)
	}
	return nil
}

// ReadRecords reads a chunk of records of any version, gzipped or not, to its
// end. A record has 8.4 KB in memory, as on disk. Errors name the record,
// counted from 0; those about the bytes, a change of the version within the
// chunk among them, wrap ErrCorruptRecord, others are the reader's. The records
// before the bad one come with the error.
func ReadRecords(r io.Reader) ([]Record, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	src := io.Reader(br)
	if head, _ := br.Peek(2); isGzip(head) {
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, chunkError(0, err)
		}
		src = z
	}
	var c chunkReader
	buf := make([]byte, V7Size)
	for {
		n, err := io.ReadFull(src, buf[:4])
		if err == io.EOF {
			return c.records, nil
		}
		size := 0
		if err == nil {
			if size, err = c.sizeOf(buf); err == nil {
				n, err = io.ReadFull(src, buf[4:size])
				n += 4
			}
		}
		if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
			err = recordError("the chunk ends after %d of %d bytes of a record", n, max(size, 4))
		}
		if err == nil {
			err = c.add(buf[:size])
		}
		if err != nil {
			return c.records, chunkError(len(c.records), err)
		}
	}
}

// DecodeRecords is ReadRecords of a chunk's inflated bytes.
func DecodeRecords(raw []byte) ([]Record, error) { return DecodeInto(nil, raw) }

// DecodeInto is DecodeRecords into the memory of dst, whose records are lost.
func DecodeInto(dst []Record, raw []byte) ([]Record, error) {
	c := chunkReader{records: dst[:0]}
	err := c.decode(raw)
	return c.records, err
}

// ReadV6 is ReadRecords of a chunk of version 6 alone.
func ReadV6(r io.Reader) ([]V6, error) {
	records, err := ReadRecords(r)
	if len(records) > 0 && records[0].Version != v6Version {
		return nil, chunkError(0, recordError("version is %d, want %d", records[0].Version, v6Version))
	}
	return records, err
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
			return chunkError(len(c.records), err)
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

// chunkError names the record; what gzip says of damaged data is damage of the
// records.
func chunkError(at int, err error) error {
	if damaged := gzipError(err); errors.Is(damaged, ErrCorrupt) {
		err = fmt.Errorf("%w: %w", ErrCorruptRecord, err)
	}
	return fmt.Errorf("read Leela chunk: record %d: %w", at, err)
}
