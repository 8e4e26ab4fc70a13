package record

import (
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// walker replays a game move by move. At each ply the legal moves are
// generated and what the record says of the position is checked against them.
type walker struct {
	start   string
	board   chess.Board // of start
	history *chess.History
	moves   chess.MoveList

	// Scratch of diskOrder. The sets of origins are empty between calls.
	keys  [256]uint32
	order [256]uint8
	from  [64]uint64
	first [64]uint8
}

// walkers holds idle ones: a walker's line and lists are worth keeping.
var walkers = sync.Pool{New: func() any { return new(walker) }}

// begin goes to g's start position.
func (w *walker) begin(g *Game) error {
	if w.history == nil || w.start != g.Start {
		b, err := g.StartBoard()
		if err != nil {
			return err
		}
		w.start, w.board = g.Start, b
	}
	if w.history == nil {
		w.history = chess.NewHistory(w.board)
		return nil
	}
	w.history.Reset(w.board)
	return nil
}

// generate lists the legal moves of the current position.
func (w *walker) generate() []chess.Move {
	w.moves.N = 0
	w.history.Board().GenerateMoves(&w.moves)
	return w.moves.Slice()
}

// diskOrder returns, after generate, the permutation from the order of moves
// on disk (ascending as 16-bit numbers) to generation order. It is valid until
// the next call. Disk order is independent of how chess generates moves, so
// that a change there does not change the meaning of stored games.
//
// It orders moves without comparing them, in a fraction of sortOrder's time: a set
// of origins for each destination gives each move its place by counting bits.
func (w *walker) diskOrder() []uint8 {
	moves := w.moves.Slice()
	used := uint64(0)
	for _, m := range moves {
		if m>>12 != 0 { // promotions are rare: they sort behind all others
			w.clearFrom(used)
			return w.sortOrder()
		}
		w.from[m.To()&63] |= 1 << m.From()
		used |= 1 << m.To()
	}
	n := 0
	for set := used; set != 0; set &= set - 1 {
		to := bits.TrailingZeros64(set) & 63
		w.first[to] = uint8(n)
		n += bits.OnesCount64(w.from[to])
	}
	for i, m := range moves {
		to := m.To() & 63
		rank := int(w.first[to]) + bits.OnesCount64(w.from[to]&(1<<m.From()-1))
		w.order[rank&255] = uint8(i)
	}
	w.clearFrom(used)
	return w.order[:len(moves)]
}

// clearFrom empties the sets of origins for these destinations.
func (w *walker) clearFrom(used uint64) {
	for ; used != 0; used &= used - 1 {
		w.from[bits.TrailingZeros64(used)&63] = 0
	}
}

// sortOrder is diskOrder by sorting.
func (w *walker) sortOrder() []uint8 {
	keys := w.keys[:w.moves.N]
	for i, m := range w.moves.Slice() {
		keys[i] = uint32(m)<<8 | uint32(i)
	}
	slices.Sort(keys)
	for i, k := range keys {
		w.order[i] = uint8(k)
	}
	return w.order[:len(keys)]
}

// checkPly checks ply i of g, whose legal moves have been generated.
func (w *walker) checkPly(i int, p *Ply) error {
	legal := w.moves.Slice()
	if len(legal) > 255 {
		return invalid(i, "position", "%d legal moves, at most 255 can be stored", len(legal))
	}
	if !slices.Contains(legal, p.Move) {
		return invalid(i, "move", "%#04x is not legal in %s", uint16(p.Move), w.history.Board().FEN())
	}
	if err := checkPolicy(i, p, len(legal)); err != nil {
		return err
	}
	if err := checkValues(i, p); err != nil {
		return err
	}
	if p.Flags&^allPlyFlags != 0 {
		return invalid(i, "flags", "unknown bits %#x", p.Flags&^allPlyFlags)
	}
	return nil
}

// probTolerance bounds the distance of a policy's sum from 1: 255 float32
// roundings and those of other programs.
const probTolerance = 1e-3

func checkPolicy(i int, p *Ply, numLegal int) error {
	wantCounts, wantProbs := 0, 0
	switch p.Kind {
	case PolicyNone:
	case PolicyCounts:
		wantCounts = numLegal
	case PolicyProbs:
		wantProbs = numLegal
	default:
		return invalid(i, "policy", "unknown kind %d", p.Kind)
	}
	if len(p.Counts) != wantCounts {
		return invalid(i, "counts", "%d entries, want %d (%d legal moves)", len(p.Counts), wantCounts, numLegal)
	}
	if len(p.Probs) != wantProbs {
		return invalid(i, "probs", "%d entries, want %d (%d legal moves)", len(p.Probs), wantProbs, numLegal)
	}
	if p.Kind == PolicyCounts && numLegal > 1 && CountSum(p.Counts) == 0 {
		return invalid(i, "counts", "no move was visited")
	}
	if p.Kind != PolicyProbs {
		return nil
	}
	sum := 0.0
	for j, v := range p.Probs {
		if !(v >= 0 && v <= 1) {
			return invalid(i, "probs", "entry %d is %g, want 0..1", j, v)
		}
		sum += float64(v)
	}
	if math.Abs(sum-1) > probTolerance {
		return invalid(i, "probs", "sum is %g, want 1", sum)
	}
	return nil
}

// CountSum adds up the visits of a policy.
func CountSum(counts []uint32) (sum uint64) {
	for _, n := range counts {
		sum += uint64(n)
	}
	return sum
}

// valueTolerance allows for the rounding of averages of float32 values.
const valueTolerance = 1e-3

// checkValue checks the ranges of one value of ply i; NaN is allowed.
func checkValue(i int, name string, v encoding.QDM) error {
	switch q, d, m := float64(v.Q), float64(v.D), float64(v.M); {
	case math.Abs(q) > 1+valueTolerance:
		return invalid(i, name, "Q is %g, want -1..1 or NaN", q)
	case d < -valueTolerance || d > 1+valueTolerance:
		return invalid(i, name, "D is %g, want 0..1 or NaN", d)
	case math.Abs(q)+d > 1+valueTolerance:
		return invalid(i, name, "Q %g and D %g leave a negative win or loss probability", q, d)
	case m < 0 || math.IsInf(m, 0):
		return invalid(i, name, "M is %g, want plies or NaN", m)
	}
	return nil
}

func checkValues(i int, p *Ply) error {
	for _, v := range p.values() {
		if err := checkValue(i, v.name, v.QDM); err != nil {
			return err
		}
	}
	if w := float64(p.Weight); !(w >= 0) || math.IsInf(w, 0) {
		return invalid(i, "weight", "%g, want a finite number >= 0", w)
	}
	if k := float64(p.KLD); !(k >= -valueTolerance) || math.IsInf(k, 0) {
		return invalid(i, "kld", "%g, want a finite number >= 0", k)
	}
	return nil
}
