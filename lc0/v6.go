package lc0

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/chessbrain/chessbrain/encoding"
)

// V6Size is the length of a V6 training record in bytes.
const V6Size = 8356

// Offsets of a V6 record: little endian, packed (docs/FORMATS.md, section 1).
const (
	atVersion       = 0
	atInputFormat   = 4
	atProbabilities = 8
	atPlanes        = atProbabilities + 4*encoding.NumPolicy
	atCastling      = atPlanes + 8*encoding.NumMasks
	atSide          = atCastling + 4
	atRule50        = atSide + 1
	atInvariance    = atRule50 + 1
	atDummy         = atInvariance + 1
	atValues        = atDummy + 1 // 15 float32, see values
	atVisits        = atValues + 4*15
	atPlayedIdx     = atVisits + 4
	atBestIdx       = atPlayedIdx + 2
	atKLD           = atBestIdx + 2
	atQST           = atKLD + 4
)

// The offsets end where the record does.
var _ [V6Size]struct{} = [atQST + 4]struct{}{}

const v6Version = 6

// Invariance holds the flags of a V6 record.
type Invariance uint8

// The flags.
const (
	Flip        Invariance = 1 << iota // the three transforms of formats 3 up
	Mirror                             //
	Transpose                          //
	BestProven                         // best_q is of a proven move
	MaxLength                          // the length limit cut the game
	Adjudicated                        // a resignation, a table or the limit ended the game
	Placeholder                        // the record tells only how the game went on: lc0's rescorer reads it and drops it
	BlackToMove                        // formats 3 up
)

// V6 is one record of Leela's training data, version 6: a position of a game.
// All values are from the view of the side to move.
type V6 struct {
	InputFormat   uint32                      // 1 classical, 2 castling as rook files, 3 up canonical
	Probabilities [encoding.NumPolicy]float32 // policy target by index, sum 1; -1 = illegal
	Planes        [encoding.NumMasks]uint64   // bit i = square i (the file has the bits of each byte reversed)
	Castling      [4]uint8                    // we O-O-O, we O-O, they O-O-O, they O-O: 0 or 1; 1 << rook file from format 2 on
	SideOrEP      uint8                       // formats 1, 2: 1 = black to move; 3 up: file of en passant as a bit
	Rule50        uint8                       // plies since a capture or pawn move
	Invariance    Invariance
	Root          encoding.QDM // the search's value of the position
	Best          encoding.QDM // of the best move
	Played        encoding.QDM // of the move played
	Orig          encoding.QDM // the raw network's; NaN = not known
	PliesLeft     float32      // to the end of the game, as the last search saw it
	ResultQ       float32      // +1 won, 0 drawn, -1 lost; a rescorer may leave means
	ResultD       float32      // 1 = drawn
	Visits        uint32       // root visits, its own evaluation included; 0 = not known
	PlayedIdx     uint16       // policy index of the move played
	BestIdx       uint16       // policy index of the best move
	PolicyKLD     float32      // KL(visits, raw policy) in nats + 2^-126; 0 = not known
	QST           float32      // short-term value that a rescorer sets; 0 in self-play
}

// valueField is one float32 of a record: where it lies, its name in Leela's
// struct and what it may be.
type valueField struct {
	at        int
	name      string
	v         *float32
	low, high float32
	nan       bool // NaN = not known is allowed
}

// values lists the float32 fields behind the planes, in the order of the file.
func (r *V6) values() [17]valueField {
	const most = math.MaxFloat32
	const at = atValues
	return [17]valueField{
		{at, "root_q", &r.Root.Q, -1, 1, false},
		{at + 4, "best_q", &r.Best.Q, -1, 1, false},
		{at + 8, "root_d", &r.Root.D, 0, 1, false},
		{at + 12, "best_d", &r.Best.D, 0, 1, false},
		{at + 16, "root_m", &r.Root.M, 0, most, false},
		{at + 20, "best_m", &r.Best.M, 0, most, false},
		{at + 24, "plies_left", &r.PliesLeft, 0, most, false},
		{at + 28, "result_q", &r.ResultQ, -1, 1, false},
		{at + 32, "result_d", &r.ResultD, 0, 1, false},
		{at + 36, "played_q", &r.Played.Q, -1, 1, false},
		{at + 40, "played_d", &r.Played.D, 0, 1, false},
		{at + 44, "played_m", &r.Played.M, 0, most, false},
		{at + 48, "orig_q", &r.Orig.Q, -1, 1, true},
		{at + 52, "orig_d", &r.Orig.D, 0, 1, true},
		{at + 56, "orig_m", &r.Orig.M, 0, most, true},
		{atKLD, "policy_kld", &r.PolicyKLD, 0, most, false},
		{atQST, "q_st", &r.QST, -1, 1, false},
	}
}

// Append appends the record's V6Size bytes to dst. It checks nothing.
func (r *V6) Append(dst []byte) []byte {
	from := len(dst)
	dst = append(dst, make([]byte, V6Size)...)
	b := dst[from:]
	le := binary.LittleEndian
	le.PutUint32(b[atVersion:], v6Version)
	le.PutUint32(b[atInputFormat:], r.InputFormat)
	for i, p := range r.Probabilities {
		le.PutUint32(b[atProbabilities+4*i:], math.Float32bits(p))
	}
	for i, m := range r.Planes {
		le.PutUint64(b[atPlanes+8*i:], reverseInBytes(m))
	}
	copy(b[atCastling:], r.Castling[:])
	b[atSide], b[atRule50], b[atInvariance] = r.SideOrEP, r.Rule50, byte(r.Invariance)
	for _, f := range r.values() {
		le.PutUint32(b[f.at:], math.Float32bits(*f.v))
	}
	le.PutUint32(b[atVisits:], r.Visits)
	le.PutUint16(b[atPlayedIdx:], r.PlayedIdx)
	le.PutUint16(b[atBestIdx:], r.BestIdx)
	return dst
}

// Decode reads the record in the first V6Size bytes of b, all of which it
// checks. Errors wrap ErrCorruptRecord and name the field.
func (r *V6) Decode(b []byte) error {
	le := binary.LittleEndian
	if len(b) < V6Size {
		return recordError("the record ends after %d of %d bytes", len(b), V6Size)
	}
	if v := le.Uint32(b[atVersion:]); v != v6Version {
		return recordError("version is %d, this program reads %d", v, v6Version)
	}
	if b[atDummy] != 0 {
		return recordError("dummy is %d, want 0", b[atDummy])
	}
	r.InputFormat = le.Uint32(b[atInputFormat:])
	for i := range r.Probabilities {
		r.Probabilities[i] = math.Float32frombits(le.Uint32(b[atProbabilities+4*i:]))
	}
	for i := range r.Planes {
		r.Planes[i] = reverseInBytes(le.Uint64(b[atPlanes+8*i:]))
	}
	copy(r.Castling[:], b[atCastling:])
	r.SideOrEP, r.Rule50, r.Invariance = b[atSide], b[atRule50], Invariance(b[atInvariance])
	for _, f := range r.values() {
		*f.v = math.Float32frombits(le.Uint32(b[f.at:]))
	}
	r.Visits = le.Uint32(b[atVisits:])
	r.PlayedIdx = le.Uint16(b[atPlayedIdx:])
	r.BestIdx = le.Uint16(b[atBestIdx:])
	return r.check()
}

// reverseInBytes turns masks into Leela's form and back: byte r is rank r, its
// most significant bit the a-file.
func reverseInBytes(m uint64) uint64 { return bits.ReverseBytes64(bits.Reverse64(m)) }
