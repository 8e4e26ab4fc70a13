package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

func init() {
	register(kind{name: "tensor_generator", in: Frames, out: Batches,
		chosen: func(c *StageConfig) bool { return c.TensorGenerator != nil }, newStage: newTensorGenerator})
}

// tensorGenerator makes batches of BatchSize rows. What is left at the end
// becomes a short batch (one a goroutine; the loader's output joins them).
type tensorGenerator struct {
	name       string
	settings   *TensorGenerator
	quarantine *Quarantine
	batches    *sync.Pool
	in         *Queue[Frame]
	out        *Queue[*Batch]

	made, rows, bad atomic.Uint64
}

func newTensorGenerator(b *build) (Stage, error) {
	s := b.config.TensorGenerator
	if s.Threads < 1 {
		return nil, fmt.Errorf("threads: %d; at least 1 is needed", s.Threads)
	}
	if s.BatchSize < 1 {
		return nil, fmt.Errorf("batch_size: %d; at least 1 is needed", s.BatchSize)
	}
	return &tensorGenerator{name: b.config.Name, settings: s, quarantine: b.quarantine, batches: b.batches,
		in: inputOf[Frame](b), out: outputOf[*Batch](b)}, nil
}

func (t *tensorGenerator) Name() string { return t.name }

// Run makes batches.
func (t *tensorGenerator) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for range t.settings.Threads {
		group.Go(func() error { return t.work(ctx) })
	}
	return group.Wait()
}

// work makes batches of the frames that this goroutine gets.
func (t *tensorGenerator) work(ctx context.Context) error {
	for {
		b := t.batches.Get().(*Batch)
		b.Reset()
		end, err := t.fill(ctx, b)
		if err != nil {
			return err
		}
		if b.N > 0 {
			t.made.Add(1)
			t.rows.Add(uint64(b.N))
			if err := t.out.Put(ctx, b); err != nil {
				return err
			}
		}
		if end {
			return nil
		}
	}
}

// fill appends frames to b until it has its size or there are no more.
func (t *tensorGenerator) fill(ctx context.Context, b *Batch) (end bool, err error) {
	for b.N < t.settings.BatchSize {
		f, err := t.in.Get(ctx)
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if err := f.AppendTo(b); err != nil {
			t.bad.Add(1)
			t.quarantine.Add("frames of stage "+t.name, err)
		}
	}
	return false, nil
}

func (t *tensorGenerator) Stats() []Counter {
	return []Counter{count("batches", &t.made), count("rows", &t.rows), count("frames_bad", &t.bad)}
}
