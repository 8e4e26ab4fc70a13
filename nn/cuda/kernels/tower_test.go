package kernels

import (
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// The devices of the table below, as their makers describe them.
var (
	h100 = driver.Info{Major: 9, SMs: 132, SharedPerSM: 228 << 10, SharedPerCTA: 227 << 10}
	a100 = driver.Info{Major: 8, SMs: 108, SharedPerSM: 164 << 10, SharedPerCTA: 163 << 10}
	l40  = driver.Info{Major: 8, Minor: 9, SMs: 142, SharedPerSM: 100 << 10, SharedPerCTA: 99 << 10}
)

// firstShape returns the shape that should be the fastest; false where none fits.
func firstShape(info driver.Info, channels, vector, boards int) (s TowerShape, ok bool) {
	if shapes := TowerShapes(info, channels, vector, boards); len(shapes) > 0 {
		return shapes[0], true
	}
	return s, false
}

// Shapes that were worked out by hand: many boards fill a multiprocessor, few are
// spread over all of them, and what does not fit is refused.
func TestTowerFit(t *testing.T) {
	for _, c := range []struct {
		what             string
		info             driver.Info
		channels, boards int
		want             TowerShape
		resident         int
	}{
		{"64 filters, full", h100, 64, 4096, TowerShape{4, 3}, 2},
		{"64 filters, two boards a multiprocessor", h100, 64, 256, TowerShape{2, 3}, 3},
		{"64 filters, one board", h100, 64, 1, TowerShape{1, 3}, 5},
		{"128 filters, full", h100, 128, 4096, TowerShape{2, 3}, 2},
		{"192 filters, full", h100, 192, 4096, TowerShape{2, 3}, 1},
		{"256 filters, full", h100, 256, 4096, TowerShape{2, 3}, 1},
		{"256 filters, A100", a100, 256, 4096, TowerShape{1, 3}, 1},
		{"128 filters, L40", l40, 128, 4096, TowerShape{2, 2}, 1},
		{"256 filters, L40", l40, 256, 4096, TowerShape{}, 0},
	} {
		vector := 3*c.channels + Pad(c.channels/4)
		got, ok := firstShape(c.info, c.channels, vector, c.boards)
		if got != c.want || ok != (c.resident > 0) {
			t.Errorf("%s: shape %+v, %v, want %+v", c.what, got, ok, c.want)
		}
		if !ok {
			continue
		}
		if n := got.resident(c.info, c.channels, vector); n != c.resident {
			t.Errorf("%s: %d blocks a multiprocessor, want %d", c.what, n, c.resident)
		}
	}
}

// Every shape that is chosen can be launched: its memory and threads are within the
// device's limits.
func TestTowerFitsWhatItSays(t *testing.T) {
	for _, info := range []driver.Info{h100, a100, l40} {
		for channels := TowerStep; channels <= TowerMaxChannels; channels += TowerStep {
			for _, boards := range []int{1, 2, 131, 132, 133, 264, 265, 528, 1000, 4096} {
				s, ok := firstShape(info, channels, 4*channels, boards)
				if !ok {
					continue
				}
				l := Tower(BF16, TowerArgs{Channels: int32(channels), Vector: int32(4 * channels)}, s, boards)
				if l.Shared > info.SharedPerCTA || l.Block.X > 512 || l.Block.X%32 != 0 || l.Grid.X*s.Boards < boards {
					t.Errorf("%d channels, %d boards: grid %v, block %v, %d bytes", channels, boards, l.Grid, l.Block, l.Shared)
				}
			}
		}
	}
}
