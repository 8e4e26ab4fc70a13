package kernels

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// All values of the 16-bit formats, and floats of all kinds: those next to ties too.
func TestConversions(t *testing.T) {
	for _, typ := range []Type{BF16, FP16} {
		eachSeed(t, func(t *testing.T, d driver.Device, _ *Set, s driver.Stream) {
			codes := make([]uint16, 1<<16)
			for i := range codes {
				codes[i] = uint16(i)
			}
			out := alloc(t, d, len(codes)*4)
			must(t, primitive(t, d, s, "test_widen_"+typ.String(), line(256), line(256), 0, memoryArgs{in: uploadOf(t, d, s, codes), out: out, n: 1 << 16}))
			wide := download(t, s, F32, out, len(codes))
			in := hardFloats(fresh(t), wide)
			for i, want := range decode(typ, binary.LittleEndian.AppendUint16(nil, 0)) { // the reference's zero
				if wide[i] != want {
					t.Fatalf("%v 0 is %g", typ, wide[i])
				}
			}
			b, err := binary.Append(nil, binary.LittleEndian, codes)
			must(t, err)
			for i, want := range decode(typ, b) {
				if math.Float32bits(wide[i]) != math.Float32bits(want) && (want == want || wide[i] == wide[i]) {
					t.Fatalf("%v %#04x is %g, want %g", typ, i, wide[i], want)
				}
			}
			out = alloc(t, d, len(in)*2)
			must(t, primitive(t, d, s, "test_narrow_"+typ.String(), line(ceil(len(in), 256)), line(256), 0, memoryArgs{in: upload(t, d, s, F32, in), out: out, n: int32(len(in))}))
			want := encode(typ, in)
			for i, got := range downloadOf[uint16](t, s, out, len(in)) {
				if w := binary.LittleEndian.Uint16(want[2*i:]); got != w {
					t.Fatalf("%x to %v: %#04x, want %#04x", in[i], typ, got, w)
				}
			}
		})
	}
}

// hardFloats returns random bit patterns, and the middle of each value and its next
// with the floats around it.
func hardFloats(r *rand.Rand, values []float32) []float32 {
	in := []float32{0, float32(math.Inf(1)), math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.NaN())}
	for range 20000 {
		in = append(in, math.Float32frombits(r.Uint32()))
	}
	for i := 0; i+1 < len(values); i++ {
		if middle := float32((float64(values[i]) + float64(values[i+1])) / 2); middle == middle {
			in = append(in, middle, math.Nextafter32(middle, -math.MaxFloat32), math.Nextafter32(middle, math.MaxFloat32))
		}
	}
	for _, x := range in {
		in = append(in, -x)
	}
	return in
}

// The literal facts that hold the reference of the test above in place.
func TestNarrowFacts(t *testing.T) {
	for _, c := range []struct {
		typ  Type
		x    float32
		want uint16
	}{
		{BF16, 1, 0x3f80}, {BF16, 1.00390625, 0x3f80}, {BF16, 1.01171875, 0x3f82}, {BF16, math.MaxFloat32, 0x7f80}, {BF16, 0x1p-133, 1}, {BF16, 0x1p-134, 0}, {BF16, -2, 0xc000},
		{FP16, 1, 0x3c00}, {FP16, 65504, 0x7bff}, {FP16, 65519.996, 0x7bff}, {FP16, 65520, 0x7c00}, {FP16, 0x1p-24, 1}, {FP16, 0x1p-25, 0}, {FP16, 0x1.8p-24, 2}, {FP16, 0x1p-14, 0x400}, {FP16, -0.333251953125, 0xb555},
	} {
		if got := binary.LittleEndian.Uint16(encode(c.typ, []float32{c.x})); got != c.want {
			t.Errorf("%g to %v: %#04x, want %#04x", c.x, c.typ, got, c.want)
		}
	}
}
