package encoding

import "math"

// Sizes of the network's input and policy (see the package documentation).
const (
	NumPlanes  = 112  // input planes, format 1
	NumMasks   = 104  // planes that are bit masks: 8 history steps x 13
	NumPolicy  = 1858 // policy indices
	NumSquares = 64   // squares of a plane, a1 = 0
)

// Scalars holds the planes 104 to 109 of one position as small numbers. All
// are from the side to move's view. In formats 2 and up the first four are 1 + the file of
// the rook that may castle, and in 3 and up BlackToMove is 1 + the file of en passant;
// 0 = none.
type Scalars struct {
	OurOOO, OurOO     uint8 // 1 = we may castle queenside, kingside (planes 104, 105)
	TheirOOO, TheirOO uint8 // the same of the opponent (planes 106, 107)
	BlackToMove       uint8 // 1 = black is to move (plane 108)
	Rule50            uint8 // plies since a capture or pawn move (plane 109), 0..100
}

// Batch is a group of positions for inference, and the evaluator's answer.
// Everything is from the view of the side to move of its position. The caller
// owns all slices; an evaluator writes Prior, WDL and M and keeps no reference.
// Slices are longer than N where capacity was reserved: only the first N
// positions count.
type Batch struct {
	Format     InputFormat        // of the positions; 0 is FormatClassical, too
	N          int                // positions in use
	Masks      [][NumMasks]uint64 // [N] planes 0..103 as bit masks, bit i = square i
	Scalars    []Scalars          // [N]
	LegalStart []int32            // [N+1] position i's legal moves are Legal[LegalStart[i]:LegalStart[i+1]]
	Legal      []uint16           // policy indices of the legal moves, in generation order

	Prior []float32    // beside Legal: softmax over the legal moves of a position, sums to 1
	WDL   [][3]float32 // [N] win, draw, loss probabilities
	M     []float32    // [N] moves left in plies, >= 0; 0 where the net has no such head
}

// NewBatch returns an empty batch with room for capacity positions.
func NewBatch(capacity int) *Batch {
	return &Batch{
		Masks:      make([][NumMasks]uint64, capacity),
		Scalars:    make([]Scalars, capacity),
		LegalStart: make([]int32, 1, capacity+1),
		Legal:      make([]uint16, 0, capacity*40),
		Prior:      make([]float32, 0, capacity*40),
		WDL:        make([][3]float32, capacity),
		M:          make([]float32, capacity),
	}
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.N = 0
	b.LegalStart = append(b.LegalStart[:0], 0)
	b.Legal = b.Legal[:0]
	b.Prior = b.Prior[:0]
}

// Grow appends one position with zeroed input and numLegal legal moves and
// returns its index. The caller fills Masks[i], Scalars[i] and LegalOf(i).
func (b *Batch) Grow(numLegal int) int {
	i := b.growAny(numLegal)
	b.Masks[i] = [NumMasks]uint64{}
	b.Scalars[i] = Scalars{}
	return i
}

// growAny is Grow for a caller that writes the whole input: it may be anything.
func (b *Batch) growAny(numLegal int) int {
	i := b.N
	b.N++
	if b.N > len(b.Masks) {
		b.Masks = append(b.Masks, [NumMasks]uint64{})
		b.Scalars = append(b.Scalars, Scalars{})
		b.WDL = append(b.WDL, [3]float32{})
		b.M = append(b.M, 0)
	}
	b.Legal = grow(b.Legal, numLegal)
	b.Prior = grow(b.Prior, numLegal)
	b.LegalStart = append(b.LegalStart, int32(len(b.Legal)))
	return i
}

// DropLast takes the newest position away again.
func (b *Batch) DropLast() {
	b.N--
	b.LegalStart = b.LegalStart[:b.N+1]
	end := b.LegalStart[b.N]
	b.Legal, b.Prior = b.Legal[:end], b.Prior[:end]
}

// LegalOf returns the policy indices of position i's legal moves.
func (b *Batch) LegalOf(i int) []uint16 { return b.Legal[b.LegalStart[i]:b.LegalStart[i+1]] }

// PriorOf returns the policy of position i, beside LegalOf(i).
func (b *Batch) PriorOf(i int) []float32 { return b.Prior[b.LegalStart[i]:b.LegalStart[i+1]] }

// QDM is a value estimate from the side to move's view: Q in [-1,1], D the
// draw probability, M the moves left in plies. NaN means not known.
type QDM struct{ Q, D, M float32 }

// SameBits is equality with NaN, and with the sign of zero.
func (v QDM) SameBits(w QDM) bool {
	return math.Float32bits(v.Q) == math.Float32bits(w.Q) && math.Float32bits(v.D) == math.Float32bits(w.D) &&
		math.Float32bits(v.M) == math.Float32bits(w.M)
}

// UnknownQDM is a value estimate of which nothing is known.
var UnknownQDM = QDM{nan32, nan32, nan32}

var nan32 = float32(math.NaN())

// WDL returns win, draw and loss probabilities: (1-d+q)/2, d, (1-d-q)/2.
func (v QDM) WDL() (w, d, l float32) { return (1 - v.D + v.Q) / 2, v.D, (1 - v.D - v.Q) / 2 }

