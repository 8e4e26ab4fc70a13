package api

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/chessbrain/chessbrain/record"
)

// spool holds games on disk in the order in which they came, for a stage that may
// go through them more than once: a window does not fit into memory. Each game is
// its length, 4 bytes little-endian, and its bytes of package record.
type spool struct {
	file *os.File
	w    *bufio.Writer
	buf  []byte
	size int64
}

// newSpool makes an empty one in the temporary directory.
func newSpool() (*spool, error) {
	file, err := os.CreateTemp("", "chessbrain-games-")
	if err != nil {
		return nil, err
	}
	return &spool{file: file, w: bufio.NewWriterSize(file, 1<<18)}, nil
}

// add appends a game, which must be valid.
func (s *spool) add(g *record.Game) error {
	buf, err := record.Append(append(s.buf[:0], 0, 0, 0, 0), g)
	if err != nil {
		return err
	}
	s.buf = buf
	binary.LittleEndian.PutUint32(buf, uint32(len(buf)-4))
	n, err := s.w.Write(buf)
	s.size += int64(n)
	return err
}

// finish is called after the last add.
func (s *spool) finish() error { return s.w.Flush() }

// all yields the games, after finish. Any number of times, also at a time.
func (s *spool) all(yield func(*record.Game, error) bool) {
	r := bufio.NewReaderSize(io.NewSectionReader(s.file, 0, s.size), 1<<18)
	var size [4]byte
	for {
		if _, err := io.ReadFull(r, size[:]); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			yield(nil, fmt.Errorf("read games: %w", err))
			return
		}
		buf := make([]byte, binary.LittleEndian.Uint32(size[:])) // a game may alias its bytes
		if _, err := io.ReadFull(r, buf); err != nil {
			yield(nil, fmt.Errorf("read games: %w", err))
			return
		}
		g, _, err := record.Decode(buf)
		if !yield(g, err) || err != nil {
			return
		}
	}
}

// close removes it.
func (s *spool) close() {
	s.file.Close()
	os.Remove(s.file.Name())
}
