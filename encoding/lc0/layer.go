package lc0

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/encoding/lc0/netpb"
	"github.com/chessbrain/chessbrain/nn"
)

// LayerEncoding says how a layer's numbers are stored; the values are the file's.
type LayerEncoding int32

// The encodings. Engines before 0.33 read Linear16 alone.
const (
	Linear16 LayerEncoding = 1 // 16-bit steps between the layer's least and greatest number
	Float16  LayerEncoding = 2 // IEEE binary16: 11 significant bits, up to 65504
	BFloat16 LayerEncoding = 3 // the upper half of a float32: 8 significant bits
	Float32  LayerEncoding = 4
)

var encodingNames = []string{"linear16", "float16", "bfloat16", "float32"}

// EncodingNames returns the names of the encodings, Linear16's first.
func EncodingNames() []string { return slices.Clone(encodingNames) }

// String returns the encoding's name in small letters.
func (e LayerEncoding) String() string {
	if !e.known() {
		return fmt.Sprintf("encoding %d", int32(e))
	}
	return encodingNames[e-1]
}

// ParseLayerEncoding returns the encoding of a name, in any case.
func ParseLayerEncoding(s string) (LayerEncoding, error) {
	if i := slices.Index(encodingNames, strings.ToLower(s)); i >= 0 {
		return LayerEncoding(i + 1), nil
	}
	return 0, fmt.Errorf("unknown encoding of weights %q, want one of %s", s, strings.Join(encodingNames, ", "))
}

func (e LayerEncoding) known() bool { return e >= Linear16 && e <= Float32 }

// width returns the bytes of one number.
func (e LayerEncoding) width() int {
	if e == Float32 {
		return 4
	}
	return 2
}

// encodingOf returns the encoding of a layer: its own, else the file's, else
// Linear16, which alone there was before layers said it.
func encodingOf(l *netpb.Layer, file int32) LayerEncoding {
	return cmp.Or(LayerEncoding(l.GetEncoding()), LayerEncoding(file), Linear16)
}

// decodeLayer returns the n numbers of a layer; file is the file's encoding, for
// layers that name none.
func decodeLayer(l *netpb.Layer, n int, file int32) ([]float32, error) {
	e := encodingOf(l, file)
	if !e.known() {
		return nil, fmt.Errorf("%w: %s of weights", ErrUnsupported, e)
	}
	params := l.GetParams()
	if len(params) != n*e.width() {
		return nil, fmt.Errorf("%w: %d bytes, want %d numbers of %d", ErrCorrupt, len(params), n, e.width())
	}
	out := make([]float32, n)
	u16 := func(i int) uint16 { return binary.LittleEndian.Uint16(params[2*i:]) }
	for i := range out {
		switch e {
		case Linear16:
			out[i] = linear16(u16(i), l.GetMinVal(), l.GetMaxVal())
		case Float16:
			out[i] = nn.Float16(u16(i))
		case BFloat16:
			out[i] = math.Float32frombits(uint32(u16(i)) << 16)
		case Float32:
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(params[4*i:]))
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

// encodeLayer returns a layer of finite numbers, each rounded to the nearest that
// the encoding has (Linear16: at most half a step, (max-min)/131070, off). It is
// an error where Float16 or BFloat16 would make a number infinite.
func encodeLayer(x []float32, e LayerEncoding) (*netpb.Layer, error) {
	l := &netpb.Layer{Params: make([]byte, 0, len(x)*e.width())}
	if e == Linear16 {
		lo, hi := slices.Min(x), slices.Max(x)
		l.MinVal, l.MaxVal = proto.Float32(lo), proto.Float32(hi)
		for _, v := range x {
			l.Params = binary.LittleEndian.AppendUint16(l.Params, toLinear16(v, lo, hi))
		}
		return l, nil // no encoding named: engines of all ages read it
	}
	l.Encoding = proto.Int32(int32(e))
	if e == Float32 {
		l.Params, _ = binary.Append(l.Params, binary.LittleEndian, x) // numbers have a size
		return l, nil
	}
	round, infinite := nn.ToFloat16, uint16(0x7c00)
	if e == BFloat16 {
		round, infinite = nn.ToBFloat16, 0x7f80
	}
	for i, v := range x {
		h := round(v)
		if h&infinite == infinite {
			return nil, fmt.Errorf("%w: number %d is %v, beyond %s; choose %s or %s", ErrUnsupported, i, v, e, Linear16, Float32)
		}
		l.Params = binary.LittleEndian.AppendUint16(l.Params, h)
	}
	return l, nil
}

// toLinear16 returns the step nearest to v, lo <= v <= hi.
func toLinear16(v, lo, hi float32) uint16 {
	if lo == hi {
		return 0
	}
	return uint16(math.Round((float64(v) - float64(lo)) / (float64(hi) - float64(lo)) * 65535))
}
