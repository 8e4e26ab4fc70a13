package cuda

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
)

// TestWindowSteps: steps on rows of a window are those on batches that are copied
// whole, bit for bit: full and short ones, rows that are replaced as soon as a batch
// with them is staged, behind the window's end too, and more moves than a batch has
// room for at first.
func TestWindowSteps(t *testing.T) {
	const slots, capacity, steps, microBatches = 11, 5, 2, 4
	rng := rand.New(rand.NewPCG(freshSeed(t), 1))
	m := newWindowModel(windowRows(t, rng, 24), slots, rng)
	most := m.rows.N - 1
	var batches []*keptBatch
	for i := range steps * microBatches {
		var before []keeping
		switch i {
		case 0:
			before = append(before, m.draw(8, slots))
		case 3: // the rows of the batch before, and of the one that the device is at work on
			before = append(before, m.draw(rng.IntN(slots), slots+3), m.keep(slots-1, most, 0))
		case 5:
		default:
			before = append(before, m.draw(rng.IntN(slots), 1+rng.IntN(slots)), m.draw(rng.IntN(slots), 1))
		}
		chosen := make([]int, []int{capacity, capacity, capacity, capacity, 1, 3, capacity, 2}[i])
		for j := range chosen {
			if chosen[j] = rng.IntN(slots); i == 3 && j > 0 {
				chosen[j] = slots - 1
			}
		}
		b := m.batch(chosen...)
		b.before = before
		batches = append(batches, b)
	}
	d := openEmulated(t, emulated.Options{Shuffled: true})
	whole, kept := newDeviceTrainer(t, d, windowConfig(device.BF16, capacity)), newDeviceTrainer(t, d, windowConfig(device.BF16, capacity))
	openWindow(t, kept, slots)
	want := trainedBits(t, whole, steps, microBatches, func(i int) error { return whole.Stage(batches[i].whole) })
	got := trainedBits(t, kept, steps, microBatches, func(i int) error { return batches[i].stage(m, kept) })
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("part %d of %d of measures and state differs", i, len(want))
		}
	}
}

// TestWindowChunks keeps more rows than a chunk and than the window has, and looks at
// what a batch is then.
func TestWindowChunks(t *testing.T) {
	const slots, capacity = windowChunk + 400, 150
	rng := rand.New(rand.NewPCG(freshSeed(t), 2))
	m := newWindowModel(windowRows(t, rng, 40), slots, rng)
	dev := newDeviceTrainer(t, openEmulated(t, emulated.Options{Shuffled: true}), windowConfig(device.FP32, capacity))
	openWindow(t, dev, slots)
	first := m.draw(300, slots+windowChunk)
	chosen := []int{0, 299, 300, slots - 1}
	for len(chosen) < capacity {
		chosen = append(chosen, rng.IntN(slots))
	}
	b := m.batch(chosen...)
	b.before = []keeping{first}
	if err := errors.Join(b.stage(m, dev), dev.Keep(0, rowsOf(m.rows, 0, 1, 2))); err != nil {
		t.Fatal(err)
	}
	s, moves := dev.staged[0], len(b.whole.Legal)
	for _, part := range []struct {
		what string
		from driver.Ptr
		want []byte
	}{
		{"masks", s.part(partMasks), bytesOf(b.whole.Masks[:capacity])},
		{"scalars", s.part(partScalars), bytesOf(b.whole.Scalars[:capacity])},
		{"targets", s.part(partTargets), bytesOf(b.whole.Targets[:capacity])},
		{"weights", s.part(partWeight), bytesOf(b.whole.Weight[:capacity])},
		{"starts of moves", s.part(partStart), bytesOf(b.whole.LegalStart[:capacity+1])},
		{"legal moves", s.legal, bytesOf(b.whole.Legal[:moves])},
		{"policy", s.policy, bytesOf(b.whole.Policy[:moves])},
	} {
		got := make([]byte, len(part.want))
		if err := errors.Join(dev.copies.CopyToHost(got, part.from), dev.copies.Synchronize()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, part.want) {
			t.Errorf("%s of kept rows are not those of the rows", part.what)
		}
	}
	if err := dev.Drop(); err != nil {
		t.Error(err)
	}
}

