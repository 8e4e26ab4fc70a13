package kernels

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// memoryArgs mirrors MemoryArgs of testdata/primitives.cu.
type memoryArgs struct {
	in, out driver.Ptr
	n, mode int32
}

// primitive runs a kernel of testdata/primitives.cu and returns what it or the
// synchronisation says.
func primitive(tb testing.TB, d driver.Device, s driver.Stream, name string, grid, block driver.Dim, shared int, a memoryArgs) error {
	tb.Helper()
	var text []byte
	if sourcesOf(d) == nil {
		packed, err := os.ReadFile("testdata/primitives.half.ptx.gz")
		must(tb, err)
		text, err = unpacked(packed)
		must(tb, err)
	}
	m, err := d.Load("testdata/primitives", text)
	must(tb, err)
	f, err := m.Function(name)
	must(tb, err)
	if err := s.Launch(f, grid, block, shared, bytesOf(&a)); err != nil {
		return err
	}
	return s.Synchronize()
}

// line is a grid or block of one dimension.
func line(n int) driver.Dim { return driver.Dim{X: n, Y: 1, Z: 1} }

func TestPlaces(t *testing.T) {
	eachSeed(t, func(t *testing.T, d driver.Device, _ *Set, s driver.Stream) {
		grid, block := driver.Dim{X: 2, Y: 3, Z: 2}, driver.Dim{X: 5, Y: 3, Z: 7}
		out := alloc(t, d, 12*105*4)
		must(t, primitive(t, d, s, "test_places", grid, block, 0, memoryArgs{out: out}))
		for i, v := range downloadOf[int32](t, s, out, 12*105) {
			b, x, y, z := i/105, i%5, i/5%3, i%105/15
			if want := int32(b*10000 + x + 100*y + 1000*z); v != want {
				t.Fatalf("block %d, thread (%d,%d,%d) wrote %d, want %d", b, x, y, z, v, want)
			}
		}
	})
}

func TestShuffle(t *testing.T) {
	eachSeed(t, func(t *testing.T, d driver.Device, _ *Set, s driver.Stream) {
		in := normal(fresh(t), 256, 1)
		out := alloc(t, d, 256*6*4)
		must(t, primitive(t, d, s, "test_shuffle", line(1), line(256), 0, memoryArgs{in: upload(t, d, s, F32, in), out: out}))
		got := download(t, s, F32, out, 256*6)
		for i := range in {
			warp, lane := i/32*32, i%32
			for j := range 5 {
				if want := in[warp+lane^1<<j]; got[6*i+j] != want {
					t.Fatalf("thread %d, xor %d: %g, want %g", i, 1<<j, got[6*i+j], want)
				}
			}
			if want := in[warp+(i*7+3)%32]; got[6*i+5] != want {
				t.Fatalf("thread %d, shuffle: %g, want %g", i, got[6*i+5], want)
			}
		}
	})
}

// The layouts as the PTX ISA draws them (ldmatrix, fragments of .m8n8): element e of
// row r is the number 8r+e, so that registers can be written down.
func TestLoadMatrix(t *testing.T) {
	eachSeed(t, func(t *testing.T, d driver.Device, _ *Set, s driver.Stream) {
		rows := make([]uint16, 32*8)
		for i := range rows {
			rows[i] = uint16(i)
		}
		out := alloc(t, d, 32*8*4)
		must(t, primitive(t, d, s, "test_load_matrix", line(1), line(32), 512, memoryArgs{in: uploadOf(t, d, s, rows), out: out}))
		got := downloadOf[[2]uint16](t, s, out, 32*8)
		for lane, want := range map[int][8][2]uint16{
			0:  {{0, 1}, {64, 65}, {128, 129}, {192, 193}, {0, 8}, {64, 72}, {128, 136}, {192, 200}},
			1:  {{2, 3}, {66, 67}, {130, 131}, {194, 195}, {16, 24}, {80, 88}, {144, 152}, {208, 216}},
			6:  {{12, 13}, {76, 77}, {140, 141}, {204, 205}, {33, 41}, {97, 105}, {161, 169}, {225, 233}},
			31: {{62, 63}, {126, 127}, {190, 191}, {254, 255}, {55, 63}, {119, 127}, {183, 191}, {247, 255}},
		} {
			if [8][2]uint16(got[8*lane:8*lane+8]) != want {
				t.Errorf("lane %d has %v, want %v", lane, got[8*lane:8*lane+8], want)
			}
		}
	})
}

