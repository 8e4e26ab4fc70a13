package lc0

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/encoding/lc0/netpb"
)

func TestLinear16(t *testing.T) {
	l := &netpb.Layer{MinVal: proto.Float32(-1), MaxVal: proto.Float32(3), Params: []byte{0, 0, 0xff, 0xff, 0, 0x80}}
	got, err := decodeLayer(l, 3, int32(Linear16))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{-1, 3, -1 + 4*32768./65535} {
		if math.Abs(float64(got[i])-want) > 1e-6 {
			t.Errorf("number %d is %v, want %v", i, got[i], want)
		}
	}
}

func TestDecodeLayerEncodings(t *testing.T) {
	for _, c := range []struct {
		encoding LayerEncoding
		params   []byte
		want     float32
	}{
		{Float16, []byte{0, 0xc0}, -2},
		{BFloat16, []byte{0x80, 0x3f}, 1},
		{Float32, []byte{0, 0, 0x80, 0x3f}, 1},
	} {
		e := int32(c.encoding)
		got, err := decodeLayer(&netpb.Layer{Params: c.params, Encoding: &e}, 1, int32(Linear16))
		if err != nil || got[0] != c.want {
			t.Errorf("%s: %v, %v, want %v", c.encoding, got, err, c.want)
		}
	}
	if _, err := decodeLayer(&netpb.Layer{Params: []byte{1, 2}}, 1, 9); !errors.Is(err, ErrUnsupported) {
		t.Errorf("encoding 9: %v", err)
	}
	if _, err := decodeLayer(&netpb.Layer{Params: []byte{1, 2, 3}}, 1, int32(Linear16)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("three bytes: %v", err)
	}
	if got, err := decodeLayer(&netpb.Layer{MaxVal: proto.Float32(2), Params: []byte{0xff, 0xff}}, 1, 0); err != nil || got[0] != 2 {
		t.Errorf("a layer that names no encoding, in a file that names none: %v, %v", got, err)
	}
}

// stepsOf returns by how much each number may be off, in float64, with room for
// the decoder's float32 roundings (a few 2^-24 of the range).
func stepsOf(x []float32, e LayerEncoding) []float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		lo, hi = min(lo, float64(v)), max(hi, float64(v))
	}
	steps := make([]float64, len(x))
	for i := range x {
		v := math.Abs(float64(x[i]))
		switch e {
		case Linear16:
			steps[i] = (hi-lo)/131070 + 4*max(-lo, hi, hi-lo)/(1<<24)
		case Float16:
			steps[i] = max(v/2048, 1.0/(1<<25))
		case BFloat16:
			steps[i] = v / 256
		}
	}
	return steps
}

func TestEncodeLayer(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, scale := range []float64{1e-3, 1, 300} {
		x := make([]float32, 500)
		for i := range x {
			x[i] = float32(rng.NormFloat64() * scale)
		}
		for _, e := range []LayerEncoding{Linear16, Float16, BFloat16, Float32} {
			l, err := encodeLayer(x, e)
			if err != nil {
				t.Fatal(err)
			}
			if e == Linear16 && l.Encoding != nil {
				t.Error("a Linear16 layer names its encoding: engines before 0.33 do not know the field")
			}
			got, err := decodeLayer(l, len(x), int32(Linear16))
			if err != nil {
				t.Fatal(err)
			}
			for i, step := range stepsOf(x, e) {
				if d := math.Abs(float64(got[i]) - float64(x[i])); d > step {
					t.Fatalf("seed %d, %s: %v becomes %v, more than %g off", seed, e, x[i], got[i], step)
				}
			}
		}
	}
}

func TestEncodeLayerEdges(t *testing.T) {
	l, err := encodeLayer([]float32{7, 7, 7}, Linear16)
	if err != nil || binary.LittleEndian.Uint16(l.Params[4:]) != 0 {
		t.Errorf("equal numbers: %v, %v, want steps of 0", l, err)
	}
	if got, err := decodeLayer(l, 3, 0); err != nil || got[2] != 7 {
		t.Errorf("equal numbers: %v, %v", got, err)
	}
	l, err = encodeLayer([]float32{-math.MaxFloat32, math.MaxFloat32, 0}, Linear16)
	if err != nil || string(l.Params[:4]) != "\x00\x00\xff\xff" {
		t.Errorf("the greatest range: %v, %v", l, err)
	}
	if _, err := encodeLayer([]float32{1, 70000}, Float16); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "number 1 is 70000") {
		t.Errorf("beyond binary16: %v", err)
	}
	if _, err := encodeLayer([]float32{math.MaxFloat32}, BFloat16); !errors.Is(err, ErrUnsupported) {
		t.Errorf("beyond bfloat16: %v", err)
	}
}

func TestEncodingNames(t *testing.T) {
	for i, name := range EncodingNames() {
		e, err := ParseLayerEncoding(strings.ToUpper(name))
		if err != nil || e != LayerEncoding(i+1) || e.String() != name {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	if _, err := ParseLayerEncoding("int8"); err == nil || !strings.Contains(err.Error(), "bfloat16") {
		t.Errorf("int8: %v", err)
	}
}
