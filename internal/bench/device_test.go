package bench

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	_ "github.com/chessbrain/chessbrain/internal/testing/signatures"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
)

// TestOnDevice: every figure is there, with what it is of.
func TestOnDevice(t *testing.T) {
	o := DeviceOptions{Arch: nntest.Arch("16x1"), Precisions: []device.Precision{device.FP16, device.BF16}, Batches: []int{1, 3},
		Train: []TrainShape{{2, 1}, {2, 2}}, Duration: time.Nanosecond, Play: DevicePlay{Workers: 1, Games: 2, Simulations: 2}}
	var rows []DeviceRow
	if err := OnDevice(context.Background(), emulated.Open(t), o, func(r DeviceRow) error { rows = append(rows, r); return nil }); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, r := range rows {
		kinds = append(kinds, r.Kind)
		play, trains := r.Kind == KindSelfPlay, r.Kind == KindTrain || r.Kind == KindAccumulate
		if r.Device != "emulated" || r.Net != o.Arch.String() || r.Batch < 1 || !(r.BoardsPerSecond > 0) && !play || !(r.Busy >= 0 && r.Busy <= 1) ||
			(r.PositionsPerSecond > 0) != play || (r.MemoryMiB > 0) != trains || (r.Latency > 0) != (r.Kind == KindInfer) || r.ShareOfPeak != 0 {
			t.Errorf("%+v", r)
		}
		if want := map[bool]string{true: "bf16"}[trains]; want != "" && r.Precision != want {
			t.Errorf("training in %s", r.Precision)
		}
	}
	want := []string{KindInfer, KindInfer, KindInfer, KindInfer, KindTrain, KindAccumulate, KindSelfPlay}
	if !slices.Equal(kinds, want) {
		t.Errorf("%v, want %v", kinds, want)
	}
	stopped := errors.New("no more")
	if err := OnDevice(context.Background(), emulated.Open(t), o, func(DeviceRow) error { return stopped }); !errors.Is(err, stopped) {
		t.Errorf("an output that fails: %v", err)
	}
}

// TestCheckDevice: the emulated device agrees with the CPU.
func TestCheckDevice(t *testing.T) {
	o := CheckOptions{Nets: []nn.Arch{nntest.AttentionNets()["mish"]}, Batches: []int{1, 3}, Rows: []int{3}, Seed: 4}
	whats := map[string]int{}
	failed, err := CheckDevice(context.Background(), emulated.Open(t), o, func(r CheckRow) error {
		whats[r.What]++
		if !r.OK || r.Error < 0 {
			t.Errorf("%+v", r)
		} else {
			t.Logf("%-50s %-6s %3d: %.2g of %.2g", r.What, r.Precision, r.Batch, r.Error, r.Limit)
		}
		return nil
	})
	if err != nil || failed != 0 {
		t.Fatalf("%d failed, %v", failed, err)
	}
	if whats["answers"] != 3*2 || whats["gradient"] != 3 || whats["three steps: running statistics"] != 3 {
		t.Errorf("compared: %v", whats)
	}
}

// TestCheckDeviceFails: a device that loses a bit of what is copied to it is found out.
func TestCheckDeviceFails(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds on the emulator")
	}
	o := CheckOptions{Nets: []nn.Arch{nntest.Arch("16x1")}, Batches: []int{1}, Rows: []int{1}, Seed: 4}
	bad, enough := map[string]bool{}, errors.New("what was to be found is found")
	failed, err := CheckDevice(context.Background(), spoilt{emulated.Open(t)}, o, func(r CheckRow) error {
		if !r.OK {
			bad[r.What] = true
		}
		if bad["answers"] && bad["gradient"] {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		t.Fatal(err)
	}
	if failed == 0 || !bad["answers"] || !bad["gradient"] {
		t.Errorf("%d failed: %v", failed, bad)
	}
}

// spoilt is a device whose copies to it lose the sign of a number in the middle of
// whatever is longer than 16 KiB: weights.
type spoilt struct{ driver.Device }

func (d spoilt) Unwrap() driver.Device { return d.Device }

func (d spoilt) NewStream() (driver.Stream, error) {
	s, err := d.Device.NewStream()
	return spoiltStream{s}, err
}

type spoiltStream struct{ driver.Stream }

func (s spoiltStream) CopyToDevice(dst driver.Ptr, src []byte) error {
	if err := s.Stream.CopyToDevice(dst, src); err != nil || len(src) < 16<<10 {
		return err
	}
	zeros := make([]byte, len(src)/4)
	return errors.Join(s.Stream.CopyToDevice(dst.Offset(len(src)/4&^3), zeros), s.Synchronize())
}

// TestUnion: overlapping work counts once, idle time not.
func TestUnion(t *testing.T) {
	for _, c := range []struct {
		intervals [][2]float32
		want      float64
	}{
		{nil, 0},
		{[][2]float32{{1, 3}}, 1},
		{[][2]float32{{5, 6}, {1, 3}, {2, 3}}, 3.0 / 5},
		{[][2]float32{{0, 10}, {2, 3}, {9, 12}}, 1},
		{[][2]float32{{1, 1}}, 0},
	} {
		if got := union(c.intervals); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.intervals, got, c.want)
		}
	}
}

// TestDevicePeak holds two rates against data sheets, and that an unknown device has none.
func TestDevicePeak(t *testing.T) {
	h200 := driver.Info{Name: "NVIDIA H200", Major: 9, SMs: 132, ClockKHz: 1_980_000}
	for _, c := range []struct {
		i    driver.Info
		p    device.Precision
		want float64
	}{
		{h200, device.BF16, 989.4}, {h200, device.FP32, 66.9},
		{driver.Info{Name: "NVIDIA H100 PCIe", Major: 9}, device.FP16, 756},
		{driver.Info{Name: "NVIDIA GeForce GTX 1080 Ti", Major: 6, Minor: 1, SMs: 28, ClockKHz: 1_582_000}, device.FP32, 11.3},
		{driver.Info{Name: "something else", Major: 12}, device.FP16, 0},
	} {
		if got := devicePeak(c.i, c.p); math.Abs(got-c.want) > 0.01*c.want {
			t.Errorf("%s in %s: %.1f TFLOP/s, want %.1f", c.i.Name, c.p, got, c.want)
		}
	}
}
