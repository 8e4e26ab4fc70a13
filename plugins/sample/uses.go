package sample

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/plugins/stage/follow"
)

// uses counts how often each game of a window was used.
type uses struct {
	newest follow.Game // the last game of counts
	counts []uint32    // oldest first
}

// align makes the counts those of the games of idx, which holds a game: those of
// games that left are forgotten, new games have none. Another window than the
// one that was counted begins at 0.
func (u *uses) align(idx stage.Index) {
	n, known := idx.NumGames(), 0
	if len(u.counts) > 0 {
		if i, ok := u.newest.Find(idx); ok {
			known = i + 1
		}
	}
	if known > len(u.counts) { // the window grew at its old end
		u.counts = append(make([]uint32, known-len(u.counts), n), u.counts...)
	}
	u.counts = u.counts[len(u.counts)-known:]
	u.counts = append(u.counts, make([]uint32, n-known)...)
	newest := idx.Game(n - 1)
	u.newest = follow.Of(&newest)
}

// save appends the random generator, the key of the orders u64, the newest game's
// number u64 and its id, the number of games uvarint, and the uses of each uvarint,
// oldest first; little endian. It is about a byte a game.
func (h *hanse) save(b []byte) []byte {
	b = h.generator.save(b)
	b = binary.LittleEndian.AppendUint64(b, h.key)
	b = binary.LittleEndian.AppendUint64(b, h.uses.newest.Seq)
	b = append(b, h.uses.newest.ID[:]...)
	b = binary.AppendUvarint(b, uint64(len(h.uses.counts)))
	for _, n := range h.uses.counts {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func (h *hanse) load(data []byte) error {
	data, err := h.cut(data)
	if err != nil {
		return err
	}
	const fixed = 8 + 8 + 16
	if len(data) < fixed {
		return errors.New("it is cut off after the random generator")
	}
	key := binary.LittleEndian.Uint64(data)
	fresh := uses{newest: follow.Game{Seq: binary.LittleEndian.Uint64(data[8:]), ID: [16]byte(data[16:])}}
	data = data[fixed:]
	games, n := binary.Uvarint(data)
	if n <= 0 || games > uint64(len(data)-n) {
		return errors.New("its number of games is damaged")
	}
	data = data[n:]
	fresh.counts = make([]uint32, games) // at least a byte each is there
	for i := range fresh.counts {
		count, n := binary.Uvarint(data)
		if n <= 0 || count > math.MaxUint32 {
			return fmt.Errorf("the uses of game %d of %d are damaged", i, games)
		}
		fresh.counts[i], data = uint32(count), data[n:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%d bytes after the last of %d games", len(data), games)
	}
	h.key, h.uses = key, fresh
	return nil
}
