package loader

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/chessbrain/chessbrain/encoding"
)

// AppendTo unpacks the frame as a row of b. An error wraps ErrFrame, names the
// part and leaves b as it was.
func (f Frame) AppendTo(b *encoding.TrainBatch) error {
	if len(f.row) < frameHead || f.row[0]&15 < 1 || f.row[0]&15 > encoding.HistoryLen {
		return fmt.Errorf("%w: %d bytes with no head", ErrFrame, len(f.row))
	}
	i := b.Grow(int(f.row[4]))
	u := unpacker{src: f.row, pos: frameHead}
	u.head(&b.Scalars[i])
	b.Weight[i] = floatAt(f.row, 7)
	u.values(&b.Targets[i])
	u.moves(b.LegalOf(i))
	u.policy(b.PolicyOf(i))
	u.boards(&b.Masks[i])
	if u.bad == "" && u.pos != len(u.src) {
		u.bad = "end"
	}
	if u.bad != "" {
		b.DropLast()
		return fmt.Errorf("%w: bytes of its %s", ErrFrame, u.bad)
	}
	return nil
}

// unpacker reads a frame. The first fault sticks.
type unpacker struct {
	src string
	pos int
	bad string // part that is damaged, "" = none
}

// take returns the next n bytes; "" after a fault.
func (u *unpacker) take(n int, part string) string {
	if u.bad != "" || n > len(u.src)-u.pos {
		u.fail(part)
		return ""
	}
	u.pos += n
	return u.src[u.pos-n : u.pos]
}

func (u *unpacker) fail(part string) {
	if u.bad == "" {
		u.bad = part
	}
}

func (u *unpacker) head(s *encoding.Scalars) {
	c := u.src[1]
	*s = encoding.Scalars{OurOOO: c & 1, OurOO: c >> 1 & 1, TheirOOO: c >> 2 & 1, TheirOO: c >> 3 & 1, BlackToMove: c >> 4 & 1, Rule50: u.src[2]}
	if c>>5 != 0 || u.src[0]>>4 > policyFloats {
		u.fail("head")
	}
}

func (u *unpacker) values(targets *[encoding.NumTargets]encoding.QDM) {
	known, same := u.src[5], u.src[6]
	if known>>encoding.NumTargets != 0 || same&^known != 0 || same != 0 && same&-same <= known&-known {
		u.fail("targets")
	}
	var last encoding.QDM
	for t := range targets {
		if known>>t&1 == 0 {
			continue // Grow made it unknown
		}
		if same>>t&1 == 0 {
			if v := u.take(12, "targets"); v != "" {
				last = encoding.QDM{Q: floatAt(v, 0), D: floatAt(v, 4), M: floatAt(v, 8)}
			}
		}
		targets[t] = last
	}
}

func (u *unpacker) moves(legal []uint16) {
	src := u.take(len(legal)/2*3+len(legal)&1*2, "moves")
	if src == "" {
		return
	}
	worst := uint16(0)
	for j := 0; j+1 < len(legal); j += 2 {
		v := uint32(src[0]) | uint32(src[1])<<8 | uint32(src[2])<<16
		legal[j], legal[j+1] = uint16(v&0xfff), uint16(v>>12)
		worst = max(worst, legal[j], legal[j+1])
		src = src[3:]
	}
	if len(legal)&1 == 1 {
		legal[len(legal)-1] = uint16(src[0]) | uint16(src[1])<<8
		worst = max(worst, legal[len(legal)-1])
	}
	if worst >= encoding.NumPolicy {
		u.fail("moves")
	}
}

func (u *unpacker) policy(policy []float32) {
	switch u.src[0] >> 4 {
	case policyVisits:
		u.visits(policy)
	case policyFloats:
		set := u.take((len(policy)+7)/8, "policy")
		for j := range policy {
			if u.bad == "" && set[j/8]>>(j%8)&1 == 1 {
				if v := u.take(4, "policy"); v != "" {
					policy[j] = floatAt(v, 0)
				}
			}
		}
	}
}

// visits reads a policy of visits, twice: their sum comes first.
func (u *unpacker) visits(policy []float32) {
	from, sum := u.pos, uint64(0)
	for range policy {
		n := u.varint()
		sum += n
	}
	if u.bad != "" || sum == 0 {
		u.fail("policy")
		return
	}
	u.pos = from
	for j := range policy {
		if n := u.varint(); n != 0 {
			policy[j] = shareOf(n, sum)
		}
	}
}

// varint reads a number below 2^32.
func (u *unpacker) varint() uint64 {
	if u.pos < len(u.src) && u.src[u.pos] < 0x80 {
		u.pos++
		return uint64(u.src[u.pos-1])
	}
	v := uint64(0)
	for shift := 0; shift < 35; shift += 7 {
		b := u.take(1, "policy")
		if b == "" {
			return 0
		}
		v |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			if v > math.MaxUint32 {
				u.fail("policy")
			}
			return v
		}
	}
	u.fail("policy")
	return 0
}

func (u *unpacker) boards(masks *[encoding.NumMasks]uint64) {
	boards, repeated := int(u.src[0]&15), u.src[3]
	if int(repeated)>>boards != 0 {
		u.fail("head")
	}
	u.men(masks)
	for t := 1; t < boards; t++ {
		older := masks[t*encoding.PlanesPerBoard:][:piecePlanes]
		copy(older, masks[(t-1)*encoding.PlanesPerBoard:])
		n := u.take(1, "steps")
		if n == "" {
			return
		}
		for src := u.take(2*int(n[0]), "steps"); len(src) >= 2; src = src[2:] {
			toggle := uint(src[0]) | uint(src[1])<<8
			if toggle>>6 >= piecePlanes {
				u.fail("steps")
				return
			}
			older[toggle>>6] ^= 1 << (toggle & 63)
		}
	}
	for t := range boards {
		if repeated>>t&1 == 1 {
			masks[t*encoding.PlanesPerBoard+piecePlanes] = allOnes
		}
	}
}

// men reads the newest board.
func (u *unpacker) men(masks *[encoding.NumMasks]uint64) {
	head := u.take(8, "men")
	if head == "" {
		return
	}
	occupied := uint64(0)
	for i := range 8 {
		occupied |= uint64(head[i]) << (8 * i)
	}
	numMen := bits.OnesCount64(occupied)
	planes := u.take((numMen+1)/2, "men")
	for k := 0; k < numMen && planes != ""; k++ {
		plane := planes[k/2] >> (k & 1 * 4) & 15
		if plane >= piecePlanes {
			u.fail("men")
			return
		}
		masks[plane] |= occupied & -occupied
		occupied &= occupied - 1
	}
}

// parseFrame returns the bytes as a frame after a look at all of them. Errors
// wrap ErrFrame.
func parseFrame(row []byte, scratch *encoding.TrainBatch) (Frame, error) {
	scratch.Reset()
	f := Frame{string(row)}
	return f, f.AppendTo(scratch)
}

func floatAt(s string, at int) float32 {
	s = s[at : at+4]
	return math.Float32frombits(uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24)
}
