package lc0

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/chessbrain/chessbrain/record"
)

// maxChunkRecords bounds the positions of a chunk, and the memory that a small
// file can ask for.
const maxChunkRecords = 20000

// WriteChunk writes a game as Leela stores one: a gzip stream of the records
// of AppendV6. The bytes depend on the game alone. Nothing is written of a game
// without a row to train on.
func WriteChunk(w io.Writer, g *record.Game) error {
	raw, err := AppendV6(nil, g)
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

// ReadV6 reads a chunk of V6 records, gzipped or not, to its end. A record has
// 8.4 KB in memory, as on disk. Errors name the record, counted from 0; those
// about the bytes wrap ErrCorruptRecord, others are the reader's. The records
// before the bad one come with the error.
func ReadV6(r io.Reader) ([]V6, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	src := io.Reader(br)
	if head, _ := br.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, chunkError(0, err)
		}
		src = z
	}
	var records []V6
	buf := make([]byte, V6Size)
	for {
		n, err := io.ReadFull(src, buf)
		if err == io.EOF {
			return records, nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = recordError("the chunk ends after %d of %d bytes of a record", n, V6Size)
		}
		if err == nil && len(records) == maxChunkRecords {
			err = recordError("more than %d records", maxChunkRecords)
		}
		if err != nil {
			return records, chunkError(len(records), err)
		}
		records = append(records, V6{})
		if err := records[len(records)-1].Decode(buf); err != nil {
			return records[:len(records)-1], chunkError(len(records)-1, err)
		}
	}
}

// chunkError names the record; what gzip says of damaged data is damage of the
// records.
func chunkError(at int, err error) error {
	if damaged := gzipError(err); errors.Is(damaged, ErrCorrupt) {
		err = fmt.Errorf("%w: %w", ErrCorruptRecord, err)
	}
	return fmt.Errorf("read Leela chunk: record %d: %w", at, err)
}
