package loader

import (
	"fmt"

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
	return &leelaSource{f.Key, file, r.shortTerm}, nil
}

func (s *leelaSource) Key() string { return s.key }
func (s *leelaSource) Len() int    { return s.file.Len() }

// NumPositions is not known before all is inflated.
func (s *leelaSource) NumPositions() int { return -1 }

func (s *leelaSource) Game(i int) (*Game, error) {
	raw, err := s.file.Chunk(i)
	if err != nil {
		return nil, fmt.Errorf("chunk %d (%s): %w", i, s.file.Name(i), err)
	}
	return &Game{Key: ChunkHash(s.key, i), Source: s.key, Index: i, Packed: NewLeelaChunk(raw, s.shortTerm)}, nil
}
