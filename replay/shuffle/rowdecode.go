package shuffle

import (
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// DecodeRow appends the packed row data to b. On error, which says what is
// wrong with the bytes, b is as it was.
func DecodeRow(b *encoding.TrainBatch, data []byte) error {
	d := decoder{replay.Decoder{Data: data}}
	flags, rule50, numLegal := d.U8(), d.U8(), int(d.U8())
	i := b.Grow(numLegal)
	if flags&flagRaw != 0 {
		for k := range b.Masks[i] {
			b.Masks[i][k] = d.U64()
		}
	} else {
		d.boards(&b.Masks[i])
	}
	b.Scalars[i] = encoding.Scalars{BlackToMove: flags & 1, OurOOO: flags >> 1 & 1, OurOO: flags >> 2 & 1,
		TheirOOO: flags >> 3 & 1, TheirOO: flags >> 4 & 1, Rule50: rule50}
	d.moves(b.LegalOf(i))
	d.policy(b.PolicyOf(i), flags&flagCounts != 0)
	ahead := d.targets(&b.Targets[i])
	b.Weight[i] = 1
	if flags&flagWeight != 0 {
		b.Weight[i] = d.finite("weight")
	}
	if ahead {
		d.ahead(&b.Ahead[i])
	}
	if err := d.End(); err != nil {
		b.DropLast()
		return fmt.Errorf("packed row: byte %d: %w", d.Pos, err)
	}
	return nil
}

// decoder reads a packed row.
type decoder struct{ replay.Decoder }

// ahead reads what came later.
func (d *decoder) ahead(a *encoding.Ahead) {
	from, to := d.U8(), d.U8()
	a.From, a.To = chess.Square(from&^fromKnown), chess.Square(to&63)
	if p := to >> toPromotion; p > 0 {
		a.Promotion = chess.Knight + chess.PieceType(p)
	}
	if a.Known = from&fromKnown != 0; a.Known {
		a.Material, a.Survive = int8(d.U8()), d.U64()
	}
	if a.From >= chess.NoSquare {
		d.Fail("reply from square %d", a.From)
	}
}

// finite reads a number that is finite and not negative.
func (d *decoder) finite(name string) float32 {
	v := d.Float()
	if !(v >= 0) || math.IsInf(float64(v), 0) {
		d.Fail("%s %v", name, v)
	}
	return v
}

// moves reads policy indices of 11 bits.
func (d *decoder) moves(legal []uint16) {
	packed := d.Take((bitsPerMove*len(legal) + 7) / 8)
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
			d.Fail("policy index %d", legal[j])
			return
		}
	}
}

// policy reads the targets beside the moves; they come zeroed.
func (d *decoder) policy(policy []float32, asCounts bool) {
	set := d.Take((len(policy) + 7) / 8)
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
		counts[j] = uint32(d.Uvarint(math.MaxUint32))
		sum += uint64(counts[j])
	}
	if !asCounts || d.Err != nil {
		return
	}
	if sum == 0 {
		d.Fail("policy without a visit")
		return
	}
	for j := range policy {
		policy[j] = record.ShareOf(uint64(counts[j]), sum)
	}
}

// targets reads the value targets, and whether what came later follows.
func (d *decoder) targets(targets *[encoding.NumTargets]encoding.QDM) (ahead bool) {
	head := d.Take(3)
	if head == nil {
		return false
	}
	kinds := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	for k := range targets {
		v := &targets[k]
		switch kind := kinds >> (3 * k) & 7; {
		case kind == targetUnknown:
			*v = encoding.UnknownQDM
		case kind == targetFull:
			*v = d.QDM()
		case kind == targetResult:
			head := d.U8()
			if head&3 > 2 || head>>3 != 0 {
				d.Fail("result %#x", head)
			}
			*v = encoding.QDM{Q: float32(int(head&3) - 1), D: float32(head >> 2), M: float32(d.Uvarint(1<<16 - 1))}
		case kind == targetPartial:
			d.partial(v)
		case kind == targetAsBefore && k > 0:
			*v = targets[k-1]
		default:
			d.Fail("target %d of kind %d", k, kind)
			return false
		}
	}
	return kinds&targetsAhead != 0
}

func (d *decoder) partial(v *encoding.QDM) {
	*v = encoding.UnknownQDM
	known := d.U8()
	for bit, f := range [3]*float32{&v.Q, &v.D, &v.M} {
		if known>>bit&1 != 0 {
			*f = d.Float()
		}
	}
}
