package shuffle

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/encoding"
)

// DecodeRow appends the packed row data to b. On error, which says what is
// wrong with the bytes, b is as it was.
func DecodeRow(b *encoding.TrainBatch, data []byte) error {
	d := decoder{data: data}
	flags, rule50, numLegal := d.u8(), d.u8(), int(d.u8())
	i := b.Grow(numLegal)
	if flags&flagRaw != 0 {
		for k := range b.Masks[i] {
			b.Masks[i][k] = d.u64()
		}
	} else {
		d.boards(&b.Masks[i])
	}
	b.Scalars[i] = encoding.Scalars{BlackToMove: flags & 1, OurOOO: flags >> 1 & 1, OurOO: flags >> 2 & 1,
		TheirOOO: flags >> 3 & 1, TheirOO: flags >> 4 & 1, Rule50: rule50}
	d.moves(b.LegalOf(i))
	d.policy(b.PolicyOf(i), flags&flagCounts != 0)
	d.targets(&b.Targets[i])
	b.Weight[i] = 1
	if flags&flagWeight != 0 {
		b.Weight[i] = d.finite("weight")
	}
	if d.err == nil && d.pos != len(data) {
		d.fail("%d bytes too many", len(data)-d.pos)
	}
	if d.err != nil {
		b.DropLast()
		return fmt.Errorf("packed row: byte %d: %w", d.pos, d.err)
	}
	return nil
}

// decoder reads a packed row. After the first fault everything reads as 0.
type decoder struct {
	data []byte
	pos  int
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// take returns the next n bytes, nil at a fault.
func (d *decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.data)-d.pos {
		d.fail("cut off: %d bytes wanted, %d are there", n, len(d.data)-d.pos)
		return nil
	}
	d.pos += n
	return d.data[d.pos-n : d.pos]
}

func (d *decoder) u8() uint8 {
	if p := d.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (d *decoder) u16() uint16 {
	if p := d.take(2); p != nil {
		return le.Uint16(p)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if p := d.take(8); p != nil {
		return le.Uint64(p)
	}
	return 0
}

func (d *decoder) float() float32 {
	if p := d.take(4); p != nil {
		return math.Float32frombits(le.Uint32(p))
	}
	return 0
}

// finite reads a number that is finite and not negative.
func (d *decoder) finite(name string) float32 {
	v := d.float()
	if !(v >= 0) || math.IsInf(float64(v), 0) {
		d.fail("%s %v", name, v)
	}
	return v
}

// uvarint reads a number of at most limit.
func (d *decoder) uvarint(limit uint64) uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.data[d.pos:])
	if n <= 0 || v > limit {
		d.fail("bad number")
		return 0
	}
	d.pos += n
	return v
}

// moves reads policy indices of 11 bits.
func (d *decoder) moves(legal []uint16) {
	packed := d.take((bitsPerMove*len(legal) + 7) / 8)
	if packed == nil {
		return
	}
	acc, have, at := uint32(0), 0, 0
	for j := range legal {
		for ; have < bitsPerMove; have += 8 {
			acc |= uint32(packed[at]) << have
			at++
		}
		legal[j] = uint16(acc & (1<<bitsPerMove - 1))
		acc >>= bitsPerMove
		have -= bitsPerMove
		if legal[j] >= encoding.NumPolicy {
			d.fail("policy index %d", legal[j])
			return
		}
	}
}

// policy reads the targets beside the moves; they come zeroed.
func (d *decoder) policy(policy []float32, asCounts bool) {
	set := d.take((len(policy) + 7) / 8)
	if set == nil {
		return
	}
	var counts [256]uint32
	sum := uint64(0)
	for j := range policy {
		if set[j/8]>>(j%8)&1 == 0 {
			continue
		}
		if !asCounts {
			policy[j] = d.finite("policy")
			continue
		}
		counts[j] = uint32(d.uvarint(math.MaxUint32))
		sum += uint64(counts[j])
	}
	if !asCounts || d.err != nil {
		return
	}
	if sum == 0 {
		d.fail("policy without a visit")
		return
	}
	for j := range policy {
		policy[j] = share(counts[j], sum)
	}
}

// targets reads the value targets.
func (d *decoder) targets(targets *[encoding.NumTargets]encoding.QDM) {
	head := d.take(3)
	if head == nil {
		return
	}
	kinds := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	for k := range targets {
		v := &targets[k]
		switch kind := kinds >> (3 * k) & 7; {
		case kind == targetUnknown:
			*v = encoding.UnknownQDM
		case kind == targetFull:
			*v = encoding.QDM{Q: d.float(), D: d.float(), M: d.float()}
		case kind == targetResult:
			head := d.u8()
			if head&3 > 2 || head>>3 != 0 {
				d.fail("result %#x", head)
			}
			*v = encoding.QDM{Q: float32(int(head&3) - 1), D: float32(head >> 2), M: float32(d.uvarint(1<<16 - 1))}
		case kind == targetPartial:
			d.partial(v)
		case kind == targetAsBefore && k > 0:
			*v = targets[k-1]
		default:
			d.fail("target %d of kind %d", k, kind)
			return
		}
	}
}

func (d *decoder) partial(v *encoding.QDM) {
	*v = encoding.UnknownQDM
	known := d.u8()
	for bit, f := range [3]*float32{&v.Q, &v.D, &v.M} {
		if known>>bit&1 != 0 {
			*f = d.float()
		}
	}
}
