package lc0

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/lc0/netpb"
	"github.com/chessbrain/chessbrain/nn"
)

// Encodings of a layer's numbers.
const (
	encodingLinear16 = 1
	encodingFloat16  = 2
	encodingBFloat16 = 3
	encodingFloat32  = 4
)

// decodeLayer returns the n numbers of a layer; fallback is the file's encoding,
// for layers that name none.
func decodeLayer(l *netpb.Layer, n int, fallback int32) ([]float32, error) {
	params := l.GetParams()
	encoding := l.GetEncoding()
	if encoding == 0 {
		encoding = fallback
	}
	width := 2
	if encoding == encodingFloat32 {
		width = 4
	}
	if len(params) != n*width {
		return nil, fmt.Errorf("%w: %d bytes, want %d numbers of %d", ErrCorrupt, len(params), n, width)
	}
	out := make([]float32, n)
	u16 := func(i int) uint16 { return binary.LittleEndian.Uint16(params[2*i:]) }
	for i := range out {
		switch encoding {
		case encodingLinear16:
			out[i] = linear16(u16(i), l.GetMinVal(), l.GetMaxVal())
		case encodingFloat16:
			out[i] = nn.Float16(u16(i))
		case encodingBFloat16:
			out[i] = math.Float32frombits(uint32(u16(i)) << 16)
		case encodingFloat32:
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(params[4*i:]))
		default:
			return nil, fmt.Errorf("%w: encoding %d of weights", ErrUnsupported, encoding)
		}
	}
	return out, nil
}

// linear16 is lo*(1-t) + hi*t with t = u/65535. The conversions keep compilers
// from fusing: the same bits everywhere.
func linear16(u uint16, lo, hi float32) float32 {
	t := float32(u) / 65535
	return float32(lo*float32(1-t)) + float32(hi*t)
}
