package loader

import (
	"fmt"
	"sync"

	"github.com/chessbrain/chessbrain/lc0"
)

// leelaSource is one of Leela's files: a .gz of one chunk, or a .tar of them.
type leelaSource struct {
	key       string
	file      *lc0.Source
	shortTerm float64
}

// openLeela opens one of Leela's files. Members of a tar that are no chunks are
// quarantined by themselves.
func openLeela(r *chunkSourceReader, f File) (Source, error) {
	file, err := lc0.OpenSource(f.Path)
	if err != nil {
		return nil, err
	}
	for _, m := range file.Bad() {
		r.badMembers.Add(1)
		r.quarantine.Add(fmt.Sprintf("%s[%s at byte %d]", f.Key, m.Name, m.Offset), &m)
	}
	if file.Len() == 0 && len(file.Bad()) > 0 {
		return nil, fmt.Errorf("%s: no chunk of it can be used: %w", f.Path, &file.Bad()[0])
	}
	return &leelaSource{f.Key, file, r.options.ShortTerm}, nil
}

func (s *leelaSource) Key() string { return s.key }
func (s *leelaSource) Len() int    { return s.file.Len() }

func (s *leelaSource) Game(i int) (*Game, error) {
	raw, err := s.read(i)
	if err != nil {
		return nil, err
	}
	c := &LeelaChunk{raw: raw, shortTerm: s.shortTerm, source: s, index: i}
	return &Game{Key: ChunkHash(s.key, i), Source: s.key, Index: i, Packed: c}, nil
}

// read returns the inflated records of chunk i, in memory that putRaw may have
// back.
func (s *leelaSource) read(i int) ([]byte, error) {
	b := rawBuffers.Get().(*[]byte)
	raw, err := s.file.AppendChunk((*b)[:0], i)
	if err != nil {
		rawBuffers.Put(b)
		return nil, fmt.Errorf("chunk %d (%s): %w", i, s.file.Name(i), err)
	}
	return raw, nil
}

// rawBuffers holds memory of inflated chunks that waits for use.
var rawBuffers = sync.Pool{New: func() any { return new([]byte) }}

// putRaw gives back what read returned.
func putRaw(raw []byte) {
	if cap(raw) <= mostRoom*lc0.V7Size {
		rawBuffers.Put(&raw)
	}
}
