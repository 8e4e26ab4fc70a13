package lc0

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// ErrNoSource says that a file is neither a chunk nor a tar of chunks.
var ErrNoSource = errors.New("neither a Leela chunk (.gz) nor a tar of chunks")

// Source is a file of chunks: one gzip stream (one chunk), or a tar of them
// (one chunk a member). It holds an index, and opens the file for each chunk
// anew, so that any number of sources may be there. Safe for concurrent use.
type Source struct {
	Path string        // given to OpenSource
	Bad  []MemberError // members of a tar that were left out

	size    int64
	modTime time.Time
	chunks  []member
}

// member is where a chunk lies.
type member struct {
	name   string
	offset int64
	size   int64
}

// MemberError is a member of a tar that is no chunk, or damaged.
type MemberError struct {
	Path   string // the file
	Name   string // the member; "" where its header is unreadable
	Offset int64  // of its header
	Err    error  // wraps ErrCorruptRecord
}

// Error names file, member and place.
func (e *MemberError) Error() string {
	return fmt.Sprintf("%s: %s at offset %d: %v", e.Path, cmp.Or(e.Name, "unreadable member"), e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *MemberError) Unwrap() error { return e.Err }

// OpenSource reads the index of a file; what the file is is told by its
// content. Errors:
// ErrNoSource, or the file system's.
func OpenSource(path string) (*Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open Leela chunks: %w", err)
	}
	if !info.Mode().IsRegular() { // a pipe would be waited for, without an end
		return nil, fmt.Errorf("open Leela chunks: %s: %w: not a regular file", path, ErrNoSource)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open Leela chunks: %w", err)
	}
	defer f.Close()
	s := &Source{Path: path, size: info.Size(), modTime: info.ModTime()}
	if err := s.index(f); err != nil {
		return nil, fmt.Errorf("open Leela chunks: %s: %w", path, err)
	}
	return s, nil
}

// index finds the chunks.
func (s *Source) index(f io.ReaderAt) error {
	head := make([]byte, min(s.size, tarBlock))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return err
	}
	if isChunk(head) {
		s.chunks = []member{{name: filepath.Base(s.Path), size: s.size}}
		return nil
	}
	if len(head) == 0 {
		return fmt.Errorf("%w: the file is empty", ErrNoSource)
	}
	if !isTar(head) {
		return fmt.Errorf("%w: it begins with % x", ErrNoSource, head[:min(len(head), 8)])
	}
	t := tarReader{file: f, source: s}
	return t.scan()
}

// isChunk says whether bytes begin as a chunk does: gzip, or a bare record.
func isChunk(head []byte) bool {
	_, err := sizeAt(head)
	return isGzip(head) || err == nil
}

// Len returns the number of chunks.
func (s *Source) Len() int { return len(s.chunks) }

// Name returns the name of chunk i: the member's, or the file's.
func (s *Source) Name(i int) string { return s.chunks[i].name }

// Chunk returns the bytes of the records of chunk i, inflated; DecodeRecords
// reads them. An error about them, wrapping ErrCorruptRecord, is of this chunk
// only. A file that has changed since OpenSource is an error too.
func (s *Source) Chunk(i int) ([]byte, error) { return s.AppendChunk(nil, i) }

// AppendChunk is Chunk into the caller's memory.
func (s *Source) AppendChunk(dst []byte, i int) ([]byte, error) {
	from := len(dst)
	out, err := s.read(dst, i)
	if err == nil {
		err = checkWhole(out[from:])
	}
	if err != nil {
		return dst, fmt.Errorf("read Leela chunk: %s: %s: %w", s.Path, s.chunks[i].name, err)
	}
	return out, nil
}

// checkWhole checks that the bytes are whole records of the first one's version.
func checkWhole(raw []byte) error {
	if len(raw) == 0 {
		return recordError("no record")
	}
	size, err := sizeAt(raw)
	if err != nil {
		return err
	}
	if len(raw)%size != 0 {
		return recordError("%d bytes are not records of %d", len(raw), size)
	}
	return nil
}

func (s *Source) read(dst []byte, i int) ([]byte, error) {
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	if err := s.load(buf, i); err != nil {
		return dst, err
	}
	data, limit := buf.Bytes(), maxChunkRecords*V7Size
	if !isGzip(data) {
		return append(dst, data...), nil
	}
	return inflate(dst, data, limit)
}

// Packed returns the bytes of chunk i as they lie in the file, unchecked.
func (s *Source) Packed(i int) ([]byte, error) {
	var buf bytes.Buffer
	if err := s.load(&buf, i); err != nil {
		return nil, fmt.Errorf("read Leela chunk: %s: %s: %w", s.Path, s.chunks[i].name, err)
	}
	return buf.Bytes(), nil
}

// load reads the bytes of chunk i.
func (s *Source) load(buf *bytes.Buffer, i int) error {
	m := s.chunks[i]
	if m.size > maxChunkRecords*V7Size {
		return recordError("%d bytes, a chunk has at most %d", m.size, maxChunkRecords*V7Size)
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != s.size || !info.ModTime().Equal(s.modTime) {
		return errors.New("the file has changed since it was indexed: open it again")
	}
	n, err := buf.ReadFrom(io.NewSectionReader(f, m.offset, m.size))
	if err == nil && n < m.size {
		err = recordError("the file ends after %d of %d bytes", n, m.size)
	}
	return err
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// inflaters holds idle readers: a new one costs 40 KB.
var inflaters = sync.Pool{New: func() any { return new(gzip.Reader) }}

// inflate appends the inflated bytes of a gzip stream to dst, at most limit of
// them: where there are more it returns ErrCorruptRecord.
func inflate(dst, compressed []byte, limit int) ([]byte, error) {
	z := inflaters.Get().(*gzip.Reader)
	defer inflaters.Put(z)
	if err := z.Reset(bytes.NewReader(compressed)); err != nil {
		return dst, damaged(err)
	}
	from := len(dst)
	// The last four bytes tell the length, if they are true; deflate cannot
	// shrink by more than 1032.
	told := int(binary.LittleEndian.Uint32(compressed[max(len(compressed)-4, 0):][:min(4, len(compressed))]))
	dst = slices.Grow(dst, min(told, limit, 1032*len(compressed))+1)
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, max(len(dst)-from, V7Size))
		}
		n, err := z.Read(dst[len(dst):min(cap(dst), from+limit+1)])
		dst = dst[:len(dst)+n]
		if len(dst)-from > limit {
			return dst[:from], recordError("more than %d bytes", limit)
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst[:from], damaged(err)
		}
	}
}

// damaged marks what gzip says of damaged data.
func damaged(err error) error {
	if errors.Is(gzipError(err), ErrCorrupt) {
		return fmt.Errorf("%w: %w", ErrCorruptRecord, err)
	}
	return err
}
