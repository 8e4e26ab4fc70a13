package loader

import (
	"errors"
	"fmt"
	"sync"

	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/record"
)

// LeelaChunk is a chunk as Leela's inflated records. Its rows are read straight
// from them where V6Rows can, which is much cheaper than finding out the game;
// Record finds it out. It is Packed.
type LeelaChunk struct {
	raw       []byte
	shortTerm float64 // theta of encoding.TargetST

	once   sync.Once
	frames []Frame
	err    error
}

var _ Packed = (*LeelaChunk)(nil)

// NewLeelaChunk returns the chunk with the given records, which it keeps.
func NewLeelaChunk(raw []byte, shortTerm float64) *LeelaChunk {
	return &LeelaChunk{raw: raw, shortTerm: shortTerm}
}

// leelaRows are V6Rows that wait for use.
var leelaRows = sync.Pool{New: func() any { return NewV6Rows() }}

// Frames returns all positions meant for training. An error says which record
// is bad. The slice is shared and must not be changed.
func (c *LeelaChunk) Frames() ([]Frame, error) {
	c.once.Do(func() {
		rows := leelaRows.Get().(*V6Rows)
		defer leelaRows.Put(rows)
		rows.ShortTerm = c.shortTerm
		if c.frames, c.err = rows.Frames(nil, c.raw); errors.Is(c.err, ErrIndirect) {
			c.frames, c.err = c.indirect()
		}
	})
	return c.frames, c.err
}

// indirect makes frames by way of the game.
func (c *LeelaChunk) indirect() ([]Frame, error) {
	rec, err := c.Record()
	if err != nil {
		return nil, err
	}
	t, err := Transcode(rec, PositionWeight{}, c.shortTerm)
	if err != nil {
		return nil, err
	}
	frames := make([]Frame, t.NumPositions())
	for k := range frames {
		if frames[k], err = t.Frame(k); err != nil {
			return nil, err
		}
	}
	return frames, nil
}

// NumPositions returns the number of positions meant for training. It is 1 in a
// chunk that cannot be read, so that Frame is asked and says why.
func (c *LeelaChunk) NumPositions() int {
	frames, err := c.Frames()
	if err != nil {
		return 1
	}
	return len(frames)
}

// Frame returns position k of those meant for training.
func (c *LeelaChunk) Frame(k int) (Frame, error) {
	frames, err := c.Frames()
	if err != nil {
		return Frame{}, err
	}
	if k < 0 || k >= len(frames) {
		return Frame{}, fmt.Errorf("position %d of a chunk that has %d", k, len(frames))
	}
	return frames[k], nil
}

// Record finds out the game.
func (c *LeelaChunk) Record() (*record.Game, error) {
	records, err := lc0.DecodeRecords(c.raw)
	if err != nil {
		return nil, err
	}
	return lc0.Game(records)
}