// TestWindowRefuses: what would read or write outside of the window is an error that
// says so, and leaves all as it is.
func TestWindowRefuses(t *testing.T) {
	const slots, capacity = 4, 2
	rng := rand.New(rand.NewPCG(freshSeed(t), 3))
	m := newWindowModel(windowRows(t, rng, 6), slots, rng)
	dev := newDeviceTrainer(t, openEmulated(t, emulated.Options{}), windowConfig(device.FP32, capacity))
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	stage := func(weights int, rows ...device.KeptRow) error { return dev.StageKept(rows, make([]float32, weights)) }
	open := func(numRows int) error { _, err := dev.OpenWindow(numRows); return err }

	refused(stage(1, 0), "no window is open")
	refused(dev.Keep(0, rowsOf(m.rows, 0)), "no window is open")
	refused(open(0), "a window of 0 rows, want 1 to")
	refused(open(device.MaxWindow+1), "want 1 to 536870912")
	openWindow(t, dev, slots)
	refused(open(slots), "has a window already")
	refused(dev.Keep(-1, rowsOf(m.rows, 0)), "slot -1 of a window of 4")
	refused(dev.Keep(slots, rowsOf(m.rows, 0)), "slot 4 of a window of 4")
	many := encoding.NewTrainBatch(1)
	many.Grow(3)
	many.Grow(257)
	refused(dev.Keep(0, many), "row 1 has 257 legal moves, a window has room for 256")
	refused(stage(1, device.Kept(0, 0)), "slot 0, where no row was kept")
	if err := dev.Keep(1, rowsOf(m.rows, 1, 2)); err != nil {
		t.Fatal(err)
	}
	refused(stage(2, device.Kept(1, 0), device.Kept(slots, 0)), "row 1 is of slot 4, the window has 4")
	refused(stage(2, device.Kept(1, 0), device.Kept(3, 0)), "row 1 is of slot 3, where no row was kept")
	refused(stage(1, device.Kept(1, 0), device.Kept(2, 0)), "2 kept rows with 1 weights")
	refused(stage(0), "0 rows, want 1 to 2")
	refused(stage(3, device.Kept(1, 0), device.Kept(1, 0), device.Kept(1, 0)), "3 rows, want 1 to 2")
	for range 2 {
		if err := stage(1, device.Kept(2, 0)); err != nil {
			t.Error(err)
		}
	}
	refused(stage(1, device.Kept(2, 0)), "two micro-batches are staged")
	if err := dev.Drop(); err != nil {
		t.Error(err)
	}
}

// TestWindowMemory: a window takes at most half of what is free.
func TestWindowMemory(t *testing.T) {
	d := openEmulated(t, emulated.Options{Bytes: 64 << 20})
	dev := newDeviceTrainer(t, d, windowConfig(device.FP32, 2))
	free := func() int {
		n, _, err := d.driver.MemInfo()
		if err != nil {
			t.Fatal(err)
		}
		return int(n)
	}
	before := free()
	most := before / 2 / windowRowBytes
	for _, numRows := range []int{most + 1, device.MaxWindow} {
		if ok, err := dev.OpenWindow(numRows); ok || err != nil {
			t.Errorf("%d rows with %d bytes free: %v, error %v; want false", numRows, before, ok, err)
		}
		if after := free(); after != before {
			t.Errorf("a window that is not opened takes %d bytes", before-after)
		}
	}
	openWindow(t, dev, most)
	if taken := before - free(); taken < most*windowRowBytes || taken > most*windowRowBytes+64<<10 {
		t.Errorf("%d rows take %d bytes", most, taken)
	}
}

// deafDevice cannot allocate, for a reason that is not a lack of memory.
type deafDevice struct{ driver.Device }

func (deafDevice) Alloc(int) (driver.Ptr, error) { return 0, errGone }

// TestWindowShortOfMemory opens a window, and runs out of memory at each place where
// that is possible: then there is none, and nothing is left of it. Another fault is an
// error. Close gives back what a window has.
func TestWindowShortOfMemory(t *testing.T) {
	f, d := frail(t, plenty, plenty)
	dev, err := d.NewTrainer(windowConfig(device.FP32, 2))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(freshSeed(t), 4))
	m := newWindowModel(windowRows(t, rng, 6), 5, rng)
	others := f.live.Load()
	d.driver = deafDevice{f}
	if ok, err := dev.OpenWindow(5); ok || !errors.Is(err, errGone) || f.live.Load() != others {
		t.Errorf("without the device: %v, error %v, %d things are left", ok, err, f.live.Load()-others)
	}
	d.driver = f
	for room, ok := int64(0), false; !ok; room++ {
		f.room.Store(room)
		if ok, err = dev.OpenWindow(5); err != nil {
			t.Fatal(err)
		}
		switch left := f.live.Load() - others; {
		case !ok && left != 0:
			t.Fatalf("with room for %d things %d are left", room, left)
		case ok && (room != 9 || left != 9): // six arrays, the images, a chunk, an event
			t.Errorf("opened with room for %d things, %d are there", room, left)
		}
	}
	f.room.Store(plenty)
	k := m.draw(3, 4)
	b := m.batch(3, 1)
	b.before = []keeping{k}
	var rows device.Rows
	if err := errors.Join(b.stage(m, dev), dev.Start(device.Pass{}), dev.Finish(&rows), b.stage(m, dev)); err != nil {
		t.Error(err)
	}
	if err := errors.Join(dev.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	if n := f.live.Load(); n != 0 {
		t.Errorf("%d things are left", n)
	}
}
