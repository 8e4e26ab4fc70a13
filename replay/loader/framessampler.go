package loader

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
)

// frameSampler mixes frames in a reservoir: once that is full, each frame that
// comes takes the place of a random one, which is handed on. At the end of the
// input the rest follows in random order: no frame is lost. The reservoir has
// ReservoirSizePerThread frames for each thread; the work needs only one.
type frameSampler struct {
	edges[Frame, Frame]
	size int

	mu        sync.Mutex
	pcg       *rand.PCG
	rng       *rand.Rand
	reservoir []Frame
	bytes     int64 // of the frames in the reservoir
	loaded    int   // frames that a checkpoint brought

	handed *counter
}

func newFrameSampler(b *build) (Stage, error) {
	s := b.config.ShufflingFrameSampler
	size, most := s.ReservoirSizePerThread, math.MaxInt32/max(s.Threads, 1)
	f := &frameSampler{edges: edgesOf[Frame, Frame](b), size: s.Threads * size, pcg: b.random(0)}
	f.handed = b.counter("frames")
	f.rng = rand.New(f.pcg)
	return f, cmp.Or(fewThreads(s.Threads),
		replay.Wrong(size < 1 || size > most, "reservoir_size_per_thread: %d; take 1 to %d", size, most))
}

// Run mixes.
func (s *frameSampler) Run(ctx context.Context) error {
	err := replay.Each(ctx, s.in.Get, func(f Frame) error {
		if out, full := s.exchange(f); full {
			return s.hand(ctx, out)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return replay.Each(ctx, s.takeOne, func(f Frame) error { return s.hand(ctx, f) })
}

func (s *frameSampler) hand(ctx context.Context, f Frame) error {
	s.handed.Add(1)
	return s.out.Put(ctx, f)
}

// exchange puts f in and returns the frame that it replaces once the reservoir
// is full.
func (s *frameSampler) exchange(f Frame) (out Frame, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += int64(len(f.row))
	if len(s.reservoir) < s.size {
		s.reservoir = append(s.reservoir, f)
		return out, false
	}
	// A reservoir loaded from a checkpoint of a larger one stays as large.
	k := s.rng.IntN(len(s.reservoir))
	out, s.reservoir[k] = s.reservoir[k], f
	s.bytes -= int64(len(out.row))
	return out, true
}

// takeOne takes a random frame out; io.EOF where there is none.
func (s *frameSampler) takeOne(context.Context) (f Frame, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.reservoir)
	if n == 0 {
		return f, io.EOF
	}
	k := s.rng.IntN(n)
	f, s.reservoir[k] = s.reservoir[k], s.reservoir[n-1]
	s.reservoir[n-1] = Frame{}
	s.reservoir = s.reservoir[:n-1]
	s.bytes -= int64(len(f.row))
	return f, nil
}

// Stats returns the counters.
func (s *frameSampler) Stats() []Counter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(s.build.Stats(), gauge("reservoir_frames", len(s.reservoir)), gauge("reservoir_bytes", s.bytes))
}

const samplerVersion = 1

// Section is the generator and the reservoir itself: the chunks that its frames
// came from need not exist any more. It has 150 to 300 bytes a frame.
//
// Layout: generator 20 | uvarint number of frames | for each uvarint length and
// the bytes, see Frame.
func (s *frameSampler) Section() stage.Section {
	return stage.Section{Name: s.config.Name, Version: samplerVersion, Save: s.save, Load: s.load}
}

func (s *frameSampler) save(w io.Writer) error {
	s.mu.Lock()
	data, _ := s.pcg.AppendBinary(nil)             // never fails
	frames := append([]Frame(nil), s.reservoir...) // 16 bytes each; what they show does not change
	s.mu.Unlock()
	data = binary.AppendUvarint(data, uint64(len(frames)))
	if _, err := w.Write(data); err != nil {
		return err
	}
	for _, f := range frames {
		data = append(binary.AppendUvarint(data[:0], uint64(len(f.row))), f.row...)
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// maxFrame bounds a frame's bytes: 255 moves with a float32 each.
const maxFrame = 1 << 13

func (s *frameSampler) load(r io.Reader, version int) error {
	if version != samplerVersion {
		return fmt.Errorf("state of the frame sampler has version %d, this program reads %d", version, samplerVersion)
	}
	in := bufio.NewReaderSize(r, 1<<16)
	row := make([]byte, maxFrame)
	_, err := io.ReadFull(in, row[:pcgBytes])
	var pcg rand.PCG
	if err == nil {
		err = setPCG(&pcg, row[:pcgBytes])
	}
	if err != nil {
		return fmt.Errorf("state of the frame sampler: %w", err)
	}
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return fmt.Errorf("state of the frame sampler: number of frames: %w", err)
	}
	var frames []Frame // grows with what is really there
	var bytes int64
	scratch := encoding.NewTrainBatch(1)
	for i := range n {
		size, err := binary.ReadUvarint(in)
		if err == nil && size > maxFrame {
			err = fmt.Errorf("%d bytes, at most %d", size, maxFrame)
		}
		if err == nil {
			_, err = io.ReadFull(in, row[:size])
		}
		var f Frame
		if err == nil {
			f, err = parseFrame(row[:size], scratch)
		}
		if err != nil {
			return fmt.Errorf("state of the frame sampler: frame %d of %d: %w", i, n, err)
		}
		frames, bytes = append(frames, f), bytes+int64(size)
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("state of the frame sampler goes on after its %d frames", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.pcg, s.reservoir, s.bytes, s.loaded = pcg, frames, bytes, len(frames)
	return nil
}