// Target names one of the value estimates that a row carries.
type Target uint8

// The value targets, in the order of TrainBatch.Targets.
const (
	TargetResult Target = iota // the game's outcome; M = plies to its end
	TargetRoot                 // the search's root value
	TargetBest                 // of the move with most visits
	TargetPlayed               // of the move played
	TargetOrig                 // the raw network's value
	TargetST                   // average of this and later root values up to the result
	NumTargets
)

// TrainBatch is a group of training rows: inputs as in Batch, and targets. The
// caller owns all slices.
type TrainBatch struct {
	Batch                     // Prior, WDL, M are not used
	Policy  []float32         // beside Legal: target probabilities of a position, sum to 1
	Targets [][NumTargets]QDM // [N]
	Ahead   []Ahead           // [N]
	Weight  []float32         // [N] row weight, 1 = normal

	// Kept.Of, if not nil, stands for everything but N and Weight, which is then empty.
	Kept KeptRows
}

// NewTrainBatch returns an empty batch with room for capacity rows.
func NewTrainBatch(capacity int) *TrainBatch {
	return &TrainBatch{
		Batch:   *NewBatch(capacity),
		Policy:  make([]float32, 0, capacity*40),
		Targets: make([][NumTargets]QDM, capacity),
		Ahead:   make([]Ahead, capacity),
		Weight:  make([]float32, capacity),
	}
}

// Reset empties the batch and keeps its memory.
func (b *TrainBatch) Reset() {
	b.Batch.Reset()
	b.Policy = b.Policy[:0]
	b.Kept = KeptRows{Number: b.Kept.Number[:0], Draw: b.Kept.Draw[:0]}
}

// Grow appends one row with zeroed input, unknown targets and weight 1, and
// returns its index.
func (b *TrainBatch) Grow(numLegal int) int {
	i := b.Batch.Grow(numLegal)
	b.Policy = grow(b.Policy, numLegal)
	b.growTargets()
	for t := range b.Targets[i] {
		b.Targets[i][t] = UnknownQDM
	}
	b.Ahead[i], b.Weight[i] = Ahead{}, 1
	return i
}

// growTargets makes room for what the newest row learns.
func (b *TrainBatch) growTargets() {
	if b.N > len(b.Targets) {
		b.Targets, b.Ahead, b.Weight = append(b.Targets, [NumTargets]QDM{}), append(b.Ahead, Ahead{}), append(b.Weight, 0)
	}
}

// DropLast takes the newest row away again.
func (b *TrainBatch) DropLast() {
	b.Batch.DropLast()
	b.Policy = b.Policy[:len(b.Legal)]
}

// PolicyOf returns the policy target of row i, beside LegalOf(i).
func (b *TrainBatch) PolicyOf(i int) []float32 {
	return b.Policy[b.LegalStart[i]:b.LegalStart[i+1]]
}

// grow lengthens s by n zeroed elements.
func grow[T any](s []T, n int) []T {
	from := len(s)
	if cap(s) < from+n {
		s = append(s, make([]T, n)...)
	}
	s = s[:from+n]
	clear(s[from:])
	return s
}

// AppendRow appends row i of src.
func (b *TrainBatch) AppendRow(src *TrainBatch, i int) {
	row := b.Grow(len(src.LegalOf(i)))
	b.Masks[row], b.Scalars[row] = src.Masks[i], src.Scalars[i]
	copy(b.LegalOf(row), src.LegalOf(i))
	copy(b.PolicyOf(row), src.PolicyOf(i))
	b.Targets[row], b.Ahead[row], b.Weight[row] = src.Targets[i], src.Ahead[i], src.Weight[i]
}

// CopyFrom makes b what src is, in memory of its own; room for more rows stays.
func (b *TrainBatch) CopyFrom(src *TrainBatch) {
	n, moves := src.N, int(src.LegalStart[src.N])
	b.Reset()
	b.N = n
	b.Weight = copyRows(b.Weight, src.Weight[:n])
	b.LegalStart = append(b.LegalStart[:0], src.LegalStart[:n+1]...)
	b.Legal, b.Policy = append(b.Legal, src.Legal[:moves]...), append(b.Policy, src.Policy[:moves]...)
	b.Prior = grow(b.Prior, moves)
	b.Kept.Of = src.Kept.Of
	b.Kept.Number, b.Kept.Draw = append(b.Kept.Number, src.Kept.Number...), append(b.Kept.Draw, src.Kept.Draw...)
	if src.Kept.Of != nil {
		n = 0
	}
	b.Masks, b.Scalars = copyRows(b.Masks, src.Masks[:n]), copyRows(b.Scalars, src.Scalars[:n])
	b.WDL, b.M = copyRows(b.WDL, src.WDL[:n]), copyRows(b.M, src.M[:n])
	b.Targets, b.Ahead = copyRows(b.Targets, src.Targets[:n]), copyRows(b.Ahead, src.Ahead[:n])
}

// copyRows copies src to the start of dst, which grows where it is shorter.
func copyRows[T any](dst, src []T) []T {
	if len(dst) < len(src) {
		return append(dst[:0], src...)
	}
	copy(dst, src)
	return dst
}
