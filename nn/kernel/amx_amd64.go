package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// A tile is 16 rows of up to 64 bytes; see gen/amx.go for the products.
const (
	tileRows16 = 16
	blockRows  = 2 * tileRows16
)

// hasAMX says whether the tiles can be used: the CPU multiplies bf16 in tiles
// (and has what the AVX-512 tier needs for bf16), and the operating system saves
// the tiles and lets this process have them.
func hasAMX() bool {
	const tiles = 3 << 17 // XTILECFG and XTILEDATA of XCR0
	x := &cpu.X86
	return x.HasAMXTile && x.HasAMXBF16 && x.HasAVX512BF16 && readXCR0()&tiles == tiles && permitTiles()
}

// newTileConfig configures blocks of up to 32 rows whose sum goes in steps of so
// many words.
func newTileConfig(rows, words int) tileConfig {
	const panelTile = 6 // the first of w
	c := tileConfig{palette: 1}
	for i := range 2 {
		n := min(max(rows-i*tileRows16, 0), tileRows16)
		if n > 0 {
			c.set(2*i, n, panelBytes) // accumulators
			c.set(2*i+1, n, panelBytes)
			c.set(4+i, n, words*f32) // rows of x
		}
		c.set(panelTile+i, words, panelBytes)
	}
	return c
}

// stepWords returns the length of a step of a sum of k words: the largest of at most
// 16 that divides k, so that one configuration does.
func stepWords(k int) int {
	n := tileRows16
	for k%n != 0 {
		n--
	}
	return n
}

// pointAMX computes the bf16 products of a, np = 1 or 2 panels wide, in tiles.
// It takes any number of rows > 0. What a row adds in which order depends on k
// only. The caller bounds the work: 4 Mi words of products are some 10
// microseconds.
func pointAMX(a *pointArgs, np int) {
	rows, k := int(a.rows), int(a.k)
	t := tileArgs{
		y: a.y, x: a.x, w: a.w, xRow: a.xRow, yRow: a.yRow, wRow: panelBytes,
		xPoint: a.xPoint, yPoint: a.yPoint, wPoint: a.wPoint, wPanel: a.wPanel, points: a.points,
	}
	words := stepWords(k)
	t.xTile, t.yTile = tileRows16*t.xRow, tileRows16*t.yRow
	t.xBlock, t.yBlock = blockRows*t.xRow, blockRows*t.yRow
	t.xStep, t.wStep = uintptr(words*f32), uintptr(words)*t.wRow
	t.steps, t.blocks = uintptr(k/words), uintptr(rows/blockRows)
	if t.blocks > 0 {
		config := newTileConfig(blockRows, words)
		t.config = bytesOf(&config)
		run(tileKernels[1][np-1], &t)
	}
	if rest := rows % blockRows; rest > 0 {
		config := newTileConfig(rest, words)
		t.config = bytesOf(&config)
		t.x = (*float32)(unsafe.Add(unsafe.Pointer(t.x), t.blocks*t.xBlock))
		t.y = (*float32)(unsafe.Add(unsafe.Pointer(t.y), t.blocks*t.yBlock))
		t.blocks = 1
		run(tileKernels[index(rest > tileRows16)][np-1], &t)
	}
}

// tileKernels are those for blocks [of more than 16 rows][of two panels].
var tileKernels = [2][2]asm{{tile16x16AMX, tile16x32AMX}, {tile32x16AMX, tile32x32AMX}}

// peakTiles runs the tile kernel of the peak once, some 20 microseconds.
func peakTiles() float64 {
	const steps, products, flops = 1000, 4, 2
	config := newTileConfig(blockRows, tileRows16)
	t := tileArgs{config: bytesOf(&config), steps: steps}
	peakAMX(bytesOf(&t))
	return steps * products * flops * (tileRows16 * tileRows16 * 2 * tileRows16)
}
