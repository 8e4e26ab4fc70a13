package kernels

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// SetSignatures gives the tests of this package the kit that it cannot import.
func SetSignatures(all map[string]reflect.Type, of func(kernel string) reflect.Type) {
	signatures, argumentsOf = all, of
}

var (
	signatures  map[string]reflect.Type
	argumentsOf func(kernel string) reflect.Type
)

// eachSeed runs f on two devices whose threads run in different orders, for a
// result that must not depend on them. On the second one races are errors.
func eachSeed(t *testing.T, f func(t *testing.T, d driver.Device, k *Set, s driver.Stream)) {
	t.Helper()
	t.Run("first order", func(t *testing.T) {
		d, k, s := openWith(t, emulated.Options{})
		f(t, d, k, s)
	})
	t.Run("second order", func(t *testing.T) {
		d, k, s := open(t)
		f(t, d, k, s)
	})
}

// eachOrder is eachSeed for kernels that have races on purpose.
func eachOrder(t *testing.T, f func(t *testing.T, d driver.Device, k *Set, s driver.Stream)) {
	t.Helper()
	t.Setenv(emulated.RacesVariable, "")
	for _, name := range []string{"first order", "second order"} {
		t.Run(name, func(t *testing.T) {
			d, k, s := openWith(t, emulated.Options{})
			f(t, d, k, s)
		})
	}
}

// open returns a device with its kernels and a stream. Races are errors on it.
func open(tb testing.TB) (driver.Device, *Set, driver.Stream) {
	tb.Helper()
	return openWith(tb, emulated.Options{Races: true})
}

// openWith is open with options.
func openWith(tb testing.TB, o emulated.Options) (driver.Device, *Set, driver.Stream) {
	tb.Helper()
	d := emulated.OpenWith(tb, o)
	k, err := Load(d)
	must(tb, err)
	s, err := d.NewStream()
	must(tb, err)
	tb.Cleanup(func() { must(tb, s.Destroy()) })
	return d, k, s
}

