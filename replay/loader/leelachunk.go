package loader

import (
	"errors"
	"fmt"
	"sync"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/record"
)

// LeelaChunk is a chunk as Leela's inflated records. Its rows are read straight
// from them where lc0.RowReader can, which is much cheaper than finding out the game;
// Record finds it out. Once the rows are made, or after Release, the records'
// memory serves the next chunk of a file; whoever wants them again pays for
// reading and inflating them again. It is Packed.
type LeelaChunk struct {
	shortTerm float64      // theta of encoding.TargetST
	source    *leelaSource // to read the chunk again; nil = raw stays
	index     int          // in source

	mu     sync.Mutex
	raw    []byte // nil = given back
	done   bool   // frames and err are known
	frames []Frame
	err    error
}

// leelaRows makes frames of Leela's records.
type leelaRows struct {
	reader lc0.RowReader
	packer packer
}

// frames appends the positions of a chunk, one game's inflated records, to dst.
// Errors are those of lc0.RowReader; dst then has the rows before it.
func (r *leelaRows) frames(dst []Frame, chunk []byte) ([]Frame, error) {
	err := r.reader.Rows(chunk, func(b *encoding.TrainBatch, visits uint32) error {
		f, err := r.packer.pack(b, 0, uint64(max(visits, 1))-1)
		if err != nil {
			return fmt.Errorf("%w: %w", lc0.ErrCorruptRecord, err)
		}
		dst = append(dst, f)
		return nil
	})
	return dst, err
}

// idleRows wait for use.
var idleRows = sync.Pool{New: func() any { return new(leelaRows) }}

// Frames returns all positions meant for training. An error says which record
// is bad. The slice is shared and must not be changed.
func (c *LeelaChunk) Frames() ([]Frame, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return c.frames, c.err
	}
	if err := c.load(); err != nil {
		return nil, err
	}
	rows := idleRows.Get().(*leelaRows)
	defer idleRows.Put(rows)
	rows.reader.ShortTerm = c.shortTerm
	if c.frames, c.err = rows.frames(nil, c.raw); errors.Is(c.err, lc0.ErrIndirect) {
		c.frames, c.err = c.indirect()
	}
	c.done = true
	c.release()
	return c.frames, c.err
}

// load reads the records anew if they were given back. c.mu is held.
func (c *LeelaChunk) load() (err error) {
	if c.raw == nil && c.source != nil {
		c.raw, err = c.source.read(c.index)
	}
	return err
}

// Release says that the records are not wanted soon: their memory, a megabyte,
// serves the next chunk. What asks for them again reads the file again.
func (c *LeelaChunk) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release()
}

// release is Release; c.mu is held.
func (c *LeelaChunk) release() {
	if c.source == nil || c.raw == nil {
		return
	}
	if raw := c.raw; cap(raw) <= mostRoom*lc0.V7Size {
		rawBuffers.Put(&raw)
	}
	c.raw = nil
}

// indirect makes frames by way of the game. c.mu is held.
func (c *LeelaChunk) indirect() ([]Frame, error) {
	rec, err := c.record()
	if err != nil {
		return nil, err
	}
	t, err := Transcode(rec, PositionWeight{}, c.shortTerm)
	if err != nil {
		return nil, err
	}
	plies := make([]int, t.num)
	for k := range plies {
		plies[k] = t.ply(k)
	}
	return new(Rebuilder).Frames(make([]Frame, 0, len(plies)), t, plies)
}

// gameReaders are lc0.GameReaders that wait for use.
var gameReaders = sync.Pool{New: func() any { return new(lc0.GameReader) }}

// mostRoom bounds the memory that waits for use, in records: 8.6 MB for each
// reader and each inflated chunk. lc0 cuts games at 450 plies.
const mostRoom = 1024

// Record finds out the game.
func (c *LeelaChunk) Record() (*record.Game, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return nil, err
	}
	return c.record()
}

// record is Record of c.raw; c.mu is held.
func (c *LeelaChunk) record() (*record.Game, error) {
	reader := gameReaders.Get().(*lc0.GameReader)
	rec, err := reader.Game(c.raw)
	if reader.Room() <= mostRoom {
		gameReaders.Put(reader)
	}
	return rec, err
}

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
	for _, m := range file.Bad {
		r.badMembers.Add(1)
		r.quarantine.Add(fmt.Sprintf("%s[%s at byte %d]", f.Key, m.Name, m.Offset), &m)
	}
	if file.Len() == 0 && len(file.Bad) > 0 {
		return nil, fmt.Errorf("%s: no chunk of it can be used: %w", f.Path, &file.Bad[0])
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

// read returns the inflated records of chunk i, in memory that rawBuffers may have
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
