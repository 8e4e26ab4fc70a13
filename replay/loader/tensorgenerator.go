package loader

import (
	"cmp"
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"
)

// tensorGenerator makes batches of BatchSize rows. What is left at the end
// becomes a short batch (one a goroutine; the loader's output joins them).
type tensorGenerator struct {
	edges[Frame, *Batch]
	settings *TensorGenerator

	made, rows, bad *counter
}

func newTensorGenerator(b *build) (Stage, error) {
	t := &tensorGenerator{edges: edgesOf[Frame, *Batch](b), settings: b.config.TensorGenerator,
		made: b.counter("batches"), rows: b.counter("rows"), bad: b.counter("frames_bad")}
	size := t.settings.BatchSize
	return t, cmp.Or(fewThreads(t.settings.Threads), wrong(size < 1, "batch_size: %d; at least 1 is needed", size))
}

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
			t.quarantine.Add("frames of stage "+t.config.Name, err)
		}
	}
	return false, nil
}