// fragment places of mma.m16n8k16 as the PTX ISA gives them, written out by lane:
// row and column (of a and d), or k and column (of b), of elements 0 and 1 of each register.
var fragmentPlaces = map[int]struct {
	a [4][2][2]int
	b [2][2][2]int
	d [4][2]int
}{
	0: {
		a: [4][2][2]int{{{0, 0}, {0, 1}}, {{8, 0}, {8, 1}}, {{0, 8}, {0, 9}}, {{8, 8}, {8, 9}}},
		b: [2][2][2]int{{{0, 0}, {1, 0}}, {{8, 0}, {9, 0}}},
		d: [4][2]int{{0, 0}, {0, 1}, {8, 0}, {8, 1}},
	},
	7: {
		a: [4][2][2]int{{{1, 6}, {1, 7}}, {{9, 6}, {9, 7}}, {{1, 14}, {1, 15}}, {{9, 14}, {9, 15}}},
		b: [2][2][2]int{{{6, 1}, {7, 1}}, {{14, 1}, {15, 1}}},
		d: [4][2]int{{1, 6}, {1, 7}, {9, 6}, {9, 7}},
	},
	30: {
		a: [4][2][2]int{{{7, 4}, {7, 5}}, {{15, 4}, {15, 5}}, {{7, 12}, {7, 13}}, {{15, 12}, {15, 13}}},
		b: [2][2][2]int{{{4, 7}, {5, 7}}, {{12, 7}, {13, 7}}},
		d: [4][2]int{{7, 4}, {7, 5}, {15, 4}, {15, 5}},
	},
}

// A single one in a (or in b), put into one lane's register, must come out at the
// lane and register of d that the layouts say.
func TestFragments(t *testing.T) {
	eachSeed(t, func(t *testing.T, d driver.Device, _ *Set, s driver.Stream) {
		for from, places := range fragmentPlaces {
			for r := range 6 {
				for half := range 2 {
					fragmentOne(t, d, s, from, r, half, places.a, places.b)
				}
			}
		}
	})
}

// fragmentOne sets element half of register r (0-3 of a, 4-5 of b) of a lane to 1 and
// the other matrix to 1 + its index along the free dimension.
func fragmentOne(t *testing.T, d driver.Device, s driver.Stream, from, r, half int, pa [4][2][2]int, pb [2][2][2]int) {
	words := make([]uint32, 32*10)
	one := uint32(encode(BF16, []float32{1})[1])<<8 | uint32(encode(BF16, []float32{1})[0])
	var row, column int // of the one
	for lane := range 32 {
		for i := range 6 {
			switch { // all ones in the other matrix
			case r < 4 && i >= 4, r >= 4 && i < 4:
				words[lane*10+i] = one | one<<16
			}
		}
	}
	words[from*10+r] = one << (16 * half)
	if r < 4 {
		row, column = pa[r][half][0], -1
	} else {
		row, column = -1, pb[r-4][half][1]
	}
	out := alloc(t, d, 32*4*4)
	must(t, primitive(t, d, s, "test_fragments_bf16", line(1), line(32), 0, memoryArgs{in: uploadOf(t, d, s, words), out: out, n: 1}))
	got := download(t, s, F32, out, 128)
	for lane, places := range fragmentPlaces {
		for i, p := range places.d {
			want := float32(0)
			if p[0] == row || p[1] == column {
				want = 1
			}
			if got[lane*4+i] != want {
				t.Errorf("one in lane %d register %d half %d: d[%d] of lane %d (row %d, column %d) is %g, want %g", from, r, half, i, lane, p[0], p[1], got[lane*4+i], want)
			}
		}
	}
	var sum float32
	for _, v := range got {
		sum += v
	}
	if want := map[bool]float32{true: 8, false: 16}[r < 4]; sum != want {
		t.Errorf("one in lane %d register %d half %d: d adds up to %g, want %g", from, r, half, sum, want)
	}
}

// Products through cp.async, ldmatrix and mma. The sums are in double, rounded to
// fp32 after each 16: at most n/16 roundings of 2^-24.
func TestProduct(t *testing.T) {
	for _, typ := range []Type{BF16, FP16} {
		eachSeed(t, func(t *testing.T, d driver.Device, _ *Set, s driver.Stream) {
			const n = 80
			in := rounded(typ, normal(fresh(t), 24*n, 1))
			out := alloc(t, d, 16*8*4)
			must(t, primitive(t, d, s, "test_product_"+typ.String(), line(1), line(32), 24*24*2, memoryArgs{in: upload(t, d, s, typ, in), out: out, n: n}))
			want, size := make([]float64, 128), 0.0
			for i := range 16 {
				for j := range 8 {
					for k := range n {
						want[i*8+j] += float64(in[i*n+k]) * float64(in[(16+j)*n+k])
					}
					size = max(size, math.Abs(want[i*8+j]))
				}
			}
			near(t, typ.String()+" product", download(t, s, F32, out, 128), want, 3*size*n/16*0x1p-24, 0)
		})
	}
}

func isPoison(v [4]uint32) bool {
	return v == [4]uint32{^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0)}
}