// run launches and waits.
func run(tb testing.TB, k *Set, s driver.Stream, launches ...Launch) {
	tb.Helper()
	for _, l := range launches {
		must(tb, k.Run(s, l))
	}
	must(tb, s.Synchronize())
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// fresh returns a generator with a seed that is printed.
func fresh(tb testing.TB) *rand.Rand {
	seed := rand.Uint64()
	tb.Logf("inputs: rand.NewPCG(%d, 0)", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// normal returns n values of a normal distribution.
func normal(r *rand.Rand, n int, deviation float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64() * deviation)
	}
	return v
}

// alloc returns device memory until the end of the test, full of NaN.
func alloc(tb testing.TB, d driver.Device, bytes int) driver.Ptr {
	tb.Helper()
	p, err := d.Alloc(bytes)
	must(tb, err)
	tb.Cleanup(func() { must(tb, d.Free(p)) })
	return p
}

// upload returns device memory that holds values, rounded to t.
func upload(tb testing.TB, d driver.Device, s driver.Stream, t Type, values []float32) driver.Ptr {
	tb.Helper()
	return uploadBytes(tb, d, s, encode(t, values))
}

// uploadOf returns device memory that holds values as they lie in Go's memory.
func uploadOf[V any](tb testing.TB, d driver.Device, s driver.Stream, values []V) driver.Ptr {
	tb.Helper()
	b, err := binary.Append(nil, binary.LittleEndian, values)
	must(tb, err)
	return uploadBytes(tb, d, s, b)
}

func uploadBytes(tb testing.TB, d driver.Device, s driver.Stream, b []byte) driver.Ptr {
	tb.Helper()
	p := alloc(tb, d, max(len(b), 1))
	must(tb, s.CopyToDevice(p, b))
	return p
}

// download returns n values of type t at p, when the stream's work is done.
func download(tb testing.TB, s driver.Stream, t Type, p driver.Ptr, n int) []float32 {
	tb.Helper()
	return decode(t, downloadOf[byte](tb, s, p, n*t.Size()))
}

// downloadOf returns n values at p, when the stream's work is done.
func downloadOf[V any](tb testing.TB, s driver.Stream, p driver.Ptr, n int) []V {
	tb.Helper()
	v := make([]V, n)
	b := make([]byte, binary.Size(v))
	must(tb, s.CopyToHost(b, p))
	must(tb, s.Synchronize())
	_, err := binary.Decode(b, binary.LittleEndian, v)
	must(tb, err)
	return v
}

// round returns x as t stores it: to nearest, ties to even.
func round(t Type, x float32) float32 { return decode(t, encode(t, []float32{x}))[0] }

// rounded returns all values as t stores them.
func rounded(t Type, values []float32) []float32 { return decode(t, encode(t, values)) }

// encode returns values as t stores them.
func encode(t Type, values []float32) []byte {
	b := make([]byte, 0, len(values)*t.Size())
	for _, x := range values {
		switch t {
		case F32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		case BF16:
			b = binary.LittleEndian.AppendUint16(b, narrow(x, 8, -133))
		case FP16:
			b = binary.LittleEndian.AppendUint16(b, narrow(x, 11, -24))
		}
	}
	return b
}

// decode is encode's inverse.
func decode(t Type, b []byte) []float32 {
	v := make([]float32, len(b)/t.Size())
	for i := range v {
		switch t {
		case F32:
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		case BF16:
			v[i] = float32(widen(binary.LittleEndian.Uint16(b[2*i:]), 8, -133))
		case FP16:
			v[i] = float32(widen(binary.LittleEndian.Uint16(b[2*i:]), 11, -24))
		}
	}
	return v
}

// narrow returns x in the 16-bit format of that many significant bits whose smallest
// positive number is 2^smallest, from the definition of IEEE 754's formats alone.
func narrow(x float32, significant, smallest int) uint16 {
	var sign uint16
	if math.Signbit(float64(x)) {
		sign = 0x8000
	}
	fraction := significant - 1
	infinity := uint16(1<<(15-fraction)-1) << fraction
	if x != x {
		return 0x7fff
	}
	a := math.Abs(float64(x))
	if math.IsInf(a, 0) {
		return sign | infinity
	}
	if a == 0 {
		return sign
	}
	_, e := math.Frexp(a) // a < 2^e
	unit := max(e-significant, smallest)
	n := uint64(math.RoundToEven(math.Ldexp(a, -unit))) // at most 2^significant
	// A number of n units is n in the lowest binade, where units are the smallest,
	// and 2^fraction more for each binade above it.
	code := uint64(unit-smallest)<<fraction + n
	return sign | uint16(min(code, uint64(infinity)))
}

// widen is narrow's inverse.
func widen(code uint16, significant, smallest int) float64 {
	fraction := significant - 1
	exponent, n := int(code&0x7fff)>>fraction, int(code)&(1<<fraction-1)
	v := math.Ldexp(float64(n), smallest)
	if exponent == 1<<(15-fraction)-1 {
		v = math.Inf(1)
		if n != 0 {
			v = math.NaN()
		}
	} else if exponent > 0 {
		v = math.Ldexp(float64(n+1<<fraction), smallest+exponent-1)
	}
	return math.Copysign(v, 1-2*float64(code>>15))
}

// near fails where got is further from want than absolute + relative*|want|; NaN is
// near NaN only. It names the worst place.
func near(tb testing.TB, what string, got []float32, want []float64, absolute, relative float64) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	worst, at := 0.0, -1
	for i := range got {
		g, w := float64(got[i]), want[i]
		if math.IsNaN(g) && math.IsNaN(w) || g == w {
			continue
		}
		excess := math.Abs(g-w) / (absolute + relative*math.Abs(w))
		if math.IsNaN(excess) {
			excess = math.Inf(1)
		}
		if excess > worst {
			worst, at = excess, i
		}
	}
	if worst > 1 {
		tb.Errorf("%s: element %d is %g, want %g: %.3g times the tolerance of %g + %g*|want|", what, at, got[at], want[at], worst, absolute, relative)
	}
}
