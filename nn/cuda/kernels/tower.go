package kernels

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// Limits of the fused tower (tower.cu).
const (
	TowerStep        = 32  // its channels are a multiple of it
	TowerMaxChannels = 256 // at most

	towerThreads   = 512 // that the registers of a multiprocessor hold
	towerPlaneRow  = 240 // bytes of a square's input planes
	blockReserved  = 1024
	towerStageSize = 96 // bytes a channel of a stage of weights
)

// TowerShape is how blocks of the tower are cut.
type TowerShape struct {
	Boards int // of a block: 1, 2 or 4
	Depth  int // stages of weights in shared memory: 2 or 3
}

// threads returns those of a block.
func (s TowerShape) threads(channels int) int { return s.Boards * channels }

// buffer returns the bytes of the activations x, and of h.
func (s TowerShape) buffer(channels int) int { return (s.Boards*64 + 2) * 2 * (channels + 8) }

// ring returns where in shared memory the stages of weights begin and end.
func (s TowerShape) ring(channels int) (begin, end int) {
	begin = max(2*s.buffer(channels), (s.Boards*64+2)*towerPlaneRow)
	return begin, begin + s.Depth*towerStageSize*channels
}

// shared returns the bytes of shared memory of a block: behind the ring lie the vectors
// of two layers, pool and shift, and hidden.
func (s TowerShape) shared(channels, vector int) int {
	_, end := s.ring(channels)
	return end + 4*(2*vector+2*s.Boards*channels+s.Boards*16)
}

// resident returns how many blocks a multiprocessor holds, 0 where one does not fit.
func (s TowerShape) resident(info driver.Info, channels, vector int) int {
	bytes := s.shared(channels, vector)
	if bytes > info.SharedPerCTA || s.threads(channels) > towerThreads {
		return 0
	}
	return max(1, min(towerThreads/s.threads(channels), info.SharedPerSM/(bytes+blockReserved)))
}

// TowerShapes lists the shapes for batches of up to boards positions that fit a device,
// those that should be faster first; none where the net must go layer by layer. Results
// do not depend on the shape. Few boards are spread over the multiprocessors. With many,
// the shape that keeps most boards on one counts, then two boards or more to a block (they
// share what is read of the weights), then a second block, which computes while the other
// is at a barrier.
func TowerShapes(info driver.Info, channels, vector, boards int) []TowerShape {
	most := max(1, ceil(boards, max(1, info.SMs)))
	score := func(s TowerShape) int {
		blocks := s.resident(info, channels, vector)
		score := 16 * min(s.Boards*blocks, most)
		if s.Boards > 1 {
			score += 4
		}
		if blocks > 1 {
			score += 2
		}
		return score
	}
	var fit []TowerShape
	for _, n := range []int{4, 2, 1} {
		for depth := 3; depth >= 2; depth-- {
			if s := (TowerShape{Boards: n, Depth: depth}); n <= most && s.resident(info, channels, vector) > 0 {
				fit = append(fit, s)
			}
		}
	}
	slices.SortStableFunc(fit, func(a, b TowerShape) int { return cmp.Compare(score(b), score(a)) })
	return fit
}

// Tower runs a whole net but for the heads' fully connected layers, on up to boards
// positions; the real number is at a.Count. It sets a.Boards to a.RingEnd.
func Tower(t Type, a TowerArgs, shape TowerShape, boards int) Launch {
	if t == F32 || a.Channels < TowerStep || a.Channels > TowerMaxChannels || a.Channels%TowerStep != 0 {
		panic(fmt.Sprintf("kernels: the fused tower is for bf16 and fp16 and 32 to 256 channels in steps of 32, not %v and %d", t, a.Channels))
	}
	begin, end := shape.ring(int(a.Channels))
	a.Boards, a.Buffer, a.Ring, a.RingEnd = int32(shape.Boards), int32(shape.buffer(int(a.Channels))), int32(begin), int32(end)
	return inRow("tower_"+t.String(), ceil(boards, shape.Boards), shape.threads(int(a.Channels)), shape.shared(int(a.Channels), int(a.Vector)), &a)
}
