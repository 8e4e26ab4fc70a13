package kernels

import "math"

// wgradTile is what a block of a weight gradient kernel computes.
type wgradTile struct {
	variant         string // in the kernel's name
	outs, ins       int    // weights of each tap
	threads, blocks int    // blocks an SM holds, by registers
	stages, pad     int    // of 64 rows in shared memory; elements a row is longer by
}

// The tiles of wgrad.cu by number of taps; for 9 taps the narrow one comes second.
var (
	wgradHalf = map[int][]wgradTile{
		9: {{outs: 64, ins: 64, threads: 256, blocks: 1, stages: 4, pad: 8}, {variant: "narrow_", outs: 32, ins: 32, threads: 64, blocks: 4, stages: 4, pad: 8}},
		1: {{outs: 64, ins: 128, threads: 256, blocks: 2, stages: 3, pad: 8}},
	}
	wgradFloat = map[int][]wgradTile{
		9: {{outs: 64, ins: 64, threads: 256, blocks: 1, stages: 1}, {variant: "narrow_", outs: 32, ins: 32, threads: 64, blocks: 4, stages: 1}},
		1: {{outs: 64, ins: 64, threads: 256, blocks: 2, stages: 1}},
	}
)

// count returns how many blocks make one split of ci x co weights.
func (w wgradTile) count(ci, co int) int { return ceil(ci, w.ins) * ceil(co, w.outs) }

// shared returns the bytes of shared memory: stages of dz and of x, which for 9 taps
// has a border, then scales and shifts.
func (w wgradTile) shared(t Type, taps int) int {
	rows := 64
	if taps == 9 {
		rows = 91
	}
	return w.stages*t.Size()*(64*(w.outs+w.pad)+rows*(w.ins+w.pad)) + 8*w.ins
}

// wgradTileOf chooses the tile. A quarter of the weights costs a narrow block 3/8 of a
// wide one's time, as both read each row; it pays where a wide tile is mostly padding.
func wgradTileOf(t Type, taps, ci, co int) wgradTile {
	tiles := wgradHalf[taps]
	if t == F32 {
		tiles = wgradFloat[taps]
	}
	if len(tiles) > 1 && 3*tiles[1].count(ci, co) < 8*tiles[0].count(ci, co) {
		return tiles[1]
	}
	return tiles[0]
}

// Wgrad makes the parts of a weight gradient, a.Part [splits][taps][co][ci], of a
// 3x3 convolution (taps 9) or a product (taps 1).
func Wgrad(t Type, taps int, a WgradArgs) Launch {
	w := wgradTileOf(t, taps, int(a.Ci), int(a.Co))
	name := map[int]string{9: "wgrad_9_", 1: "wgrad_1_"}[taps] + w.variant
	if a.InScale != 0 || a.InShift != 0 || a.InAct != ActNone {
		name += "act_"
	}
	l := inRow(name+t.String(), ceil(int(a.Ci), w.ins), w.threads, w.shared(t, taps), &a)
	l.Grid.Y, l.Grid.Z = ceil(int(a.Co), w.outs), int(a.Splits)
	return l
}

// WgradSplits returns into how many parts Wgrad should cut its rows: as many as fill
// the device in one go, fewer where writing and adding up parts would cost more than
// that gains. It depends on its arguments alone and never falls as rows rise.
func WgradSplits(t Type, taps, rows, ci, co, sms int) int {
	w := wgradTileOf(t, taps, ci, co)
	stages, tiles := ceil(rows, 64), w.count(ci, co)
	// The time of a block is stages/splits*work, that of the parts is
	// splits*tiles*cost, in clocks: of a stage on the tensor cores (or without them),
	// and of a tile through L2 and back at about 3000 bytes a clock.
	work := 1000.
	if t == F32 {
		work = 6000
	}
	cost := float64(w.outs*w.ins*taps) * 8 / 3000
	splits := min(stages, wgradFill(tiles, sms*w.blocks), int(math.Sqrt(float64(stages)*work/(float64(tiles)*cost))))
	return max(splits, 1)
}

// wgradFill returns the number of splits which leaves the least part of slots idle
// over the waves of blocks that they need.
func wgradFill(tiles, slots int) int {
	best, most := 1, 0.
	for s := 1; s <= max(slots/tiles, 4); s++ {
		if used := float64(s*tiles) / float64(ceil(s*tiles, slots)*slots); used > most {
			best, most = s, used
		}
	}
	return best
}

// reduceThreads is REDUCE_THREADS of wgrad_reduce.cuh.
const reduceThreads = 256

// WgradReduce adds the parts of a weight gradient to the gradient in nn's order.
func WgradReduce(a WgradReduceArgs) Launch {
	blocks := ceil(int(a.RealCi), 64) // of inputs, or of channels, as ReducePlace has them
	switch {
	case a.Channels > 0:
		blocks = ceil(int(a.RealChannels), 8)
	case a.Taps == 9:
		blocks = ceil(int(a.RealCi), 16)
	}
	l := inRow("wgrad_reduce", blocks, reduceThreads, reduceThreads*16, &a)
	l.Grid.Y = int(a.RealCo)
	return l
}
