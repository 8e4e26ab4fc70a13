package emulated

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// bench is a device with two streams, an event and memory.
type bench struct {
	d      driver.Device
	s      [2]driver.Stream
	e      driver.Event
	p, q   driver.Ptr
	pinned []byte
}

func newBench(t testing.TB, o Options) *bench {
	t.Helper()
	b := &bench{d: OpenWith(t, o)}
	var err error
	for i := range b.s {
		b.s[i], err = b.d.NewStream()
		must(t, err)
	}
	b.e, err = b.d.NewEvent()
	must(t, err)
	b.p, err = b.d.Alloc(4)
	must(t, err)
	b.q, err = b.d.Alloc(4)
	must(t, err)
	h, err := b.d.AllocHost(4)
	must(t, err)
	b.pinned = h.Bytes()
	t.Cleanup(func() {
		must(t, errors.Join(b.d.Free(b.p), b.d.Free(b.q), h.Free(), b.e.Destroy(), b.s[0].Destroy(), b.s[1].Destroy()))
	})
	return b
}

// handOver writes 1 to p on one stream, reads it on the other into q, and returns
// what arrived. An event orders the two where waits is set.
func (b *bench) handOver(t testing.TB, waits bool) float32 {
	t.Helper()
	must(t, b.s[0].Memset(b.p, 0, 4))
	must(t, b.s[0].Synchronize())
	add := primitive(t, b.d, "test_add")
	must(t, b.s[0].Launch(add, one, one, 0, memoryArgs(b.p, b.p, 1, 0)))
	must(t, b.s[0].Record(b.e))
	if waits {
		must(t, b.s[1].Wait(b.e))
	}
	must(t, b.s[1].Launch(add, one, one, 0, memoryArgs(b.p, b.q, 1, 0)))
	got := make([]byte, 4)
	must(t, b.s[1].CopyToHost(got, b.q))
	must(t, b.s[1].Synchronize())
	return firstFloat(got)
}

// A missing wait shows under some orders and not under others; with the wait all
// are right.
func TestShuffledStreams(t *testing.T) {
	right, wrong := 0, 0
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := newBench(t, Options{Shuffled: true, Seed: seed + 1})
			if got := b.handOver(t, true); got != 2 {
				t.Errorf("with the wait: %g, want 2", got)
			}
			switch got := b.handOver(t, false); got {
			case 2:
				right++
			case 1:
				wrong++
			default:
				t.Errorf("without the wait: %g, want 1 or 2", got)
			}
		})
	}
	if right == 0 || wrong == 0 {
		t.Errorf("without the wait %d seeds gave the right value and %d the wrong one: want both", right, wrong)
	}
	if got := newBench(t, Options{}).handOver(t, false); got != 2 {
		t.Errorf("streams that run at once: %g, want 2", got)
	}
}

// Page-locked memory is read when a copy is done, other memory when it is put on the stream.
func TestLateCopies(t *testing.T) {
	b := newBench(t, Options{Shuffled: true})
	got := make([]byte, 8)
	pageable := floats(1)
	copy(b.pinned, floats(1))
	must(t, b.s[0].CopyToDevice(b.p, pageable))
	must(t, b.s[0].CopyToDevice(b.q, b.pinned))
	must(t, b.s[0].CopyToHost(got[:4], b.p))
	must(t, b.s[0].CopyToHost(got[4:], b.q))
	copy(pageable, floats(2))
	copy(b.pinned, floats(2))
	if !bytes.Equal(got, make([]byte, 8)) {
		t.Error("copies to the host were done before a synchronisation")
	}
	must(t, b.s[0].Record(b.e))
	must(t, b.e.Synchronize())
	if want := floats(1, 2); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// A graph keeps arguments and addresses, and reads host memory in each replay.
func TestGraph(t *testing.T) {
	for _, shuffled := range []bool{false, true} {
		b := newBench(t, Options{Shuffled: shuffled})
		args := memoryArgs(b.p, b.p, 1, 0)
		add := primitive(t, b.d, "test_add")
		_, err := add.Occupancy(1, 0) // a kernel must not come for the first time in a capture
		must(t, err)
		must(t, b.s[0].BeginCapture())
		must(t, b.s[0].CopyToDevice(b.p, b.pinned))
		must(t, b.s[0].Launch(add, one, one, 0, args))
		must(t, b.s[0].Launch(add, one, one, 0, args))
		must(t, b.s[0].CopyOnDevice(b.q, b.p, 4))
		g, err := b.s[0].EndCapture()
		must(t, err)
		clear(args)
		got := make([]byte, 4)
		must(t, b.s[0].CopyToHost(got, b.q))
		must(t, b.s[0].Synchronize())
		if want := []byte{0xff, 0xff, 0xff, 0xff}; !bytes.Equal(got, want) {
			t.Errorf("the captured work ran: %x", got)
		}
		for _, x := range []float32{5, 7} {
			copy(b.pinned, floats(x))
			must(t, b.s[1].LaunchGraph(g))
			must(t, b.s[1].CopyToHost(got, b.q))
			must(t, b.s[1].Synchronize())
			if firstFloat(got) != x+2 {
				t.Errorf("replay gives %g, want %g", firstFloat(got), x+2)
			}
		}
		must(t, g.Destroy())
	}
}
