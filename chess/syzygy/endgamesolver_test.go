package syzygy

import (
	"fmt"
	"math/bits"

	"github.com/chessbrain/chessbrain/chess"
)

// Endgames are endings solved from the rules alone, without files, as Syzygy
// tables mean them: results with the 50-move rule, distances to the next capture,
// pawn move or mate, exact to the ply. A class of four men takes a few seconds and
// 17 MiB without pawns, 34 MiB with pawns. Solve is for one goroutine at a time;
// everything else is safe for concurrent use while no Solve runs.
type Endgames struct {
	solved map[uint32]*ending // by setup.key, one entry an order of the sides
}

// ending holds the values of one class.
type ending struct {
	men     material // side 0 is the stronger one
	setup            // its men in the order of the index, squares unused
	pawns   bool
	turned  bool    // this is the entry for the sides exchanged
	kings   int     // squares of the first king after mirroring: 32 with pawns, else 16
	values  []int16 // [mover][64 squares a man but the kings][kings][64], by index
	longest int     // the longest win in plies
}

// Cell values besides distances: a win in n plies to the next zeroing move or mate
// is n, a loss -n-1 (a mated side -1), above 100 the result is cursed or blessed.
const (
	valueDraw    int16 = 0
	valueIllegal int16 = -32768
)

// NewEndgames returns a set with nothing solved.
func NewEndgames() *Endgames { return &Endgames{solved: map[uint32]*ending{}} }

// Solve solves the endings named, such as KQvKR, of three or four men, and all
// that they may turn into, on all processors. Nothing is solved on an error.
func (e *Endgames) Solve(names ...string) error {
	var classes []material
	for _, name := range names {
		men, err := parseMaterial(name)
		if err != nil {
			return err
		}
		if men.men() > maxSolve {
			return fmt.Errorf("ending %q: the solver takes at most %d men", name, maxSolve)
		}
		classes = append(classes, men)
	}
	var w waves
	for _, men := range classes {
		e.need(&w, men)
	}
	e.solve(&w)
	return nil
}

// WDL is like Tables.WDL; ok is false for classes not solved.
func (e *Endgames) WDL(b *chess.Board) (wdl int, ok bool) {
	v, ok := e.value(b)
	return result(v), ok
}

// DTZ is like Tables.DTZ but exact.
func (e *Endgames) DTZ(b *chess.Board) (dtz int, ok bool) {
	v, ok := e.value(b)
	return distanceOf(v), ok
}

// Probe is like Tables.Probe.
func (e *Endgames) Probe(b *chess.Board) (wdl int, ok bool) {
	if b.Rule50() != 0 {
		return 0, false
	}
	wdl, ok = e.WDL(b)
	return wdl / 2, ok
}

// Longest returns the longest win of a solved ending in plies, -1 where it is not
// solved.
func (e *Endgames) Longest(name string) int {
	men, err := parseMaterial(name)
	if err != nil || men.men() > maxSolve {
		return -1
	}
	if t := e.solved[men.key()]; t != nil {
		return t.longest
	}
	return -1
}

// result returns the WDL of a value.
func result(v int16) int {
	switch {
	case v == valueDraw || v == valueIllegal:
		return Draw
	case v > 100:
		return CursedWin
	case v > 0:
		return Win
	case v >= -101:
		return Loss
	}
	return BlessedLoss
}

// distanceOf returns the DTZ of a value.
func distanceOf(v int16) int {
	if v < 0 {
		return min(int(v)+1, -1) // mated is -1 too
	}
	return int(v)
}

// value returns the value of a board, side to move's view.
func (e *Endgames) value(b *chess.Board) (int16, bool) {
	if bits.OnesCount64(b.Occupied()) > maxSolve || b.MayCastle() {
		return 0, false
	}
	s := boardSetup(b)
	v, ok := e.lookup(&s)
	if ep := b.EnPassant(); ok && ep != chess.NoSquare {
		v = e.withEnPassant(&s, s.manOn(uint8(ep)-8), v)
	}
	return v, ok && v != valueIllegal
}

// boardSetup returns the men of a board, the side to move being side 0.
func boardSetup(b *chess.Board) setup {
	s := boardMaterial(b).setup()
	s.sq[0] = uint8(bits.TrailingZeros64(b.Ours(chess.King)))
	s.sq[1] = uint8(bits.TrailingZeros64(b.Theirs(chess.King)))
	sets := boardPlacement(b, false)
	for i := 2; i < s.n; i++ {
		set := &sets[s.side[i]][s.kind[i]]
		s.sq[i] = uint8(bits.TrailingZeros64(*set))
		*set &= *set - 1
	}
	return s
}

// setup returns men in the order of an ending's index, without squares: kings,
// side 0's men from queen to pawn, side 1's.
func (m material) setup() setup {
	s := setup{n: 2}
	s.side[1] = 1
	s.kind[0], s.kind[1] = chess.King, chess.King
	for side := range m {
		for pt := int(chess.Queen); pt >= 0; pt-- {
			for range m[side][pt] {
				s.side[s.n], s.kind[s.n] = uint8(side), chess.PieceType(pt)
				s.n++
			}
		}
	}
	return s
}

// key names the men of a position, 0 for bare kings.
func (s *setup) key() uint32 {
	key := uint32(0)
	for i := 2; i < s.n; i++ {
		key += 1 << (2 * (uint32(s.side[i])*5 + uint32(s.kind[i])))
	}
	return key
}

// key is the key of the setup.
func (m material) key() uint32 {
	s := m.setup()
	return s.key()
}

// lookup returns the value of a position without en passant, side to move's view.
func (e *Endgames) lookup(s *setup) (int16, bool) {
	if s.n == 2 {
		return valueDraw, true
	}
	t := e.solved[s.key()]
	if t == nil {
		return 0, false
	}
	if t.turned {
		c := s.turned()
		return t.values[t.find(&c)], true
	}
	return t.values[t.find(s)], true
}

// find returns the cell of a position that has the men of the ending in any order.
func (t *ending) find(s *setup) int {
	c := *s
	if c.n == 4 && (c.kind[2] != t.kind[2] || c.side[2] != t.side[2]) {
		c.sq[2], c.sq[3] = c.sq[3], c.sq[2]
	}
	return t.index(&c)
}

// index returns the cell of a position that has the men in the ending's order. The
// board is mirrored so that the first king stands on the files a to d and, without
// pawns, on the ranks 1 to 4. No position is its own mirror image, so that moves
// between cells are as many as moves between positions.
func (t *ending) index(s *setup) int {
	mirror := uint8(0)
	if s.sq[0]&7 > 3 {
		mirror = 7
	}
	if !t.pawns && s.sq[0]>>3 > 3 {
		mirror |= 56
	}
	i := int(s.mover)
	for k := 2; k < t.n; k++ {
		i = i<<6 | int(s.sq[k]^mirror)
	}
	king := s.sq[0] ^ mirror
	return (i*t.kings+int(king>>3<<2|king&3))<<6 | int(s.sq[1]^mirror)
}

// place is the inverse of index.
func (t *ending) place(i int) setup {
	s := t.setup
	s.sq[1] = uint8(i & 63)
	i >>= 6
	king := uint8(i % t.kings)
	s.sq[0] = king>>2<<3 | king&3
	i /= t.kings
	for k := t.n - 1; k >= 2; k-- {
		s.sq[k] = uint8(i & 63)
		i >>= 6
	}
	s.mover = uint8(i)
	return s
}
