package loader

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// numbered returns n frames whose weights are 1 to n.
func numbered(t testing.TB, n int) (frames []Frame) {
	b, _ := rowsOf(t, randomRecord(t, 1, 3, false), 0)
	var p packer
	for i := range n {
		b.Weight[1] = float32(i + 1)
		f, err := p.pack(b, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, f)
	}
	return frames
}

// numbersOf returns the weights of numbered frames, less 1.
func numbersOf(t testing.TB, frames []Frame) (numbers []int) {
	b := encoding.NewTrainBatch(1)
	for _, f := range frames {
		b.Reset()
		if err := f.AppendTo(b); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, int(b.Weight[0])-1)
	}
	return numbers
}

func newSampler(t testing.TB, seed uint64, size int) (*frameSampler, *Queue[Frame], *Queue[Frame]) {
	t.Helper()
	in, out := NewQueue[Frame](10_000, Block), NewQueue[Frame](2, Block)
	s, err := newFrameSampler(&build{config: &StageConfig{Name: "mix", ShufflingFrameSampler: &ShufflingFrameSampler{Threads: 1, ReservoirSizePerThread: size}},
		options: &Options{Seed: seed}, in: []anyQueue{in}, out: []anyQueue{out}})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*frameSampler), in, out
}

// Every frame comes out exactly once, whether the reservoir is smaller than the
// input, as large, or larger; a frame comes out no earlier than it went in.
func TestSamplerLosesNothing(t *testing.T) {
	frames := numbered(t, 300)
	for _, size := range []int{1, 40, 300, 1000} {
		s, in, out := newSampler(t, 1, size)
		for _, f := range frames {
			if err := in.Put(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		in.Close()
		got := numbersOf(t, runFrames(t, s, out))
		for i, k := range got[:max(0, 300-size)] {
			if k > i+size-1 {
				t.Errorf("size %d: frame %d is number %d", size, i, k)
			}
		}
		if size > 1 && slices.IsSorted(got) {
			t.Errorf("size %d: not mixed", size)
		}
		slices.Sort(got)
		if len(got) != 300 || got[0] != 0 || got[299] != 299 || len(slices.Compact(got)) != 300 {
			t.Errorf("size %d: %d frames", size, len(got))
		}
		if stats := s.Stats(); stats[0].Value != 300 || stats[1].Value != 0 || stats[2].Value != 0 {
			t.Errorf("size %d: %+v", size, stats)
		}
	}
}

// A reservoir that holds everything gives a uniformly random order: each number
// in each place equally often; an exchange takes each place equally often.
// p = 1e-6 (see chiLimit).
func TestSamplerUniform(t *testing.T) {
	const n = 8
	frames := numbered(t, n)
	var order [n * n]int
	var places [n]int
	s, _, _ := newSampler(t, 2, n)
	for range 4000 {
		for _, f := range frames {
			s.exchange(f)
		}
		for place := range n {
			f, _ := s.takeOne(t.Context())
			order[place*n+slices.Index(frames, f)]++
		}
	}
	if x := chiSquare(order[:]); x > chiLimit((n-1)*(n-1)) {
		t.Errorf("order: chi-square %.1f, at most %.1f", x, chiLimit((n-1)*(n-1)))
	}
	many := numbered(t, 1000)
	for i := range 40_000 {
		at := slices.Clone(s.reservoir)
		if f, full := s.exchange(many[i%1000]); full {
			places[slices.Index(at, f)]++
		}
	}
	if x := chiSquare(places[:]); x > chiLimit(n-1) {
		t.Errorf("places: chi-square %.1f, at most %.1f: %v", x, chiLimit(n-1), places)
	}
}

// After loading the state the same frames follow, bit for bit.
func TestSamplerRestore(t *testing.T) {
	frames := numbered(t, 400)
	s, _, _ := newSampler(t, 3, 50)
	for _, f := range frames[:200] {
		s.exchange(f)
	}
	var state bytes.Buffer
	if err := s.Section().Save(&state); err != nil {
		t.Fatal(err)
	}
	rest := func(s *frameSampler) (out []Frame) {
		for _, f := range frames[200:] {
			g, _ := s.exchange(f)
			out = append(out, g)
		}
		for {
			f, err := s.takeOne(t.Context())
			if err != nil {
				return out
			}
			out = append(out, f)
		}
	}
	want := rest(s)
	again, _, _ := newSampler(t, 4, 50)
	if err := again.Section().Load(bytes.NewReader(state.Bytes()), samplerVersion); err != nil {
		t.Fatal(err)
	}
	var saved bytes.Buffer
	if err := again.Section().Save(&saved); err != nil || !bytes.Equal(saved.Bytes(), state.Bytes()) {
		t.Errorf("the state changes when it is loaded: %v", err)
	}
	if got := rest(again); !slices.Equal(got, want) {
		t.Error("other frames after loading the state")
	}
	for _, bad := range [][]byte{nil, state.Bytes()[:20], state.Bytes()[:100], append(bytes.Clone(state.Bytes()), 0),
		binary.AppendUvarint(bytes.Clone(state.Bytes()[:20]), 1<<60)} {
		if err := again.Section().Load(bytes.NewReader(bad), samplerVersion); err == nil {
			t.Errorf("state of %d bytes was loaded", len(bad))
		}
	}
	if err := again.Section().Load(&state, 7); err == nil {
		t.Error("an unknown version was loaded")
	}
}

func TestSamplerSettings(t *testing.T) {
	for name, c := range map[string]ShufflingFrameSampler{"threads": {ReservoirSizePerThread: 1}, "reservoir_size_per_thread": {Threads: 1}} {
		b := &build{config: &StageConfig{Name: "s", ShufflingFrameSampler: &c}, options: &Options{}, in: []anyQueue{NewQueue[Frame](1, Block)}, out: []anyQueue{NewQueue[Frame](1, Block)}}
		if _, err := newFrameSampler(b); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzSamplerState: state is refused, or holds sound frames.
func FuzzSamplerState(f *testing.F) {
	s, _, _ := newSampler(f, 1, 3)
	for _, frame := range numbered(f, 3) {
		s.exchange(frame)
	}
	var state bytes.Buffer
	if err := s.Section().Save(&state); err != nil {
		f.Fatal(err)
	}
	f.Add(state.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _, _ := newSampler(t, 1, 3)
		if err := s.Section().Load(bytes.NewReader(data), samplerVersion); err != nil {
			return
		}
		b := encoding.NewTrainBatch(1)
		for _, frame := range s.reservoir {
			if err := frame.AppendTo(b); err != nil {
				t.Fatal(err)
			}
		}
	})
}
