package shuffle

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// A packed row is one training sample without loss: what a row of an
// encoding.TrainBatch holds. Little endian; bit fields from the lowest bit.
//
//	u8   flags: 1 black to move; castling rights 2 our queenside, 4 our kingside,
//	     8 and 16 theirs; 32 raw masks; 64 policy as counts; 128 weight follows
//	u8   rule50
//	u8   number of legal moves n
//	     raw masks: 104 x u64; else the boards (boards.go)
//	11n  bits, padded to a byte: their policy indices, in the batch's order
//	n    bits, padded: which of them have a policy above 0; for each of those a
//	     uvarint count (the policy is the count's share of the sum, as
//	     record.Replayer computes it) or a float32
//	u24  three bits a target (kinds below), and above them one: what came later follows;
//	     then what the kinds say
//	f32  weight, if flagged; else it is 1
//	     if the u24 says so, what came later (encoding.Ahead): u8 from, u8 to and 64 times
//	     the reply's promotion (1 bishop, 2 rook, 3 queen; rows of older builds have 0);
//	     128 of from: i8 material and u64 survive follow
//
// The masks' 832 bytes become some 40, the row 130 to 260.
const (
	flagRaw    = 32
	flagCounts = 64
	flagWeight = 128

	targetsAhead = 1 << (3 * encoding.NumTargets) // in the u24
	fromKnown    = 128                            // in from
	toPromotion  = 6                              // first bit of the promotion in to
)

// The kinds of a target.
const (
	targetUnknown  = iota // all three NaN
	targetFull            // 3 x float32: Q, D, M
	targetResult          // u8 (Q+1) | D<<2, uvarint M: a game's outcome
	targetPartial         // u8 bits of which are there (Q 1, D 2, M 4), then those as float32
	targetAsBefore        // equals the target before it
)

const (
	bitsPerMove = 11
	maxRowBytes = 1 << 13 // of a packed row; the largest possible has some 2500
)

var le = binary.LittleEndian

// AppendRow appends row i of b in packed form. counts are the visits that its
// policy was made of, beside the legal moves; nil where it has another origin.
// They only make the row shorter: a policy that they do not give bit for bit is
// stored as it is. NaN is kept as NaN, not its bits. A row with more than 255
// legal moves or with castling numbers above 1 cannot be packed.
func AppendRow(dst []byte, b *encoding.TrainBatch, i int, counts []uint32) ([]byte, error) {
	legal, policy, s := b.LegalOf(i), b.PolicyOf(i), &b.Scalars[i]
	if len(legal) > 255 {
		return dst, fmt.Errorf("row has %d legal moves, at most 255 can be stored", len(legal))
	}
	if s.BlackToMove|s.OurOOO|s.OurOO|s.TheirOOO|s.TheirOO > 1 {
		return dst, fmt.Errorf("row has scalars %+v, rights and side must be 0 or 1", *s)
	}
	flags := s.BlackToMove | s.OurOOO<<1 | s.OurOO<<2 | s.TheirOOO<<3 | s.TheirOO<<4
	if giveCounts(policy, counts) {
		flags |= flagCounts
	}
	if b.Weight[i] != 1 {
		flags |= flagWeight
	}
	at, ahead := len(dst), b.Ahead[i] != (encoding.Ahead{})
	dst = append(dst, flags, s.Rule50, uint8(len(legal)))
	var ok bool
	if dst, ok = appendBoards(dst, &b.Masks[i]); !ok {
		dst[at] |= flagRaw
		for _, m := range b.Masks[i] {
			dst = le.AppendUint64(dst, m)
		}
	}
	dst = appendMoves(dst, legal)
	dst = appendPolicy(dst, policy, counts, flags&flagCounts != 0)
	dst = appendTargets(dst, &b.Targets[i], ahead)
	if flags&flagWeight != 0 {
		dst = le.AppendUint32(dst, math.Float32bits(b.Weight[i]))
	}
	if ahead {
		dst = appendAhead(dst, &b.Ahead[i])
	}
	return dst, nil
}

