package loader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// ErrFrame says that bytes or planes are no position that a Frame can hold.
var ErrFrame = errors.New("no frame")

// Frame is one training row, packed: 150 to 300 bytes instead of the 1.3 KB that
// it has in a TrainBatch, without loss. It is immutable, and needs no game and
// no rules of chess to be unpacked. The zero value holds nothing.
//
// The bytes, little endian:
//
//	boards 1         number of history boards (1..8) | policy mode << 4
//	scalars 2        castling rights and side as bits, rule50
//	repeated 1       bit t: history board t had occurred before
//	legal 1          number of legal moves
//	targets 2        bit t: target t is known; bit t: it equals the known one before it
//	weight 4         float32
//	values           Q, D, M float32 of each known target that equals none
//	moves            policy indices, 12 bits each, in the row's order
//	policy           mode 0: nothing (all zero)
//	                 mode 1: a varint of visits for each move
//	                 mode 2: a bit for each move, then a float32 for each that is set
//	men 8            squares of the newest board that are not empty
//	                 for each, in order, its plane 0..11, 4 bits
//	steps            for each older board: number of toggles 1, toggles 2 each,
//	                 plane << 6 | square; each turns the newer board into the older
type Frame struct{ row string }

// The forms of a packed policy.
const (
	policyZero = iota
	policyVisits
	policyFloats
)

const (
	frameHead   = 11 // bytes before the values
	piecePlanes = encoding.PlanesPerBoard - 1
)

// A toggle is plane << 6 | square, and fits 16 bits.
const _ uint16 = piecePlanes<<6 | 63

// packer makes frames. It keeps its scratch; one goroutine at a time.
type packer struct{ buf []byte }

// pack returns row i of b as a frame. total is the sum of the visits that the
// row's policy was made of, 0 if it is not known: where visits that add up to it
// give the policy bit for bit they are stored in its place. An error wraps
// ErrFrame and names what is not of chess.
func (p *packer) pack(b *encoding.TrainBatch, i int, total uint64) (Frame, error) {
	legal, masks, s := b.LegalOf(i), &b.Masks[i], &b.Scalars[i]
	if len(legal) > 255 {
		return Frame{}, fmt.Errorf("%w: %d legal moves, at most 255", ErrFrame, len(legal))
	}
	boards, repeated, err := replay.CountBoards(masks)
	if err != nil {
		return Frame{}, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	boards = max(boards, 1)
	p.buf = append(p.buf[:0], byte(boards), s.OurOOO&1|s.OurOO&1<<1|s.TheirOOO&1<<2|s.TheirOO&1<<3|s.BlackToMove&1<<4,
		s.Rule50, repeated, byte(len(legal)), 0, 0)
	p.buf = binary.LittleEndian.AppendUint32(p.buf, math.Float32bits(b.Weight[i]))
	p.values(&b.Targets[i])
	p.moves(legal)
	p.policy(b.PolicyOf(i), total)
	p.buf = replay.AppendMen(p.buf, masks[:piecePlanes])
	for t := 1; t < boards; t++ {
		p.step(masks[(t-1)*encoding.PlanesPerBoard:], masks[t*encoding.PlanesPerBoard:])
	}
	return Frame{string(p.buf)}, nil
}

// values appends the targets.
func (p *packer) values(targets *[encoding.NumTargets]encoding.QDM) {
	var last encoding.QDM
	known, same := byte(0), byte(0)
	for t, v := range targets {
		switch {
		case v.Q != v.Q && v.D != v.D && v.M != v.M:
			continue
		case known != 0 && v.SameBits(last):
			same |= 1 << t
		default:
			p.buf = replay.AppendQDM(p.buf, v)
			last = v
		}
		known |= 1 << t
	}
	p.buf[5], p.buf[6] = known, same
}

// moves appends the policy indices in pairs of three bytes.
func (p *packer) moves(legal []uint16) {
	for ; len(legal) >= 2; legal = legal[2:] {
		v := uint32(legal[0]) | uint32(legal[1])<<12
		p.buf = append(p.buf, byte(v), byte(v>>8), byte(v>>16))
	}
	if len(legal) == 1 {
		p.buf = append(p.buf, byte(legal[0]), byte(legal[0]>>8))
	}
}

// policy appends the policy in the shortest form that gives it back bit for bit.
func (p *packer) policy(policy []float32, total uint64) {
	from := len(p.buf)
	if total > 0 && total <= math.MaxUint32 && p.visits(policy, total) {
		p.buf[0] |= policyVisits << 4
		return
	}
	p.buf = p.buf[:from]
	if !slices.ContainsFunc(policy, func(v float32) bool { return math.Float32bits(v) != 0 }) {
		return
	}
	p.buf[0] |= policyFloats << 4
	p.buf = append(p.buf, make([]byte, (len(policy)+7)/8)...)
	for j, v := range policy {
		if bits := math.Float32bits(v); bits != 0 {
			p.buf[from+j/8] |= 1 << (j % 8)
			p.buf = binary.LittleEndian.AppendUint32(p.buf, bits)
		}
	}
}

// visits appends the policy as visits, and reports whether they are exact.
func (p *packer) visits(policy []float32, total uint64) bool {
	sum := uint64(0)
	for _, v := range policy {
		if !(v >= 0 && v <= 1) {
			return false
		}
		n := uint64(float64(v)*float64(total) + .5)
		if math.Float32bits(record.ShareOf(n, total)) != math.Float32bits(v) {
			return false
		}
		sum += n
		if n < 0x80 {
			p.buf = append(p.buf, byte(n))
		} else {
			p.buf = binary.AppendUvarint(p.buf, n)
		}
	}
	return sum == total
}

// step appends what turns one board into an older one.
func (p *packer) step(newer, older []uint64) {
	at, n := len(p.buf), 0 // boards with a man a square differ in at most 128 bits
	p.buf = append(p.buf, 0)
	for plane, m := range newer[:piecePlanes] {
		for m ^= older[plane]; m != 0; m &= m - 1 {
			p.buf = binary.LittleEndian.AppendUint16(p.buf, uint16(plane<<6|bits.TrailingZeros64(m)))
			n++
		}
	}
	p.buf[at] = byte(n)
}
