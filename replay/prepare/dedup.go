package prepare

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/chessbrain/chessbrain/record"
)

// MovesKey identifies a game by its start and moves: 16 bytes of their SHA-256.
// Who played, the result and what a search said do not count.
func MovesKey(g *record.Game) [16]byte {
	buf := make([]byte, 0, len(g.Start)+1+2*len(g.Plies))
	buf = append(append(buf, g.Start...), 0)
	for i := range g.Plies {
		buf = binary.LittleEndian.AppendUint16(buf, uint16(g.Plies[i].Move))
	}
	sum := sha256.Sum256(buf)
	return [16]byte(sum[:16])
}

// Dedup finds games whose moves were there before; the first one counts. It
// holds 16 bytes a game. The zero value is ready. One goroutine.
type Dedup struct {
	seen map[[16]byte]struct{}
}

// Again says whether a game with g's moves was seen before, and remembers it.
func (d *Dedup) Again(g *record.Game) bool {
	if d.seen == nil {
		d.seen = map[[16]byte]struct{}{}
	}
	key := MovesKey(g)
	if _, ok := d.seen[key]; ok {
		return true
	}
	d.seen[key] = struct{}{}
	return false
}