// Copies are there after the wait that covers them, and poison before.
func TestCopyAsync(t *testing.T) {
	eachOrder(t, func(t *testing.T, d driver.Device, _ *Set, s driver.Stream) {
		const threads, copies = 64, 5
		r := fresh(t)
		in := make([][4]uint32, threads*copies)
		for i := range in {
			in[i] = [4]uint32{r.Uint32() >> 1, r.Uint32(), r.Uint32(), r.Uint32()}
		}
		from, out := uploadOf(t, d, s, in), alloc(t, d, 2*threads*copies*16)
		for _, waits := range []bool{true, false} {
			a := memoryArgs{in: from, out: out, mode: copies, n: map[bool]int32{true: 0, false: 1}[waits]}
			must(t, primitive(t, d, s, "test_copy", line(1), line(threads), threads*copies*16, a))
			got := downloadOf[[4]uint32](t, s, out, 2*threads*copies)
			for i := range threads * copies {
				c, thread := i/threads, i%threads
				want, late := in[i], in[c*threads+threads-1-thread]
				if c == 1 { // the copy that is not valid
					want, late = [4]uint32{}, [4]uint32{}
				}
				if done := waits && c < copies-2; done && got[i] != want || !done && !isPoison(got[i]) {
					t.Fatalf("waits %v: copy %d of thread %d is %x before the last wait, want %x", waits, c, thread, got[i], want)
				}
				if g := got[threads*copies+i]; g != late {
					t.Fatalf("waits %v: copy %d of thread %d is %x in the end, want %x", waits, c, threads-1-thread, g, late)
				}
			}
		}
	})
}

func TestBarrier(t *testing.T) {
	eachOrder(t, func(t *testing.T, d driver.Device, _ *Set, s driver.Stream) {
		const n = 200
		in := normal(fresh(t), n, 1)
		from, out := upload(t, d, s, F32, in), alloc(t, d, n*4)
		must(t, primitive(t, d, s, "test_barrier", line(1), line(n), n*4, memoryArgs{in: from, out: out}))
		for i, v := range download(t, s, F32, out, n) {
			if v != in[(i+n/2)%n] {
				t.Fatalf("thread %d read %g, want %g", i, v, in[(i+n/2)%n])
			}
		}
		// without the barrier half of the threads read too early
		must(t, primitive(t, d, s, "test_barrier", line(1), line(n), n*4, memoryArgs{in: from, out: out, mode: 1}))
		early := 0
		for _, v := range download(t, s, F32, out, n) {
			if v != v {
				early++
			}
		}
		if early == 0 || early == n {
			t.Errorf("%d of %d threads read poison where a barrier is missing", early, n)
		}
		// threads that have returned are not waited for
		must(t, primitive(t, d, s, "test_return", line(1), line(n), n*4, memoryArgs{out: out, n: 77}))
		for i, v := range download(t, s, F32, out, 77) {
			if v != float32(76-i) {
				t.Fatalf("thread %d read %g, want %d", i, v, 76-i)
			}
		}
	})
}

// Every mistake is an error that says what and where, and breaks the device as it
// breaks a GPU's context.
func TestMistakes(t *testing.T) {
	emulated.Only(t)
	for _, c := range []struct {
		name    string
		mode, n int32
		want    []string
	}{
		{"barriers within a warp", 0, 0, []string{"kernel test_wrong, block (0,0,0)", "different places", "sync_threads at", "primitives.cu"}},
		{"barriers of warps", 1, 0, []string{"different places", "sync_threads at"}},
		{"lane returned", 2, 0, []string{"thread 5 has returned", "sync_warp"}},
		{"shuffle and barrier", 3, 0, []string{"different places", "shuffle at", "sync_threads at"}},
		{"past global memory", 4, 256, []string{"accesses the address", "of an allocation of 1000 bytes", "primitives.cu:7"}},
		{"float4 misaligned", 12, 0, []string{"misaligned access", "primitives.cu:8"}},
		{"past shared memory", 5, 0, []string{"of 276 bytes of shared memory", "primitives.cu:7"}},
		{"slack of shared memory", 6, 0, []string{"past the end of its 276 bytes of shared memory"}},
		{"null", 8, 0, []string{"accesses the address (nil)"}},
		{"ldmatrix misaligned", 9, 0, []string{"load_matrix_x4", "not a multiple of 16"}},
		{"ldmatrix of global memory", 10, 0, []string{"load_matrix_x4", "from the start of 276 bytes"}},
		{"cp.async misaligned", 11, 0, []string{"copy_async16", "not a multiple of 16"}},
	} {
		eachOrder(t, func(t *testing.T, d driver.Device, _ *Set, s driver.Stream) {
			threads := 69 // the last warp is not full
			if c.mode == 2 {
				threads = 64
			}
			p := alloc(t, d, 1000)
			err := primitive(t, d, s, "test_wrong", line(1), line(threads), threads*4, memoryArgs{in: p, out: p, mode: c.mode, n: c.n})
			if err == nil {
				t.Fatalf("%s: no error", c.name)
			}
			for _, want := range c.want {
				if sourcesOf(d) == nil && strings.HasPrefix(want, "primitives.cu") {
					want = "primitives.ptx:"
				}
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q does not say %q", c.name, err, want)
				}
			}
			if again := s.Synchronize(); again == nil {
				t.Errorf("%s: the device still works", c.name)
			}
		})
	}
}
