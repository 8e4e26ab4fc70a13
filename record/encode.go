package record

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"sync"

	"github.com/chessbrain/chessbrain/encoding"
)

// encoder is Append's scratch.
type encoder struct {
	plies []byte // the entries of all plies
	table []byte // their sizes
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// Append validates g and appends its bytes to dst. On error (an
// *InvalidError, also where the game needs more than MaxBytes) dst is returned
// unchanged. Equal games give equal bytes, and Append of a decoded game gives
// the bytes it was decoded from.
func Append(dst []byte, g *Game) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.plies, e.table = e.plies[:0], e.table[:0]
	err := g.replay(func(w *walker, p *Ply) {
		from := len(e.plies)
		e.plies = appendPly(e.plies, p, w.diskOrder())
		e.table = binary.LittleEndian.AppendUint16(e.table, uint16(len(e.plies)-from))
	})
	if err != nil {
		return dst, err
	}
	body := appendHeader(make([]byte, 0, 128+len(g.Start)+len(g.NetID)+2*len(e.table)+len(e.plies)+resultBytes*len(g.Results)+len(g.Extra)), g)
	for i := range g.Plies {
		body = binary.LittleEndian.AppendUint16(body, uint16(g.Plies[i].Move))
	}
	body = append(body, e.table...)
	body = append(body, e.plies...)
	v := byte(version)
	if len(g.Results) > 0 {
		v = versionResults
		for _, r := range g.Results {
			body = appendValue(body, r)
		}
	}
	body = appendBytes(body, string(g.Extra))

	start := len(dst)
	out := append(dst, magic...)
	out = append(out, v)
	out = appendBytes(out, string(body))
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(out[start:], castagnoli))
	if size := len(out) - start; size > MaxBytes {
		return dst, invalid(-1, "size", "%d bytes encoded, at most %d", size, MaxBytes)
	}
	return out, nil
}

func appendHeader(b []byte, g *Game) []byte {
	b = append(b, g.ID[:]...)
	b = appendBytes(b, g.Start)
	b = appendBytes(b, g.NetID)
	b = binary.LittleEndian.AppendUint64(b, g.Seed)
	b = binary.LittleEndian.AppendUint64(b, g.Ordinal)
	b = binary.LittleEndian.AppendUint16(b, uint16(g.Flags))
	b = append(b, byte(g.End), byte(g.WhiteResult))
	return binary.AppendUvarint(b, uint64(len(g.Plies)))
}

// appendPly appends the entry of p; order is disk order -> generation order.
func appendPly(b []byte, p *Ply, order []uint8) []byte {
	b = append(b, byte(p.Flags))
	b = binary.AppendUvarint(b, uint64(p.Visits))
	b = appendFloat(b, p.Weight)
	b = appendFloat(b, p.KLD)
	for _, v := range p.values() {
		b = appendValue(b, v.QDM)
	}
	b = append(b, byte(p.Kind))
	switch p.Kind {
	case PolicyCounts:
		n := 0
		for _, c := range p.Counts {
			if c != 0 {
				n++
			}
		}
		b = binary.AppendUvarint(b, uint64(n))
		for ordinal, j := range order {
			if c := p.Counts[j]; c != 0 {
				b = append(b, byte(ordinal))
				b = binary.AppendUvarint(b, uint64(c))
			}
		}
	case PolicyProbs:
		for _, j := range order {
			b = appendFloat(b, p.Probs[j])
		}
	}
	return b
}

func appendValue(b []byte, v encoding.QDM) []byte {
	return appendFloat(appendFloat(appendFloat(b, v.Q), v.D), v.M)
}

// appendFloat appends the bits of v; all NaN have one spelling.
func appendFloat(b []byte, v float32) []byte {
	bits := math.Float32bits(v)
	if v != v {
		bits = canonicalNaN
	}
	return binary.LittleEndian.AppendUint32(b, bits)
}

func appendBytes(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
