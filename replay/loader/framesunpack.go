package loader

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// AppendTo unpacks the frame as a row of b. An error wraps ErrFrame, says
// what is wrong with the bytes and leaves b as it was.
func (f Frame) AppendTo(b *encoding.TrainBatch) error {
	if len(f.row) < frameHead || f.row[0]&15 < 1 || f.row[0]&15 > encoding.HistoryLen {
		return fmt.Errorf("%w: %d bytes with no head", ErrFrame, len(f.row))
	}
	i := b.Grow(int(f.row[4]))
	// Nothing writes the bytes: they need no copy.
	u := unpacker{replay.Decoder{Data: unsafe.Slice(unsafe.StringData(f.row), len(f.row)), Pos: frameHead - 4}}
	u.head(&b.Scalars[i])
	b.Weight[i] = u.Float()
	u.values(&b.Targets[i])
	u.moves(b.LegalOf(i))
	u.policy(b.PolicyOf(i))
	u.boards(&b.Masks[i])
	if err := u.End(); err != nil {
		b.DropLast()
		return fmt.Errorf("%w: byte %d: %w", ErrFrame, u.Pos, err)
	}
	return nil
}

// unpacker reads a frame.
type unpacker struct{ replay.Decoder }

func (u *unpacker) head(s *encoding.Scalars) {
	c := u.Data[1]
	*s = encoding.Scalars{OurOOO: c & 1, OurOO: c >> 1 & 1, TheirOOO: c >> 2 & 1, TheirOO: c >> 3 & 1, BlackToMove: c >> 4 & 1, Rule50: u.Data[2]}
	if c>>5 != 0 || u.Data[0]>>4 > policyFloats {
		u.Fail("scalars %#x, policy of form %d", c, u.Data[0]>>4)
	}
}

func (u *unpacker) values(targets *[encoding.NumTargets]encoding.QDM) {
	known, same := u.Data[5], u.Data[6]
	if known>>encoding.NumTargets != 0 || same&^known != 0 || same != 0 && same&-same <= known&-known {
		u.Fail("marks %#x and %#x of targets", known, same)
	}
	var last encoding.QDM
	for t := range targets {
		if known>>t&1 == 0 {
			continue // Grow made it unknown
		}
		if same>>t&1 == 0 {
			last = u.QDM()
		}
		targets[t] = last
	}
}

func (u *unpacker) moves(legal []uint16) {
	src := u.Take(len(legal)/2*3 + len(legal)&1*2)
	if src == nil {
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
		u.Fail("policy index %d", worst)
	}
}

func (u *unpacker) policy(policy []float32) {
	switch u.Data[0] >> 4 {
	case policyVisits:
		u.visits(policy)
	case policyFloats:
		set := u.Take((len(policy) + 7) / 8)
		for j := range policy {
			if u.Err == nil && set[j/8]>>(j%8)&1 == 1 {
				policy[j] = u.Float()
			}
		}
	}
}

// visits reads a policy of visits, twice: their sum comes first. Those below 128, most of
// them, are read here.
func (u *unpacker) visits(policy []float32) {
	from, sum := u.Pos, uint64(0)
	at := from
	for range policy {
		if at < len(u.Data) && u.Data[at] < 0x80 {
			sum += uint64(u.Data[at])
			at++
			continue
		}
		u.Pos = at
		sum += u.Uvarint(math.MaxUint32)
		at = u.Pos
	}
	if sum == 0 {
		u.Fail("policy without a visit")
	}
	if u.Err != nil {
		return
	}
	u.Pos = at
	at = from
	for j := range policy {
		n, size := uint64(u.Data[at]), 1
		if n >= 0x80 {
			n, size = binary.Uvarint(u.Data[at:])
		}
		if at += size; n != 0 {
			policy[j] = record.ShareOf(n, sum)
		}
	}
}

func (u *unpacker) boards(masks *[encoding.NumMasks]uint64) {
	boards, repeated := int(u.Data[0]&15), u.Data[3]
	if int(repeated)>>boards != 0 {
		u.Fail("marks beyond the %d boards", boards)
	}
	u.Men(masks[:piecePlanes])
	for t := 1; t < boards; t++ {
		older := masks[t*encoding.PlanesPerBoard:][:piecePlanes]
		copy(older, masks[(t-1)*encoding.PlanesPerBoard:])
		for src := u.Take(2 * int(u.U8())); len(src) >= 2; src = src[2:] {
			toggle := uint(src[0]) | uint(src[1])<<8
			if toggle>>6 >= piecePlanes {
				u.Fail("a step of plane %d", toggle>>6)
				return
			}
			older[toggle>>6] ^= 1 << (toggle & 63)
		}
	}
	for t := range boards {
		if repeated>>t&1 == 1 {
			masks[t*encoding.PlanesPerBoard+piecePlanes] = math.MaxUint64
		}
	}
}

// parseFrame returns the bytes as a frame after a look at all of them. Errors
// wrap ErrFrame.
func parseFrame(row []byte, scratch *encoding.TrainBatch) (Frame, error) {
	scratch.Reset()
	f := Frame{string(row)}
	return f, f.AppendTo(scratch)
}
