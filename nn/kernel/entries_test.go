//go:build amd64 || arm64

package kernel

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"
)

// mem returns a fresh buffer, large enough for any pointer of smallArgs.
func mem(v float32) *float32 {
	s := make([]float32, 4096)
	for i := range s {
		s[i] = v
	}
	return &s[0]
}

// smallArgs returns minimal arguments of a kind, over denormal inputs, so that
// the entry raises status flags too.
func smallArgs(t *testing.T, kind string) *byte {
	const tiny = 1e-40
	switch kind {
	case "gemmArgs":
		return bytesOf(&gemmArgs{y: mem(0), x: mem(tiny), w: mem(1.1), bias: mem(tiny), xRow: 64, yRow: 256,
			xTile: 64, yTile: 256, tiles: 2, segs: 2, kseg: 5, xSeg: 4, wPanel: 640})
	case "gradArgs":
		return bytesOf(&gradArgs{dst: mem(0), a: mem(tiny), b: mem(1.1), dstRow: 192, aStep: 32, bStep: 192,
			inner: 5, outer: 2, blocks: 2})
	case "affineArgs":
		return bytesOf(&affineArgs{y: mem(0), x: mem(tiny), res: mem(1), u: mem(tiny),
			scale: mem(3.3), shift: mem(tiny), uscale: mem(1), rows: 3, width: 128, skip: 64})
	case "sumArgs":
		return bytesOf(&sumArgs{u: mem(tiny), v: mem(1.7), mask: mem(1), store: mem(0), mean: mem(tiny),
			s1: mem(0), s2: mem(0), rows: 3, stride: 256})
	case "flatArgs":
		return bytesOf(&flatArgs{y: mem(0), a: mem(tiny), b: mem(1.1), n: 3, alpha: bits32(1.3)})
	case "normArgs":
		return bytesOf(&normArgs{y: mem(0), x: mem(tiny), skip: mem(tiny), u: mem(tiny), gamma: mem(1.1), beta: mem(1.1),
			dgamma: mem(tiny), dbeta: mem(tiny), rows: 3, panels: 2,
			alpha: bits32(1.3), eps: bits32(1), inverse: bits32(1.0 / 32), one: bits32(1)})
	case "squaresArgs":
		return bytesOf(&squaresArgs{x: mem(tiny), sums: &make([]float64, 32)[0], n: 2})
	case "expandArgs":
		return bytesOf(&expandArgs{y: &make([]float32, 64*112)[0], masks: &make([]uint64, 104)[0],
			constants: &make([]uint64, 8)[0], values: mem(1), one: bits32(1), firstBit: 1})
	case "policyArgs":
		return bytesOf(&policyArgs{y: mem(0), x: mem(tiny), w: mem(1.1), jobs: &make([]uint64, 2)[0],
			row: 640, square: 64, panel: 64, panels: 2, n: 2})
	case "optArgs":
		return bytesOf(&optArgs{w: mem(1), g: mem(tiny), m: mem(1), v: mem(tiny), n: 2,
			lr: bits32(0.1), b1: bits32(0.9), b2: bits32(0.9), bc1: bits32(1), bc2: bits32(1), cm: bits32(1), cg: bits32(1)})
	case "pointArgs":
		return bytesOf(&pointArgs{y: mem(0), x: mem(tiny), w: mem(1.1), xRow: 32, yRow: 128, xPoint: 384, yPoint: 1536,
			wPoint: 1024, wPanel: 512, k: 8, rows: 12, points: 2})
	case "tileArgs":
		// Blocks of 20 rows by 32 columns, 8 words long.
		config := [64]byte{0: 1, 16: 64, 18: 64, 20: 64, 22: 64, 24: 32, 26: 32, 28: 64, 30: 64,
			48: 16, 49: 16, 50: 4, 51: 4, 52: 16, 53: 4, 54: 8, 55: 8}
		return bytesOf(&tileArgs{y: mem(0), x: mem(tiny), w: mem(1.1), config: &config[0], xRow: 32, yRow: 128,
			xTile: 512, yTile: 2048, wPanel: 512, wRow: 64, xStep: 32, wStep: 512, steps: 1, blocks: 1, points: 2})
	case "convArgs":
		return bytesOf(&convArgs{y: mem(0), x: &make([]float32, pairFloats)[0], w: &make([]float32, 9*panel*panel)[0], bias: mem(tiny),
			sum: mem(0), squares: mem(0), config: bytesOf(&convConfigs[1]), scratch: mem(0), blocks: 1, panels: 1, pairs: 1,
			yBoard: 64 * 64, yRow: 64, sumBoard: 64})
	case "joinArgs":
		return bytesOf(&joinArgs{x: &make([]float32, 2*64*48)[0], z: &make([]float32, 2*pairFloats)[0], gate: mem(tiny), beta: mem(tiny),
			xBoard: 64 * 48 * 4, xRow: 48 * 4, gateBoard: 48 * 4, blocks: 1, half: 1})
	case "padArgs":
		return bytesOf(&padArgs{x: &make([]float32, 2*64*48)[0], y: &make([]float32, 2*pairFloats)[0], xBoard: 64 * 48 * 4, xRow: 48 * 4, blocks: 1, half: 1})
	case "wordArgs":
		return bytesOf(&wordArgs{y: mem(0), x: mem(tiny), xPair: 512, xOdd: 64, xSquare: 128, ySquare: 64, yPanel: 64,
			pairs: 3, panels: 2, squares: 2})
	case "tapArgs":
		words := func() *float32 { return &make([]float32, gradWords)[0] }
		return bytesOf(&tapArgs{y: mem(0), a: words(), b: words(), config: bytesOf(&convConfigs[1]), scratch: mem(0),
			yRow: 64, yTap: 1024, steps: 1, panels: 1})
	case "pointGradArgs":
		return bytesOf(&pointGradArgs{dst: mem(0), a: mem(tiny), b: mem(1.1), dstRow: 128, aStep: 64, bStep: 128,
			dstPoint: 2048, aPoint: 320, bPoint: 640, length: 5, blocks: 2, points: 2})
	case "transposeArgs":
		return bytesOf(&transposeArgs{src: mem(tiny), dst: mem(0), srcRow: 64, dstRow: 64, srcStep: 1024, dstStep: 1024, n: 2})
	case "winogradArgs":
		return bytesOf(&winogradArgs{src: mem(tiny), dst: mem(0), temp: mem(0), srcRow: 64, srcPlane: 256,
			dstRow: 64, dstPlane: 256, bias: mem(tiny), sum: mem(0), squares: mem(0), n: 2, boards: 2, srcBoard: 64, dstBoard: 64, sumBoard: 64})
	case "rowsArgs":
		return bytesOf(&rowsArgs{x: mem(tiny), table: mem(1.1), rows: &make([]uint16, 6)[0], weights: mem(tiny), step: 4,
			stride: 512, n: 3, blocks: 2, lists: 2, apart: 6})
	case "peakArgs":
		return bytesOf(&peakArgs{n: 3})
	}
	t.Fatalf("no arguments for %s", kind)
	return nil
}