// appendAhead writes what came later.
func appendAhead(dst []byte, a *encoding.Ahead) []byte {
	to := uint8(a.To) | uint8(max(a.Promotion, chess.Knight)-chess.Knight)<<toPromotion
	if !a.Known {
		return append(dst, uint8(a.From), to)
	}
	return le.AppendUint64(append(dst, uint8(a.From)|fromKnown, to, uint8(a.Material)), a.Survive)
}

// giveCounts says whether the counts give the policy bit for bit.
func giveCounts(policy []float32, counts []uint32) bool {
	sum := record.CountSum(counts)
	if len(counts) != len(policy) || sum == 0 {
		return false
	}
	for j, n := range counts {
		if math.Float32bits(record.ShareOf(uint64(n), sum)) != math.Float32bits(policy[j]) {
			return false
		}
	}
	return true
}

// appendMoves packs policy indices into 11 bits each.
func appendMoves(dst []byte, legal []uint16) []byte {
	acc, have := uint32(0), 0
	for _, m := range legal {
		acc |= uint32(m) << have
		for have += bitsPerMove; have >= 8; have -= 8 {
			dst = append(dst, uint8(acc))
			acc >>= 8
		}
	}
	if have > 0 {
		dst = append(dst, uint8(acc))
	}
	return dst
}

// appendPolicy writes which entries are not 0, then those.
func appendPolicy(dst []byte, policy []float32, counts []uint32, asCounts bool) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, (len(policy)+7)/8)...)
	for j, p := range policy {
		bits := math.Float32bits(p)
		if bits == 0 {
			continue
		}
		dst[at+j/8] |= 1 << (j % 8)
		if asCounts {
			dst = binary.AppendUvarint(dst, uint64(counts[j]))
		} else {
			dst = le.AppendUint32(dst, bits)
		}
	}
	return dst
}

// appendTargets writes the value targets, and whether what came later follows.
func appendTargets(dst []byte, targets *[encoding.NumTargets]encoding.QDM, ahead bool) []byte {
	at, kinds := len(dst), 0
	if ahead {
		kinds = targetsAhead
	}
	dst = append(dst, 0, 0, 0)
	for k := range targets {
		v := &targets[k]
		kind := targetKind(v)
		if k > 0 && kind != targetUnknown && v.SameBits(targets[k-1]) {
			kind = targetAsBefore
		}
		kinds |= kind << (3 * k)
		switch kind {
		case targetFull:
			dst = replay.AppendQDM(dst, *v)
		case targetResult:
			dst = append(dst, uint8(int(v.Q)+1)|uint8(v.D)<<2)
			dst = binary.AppendUvarint(dst, uint64(v.M))
		case targetPartial:
			dst = appendPartial(dst, v)
		}
	}
	dst[at], dst[at+1], dst[at+2] = uint8(kinds), uint8(kinds>>8), uint8(kinds>>16)
	return dst
}

// appendPartial writes the known numbers of a target.
func appendPartial(dst []byte, v *encoding.QDM) []byte {
	at := len(dst)
	dst = append(dst, 0)
	for bit, f := range [3]float32{v.Q, v.D, v.M} {
		if f == f {
			dst[at] |= 1 << bit
			dst = le.AppendUint32(dst, math.Float32bits(f))
		}
	}
	return dst
}

// targetKind returns the shortest kind that holds v alone.
func targetKind(v *encoding.QDM) int {
	known := 0
	for _, f := range [3]float32{v.Q, v.D, v.M} {
		if f == f {
			known++
		}
	}
	switch {
	case known == 0:
		return targetUnknown
	case known < 3:
		return targetPartial
	case isResult(v):
		return targetResult
	}
	return targetFull
}

// isResult says whether v is a game's outcome with whole plies left. A negative
// zero is not.
func isResult(v *encoding.QDM) bool {
	if !(v.Q >= -1 && v.Q <= 1 && v.D >= 0 && v.D <= 1 && v.M >= 0 && v.M < 1<<16) {
		return false
	}
	return v.SameBits(encoding.QDM{Q: float32(int(v.Q)), D: float32(int(v.D)), M: float32(int(v.M))})
}
