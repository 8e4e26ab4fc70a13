package loader

import (
	"errors"
	"sync"

	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/record"
)

// LeelaChunk is a chunk as Leela's inflated records. Its rows are read straight
// from them where V6Rows can, which is much cheaper than finding out the game;
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

// leelaRows are V6Rows that wait for use.
var leelaRows = sync.Pool{New: func() any { return NewV6Rows() }}

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
	rows := leelaRows.Get().(*V6Rows)
	defer leelaRows.Put(rows)
	rows.ShortTerm = c.shortTerm
	if c.frames, c.err = rows.Frames(nil, c.raw); errors.Is(c.err, ErrIndirect) {
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
	if c.source != nil && c.raw != nil {
		putRaw(c.raw)
		c.raw = nil
	}
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
	return NewRebuilder().Frames(make([]Frame, 0, len(plies)), t, plies)
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