// Every assembly entry leaves the floating-point control register (MXCSR, FPCR)
// as it was, also where it was not the default.
func TestEntriesRestoreControl(t *testing.T) {
	if BestTier() == Generic {
		t.Skip("SKIPPED: this CPU has no vector tier")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	initial := readControl()
	defer writeControl(initial)
	for _, e := range entries {
		if !hasEntry(e.name) {
			t.Logf("%s: this CPU lacks the instructions", e.name)
			continue
		}
		for _, want := range controlValues {
			args := smallArgs(t, e.args)
			writeControl(want)
			e.call(args)
			got := readControl()
			writeControl(initial)
			if got != want {
				t.Errorf("%s: control register %#x, was %#x", e.name, got, want)
			}
		}
	}
}

// Assembly reads argument structs by fixed offsets of 8 bytes a field.
func TestArgumentSizes(t *testing.T) {
	for _, s := range []struct{ size, last uintptr }{
		{unsafe.Sizeof(gemmArgs{}), unsafe.Offsetof(gemmArgs{}.floor)},
		{unsafe.Sizeof(gradArgs{}), unsafe.Offsetof(gradArgs{}.blocks)},
		{unsafe.Sizeof(affineArgs{}), unsafe.Offsetof(affineArgs{}.floor)},
		{unsafe.Sizeof(sumArgs{}), unsafe.Offsetof(sumArgs{}.stride)},
		{unsafe.Sizeof(flatArgs{}), unsafe.Offsetof(flatArgs{}.alpha)},
		{unsafe.Sizeof(pointArgs{}), unsafe.Offsetof(pointArgs{}.aheadRow)},
		{unsafe.Sizeof(convArgs{}), unsafe.Offsetof(convArgs{}.floor)},
		{unsafe.Sizeof(joinArgs{}), unsafe.Offsetof(joinArgs{}.floor)},
		{unsafe.Sizeof(padArgs{}), unsafe.Offsetof(padArgs{}.half)},
		{unsafe.Sizeof(wordArgs{}), unsafe.Offsetof(wordArgs{}.squares)},
		{unsafe.Sizeof(tapArgs{}), unsafe.Offsetof(tapArgs{}.panels)},
		{unsafe.Sizeof(pointGradArgs{}), unsafe.Offsetof(pointGradArgs{}.points)},
		{unsafe.Sizeof(winogradArgs{}), unsafe.Offsetof(winogradArgs{}.sumBoard)},
		{unsafe.Sizeof(normArgs{}), unsafe.Offsetof(normArgs{}.one)},
		{unsafe.Sizeof(squaresArgs{}), unsafe.Offsetof(squaresArgs{}.n)},
		{unsafe.Sizeof(expandArgs{}), unsafe.Offsetof(expandArgs{}.firstBit)},
		{unsafe.Sizeof(policyArgs{}), unsafe.Offsetof(policyArgs{}.n)},
		{unsafe.Sizeof(optArgs{}), unsafe.Offsetof(optArgs{}.cg)},
		{unsafe.Sizeof(transposeArgs{}), unsafe.Offsetof(transposeArgs{}.n)},
		{unsafe.Sizeof(tileArgs{}), unsafe.Offsetof(tileArgs{}.points)},
		{unsafe.Sizeof(rowsArgs{}), unsafe.Offsetof(rowsArgs{}.apart)},
	} {
		if s.size != s.last+8 || s.size%8 != 0 {
			t.Errorf("size %d, last field at %d", s.size, s.last)
		}
	}
}

// The committed assembly is what the generators write, byte for byte.
func TestGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: runs the generators")
	}
	for _, g := range []struct {
		name  string
		files int
	}{{"./gen", 4}, {"./genarm64", 3}} {
		t.Run(g.name, func(t *testing.T) { checkGenerated(t, g.name, g.files) })
	}
}

// checkGenerated runs a generator, which must write so many files.
func checkGenerated(t *testing.T, name string, numFiles int) {
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", name, "-dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("go run %s: %v\n%s", name, err, out)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != numFiles {
		t.Fatalf("generator wrote %d files (%v), want %d", len(files), err, numFiles)
	}
	for _, f := range files {
		fresh, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		committed, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(fresh, committed) {
			t.Errorf("%s is stale: run go generate ./nn/kernel", f.Name())
		}
	}
}
