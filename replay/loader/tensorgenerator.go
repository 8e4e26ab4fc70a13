package loader

import (
	"cmp"
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/replay"
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
	return t, cmp.Or(fewThreads(t.settings.Threads),
		replay.Wrong(size < 1, "batch_size: %d; at least 1 is needed", size))
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
	b := t.empty()
	err := replay.Each(ctx, t.in.Get, func(f Frame) error {
		if err := f.AppendTo(b); err != nil {
			t.bad.Add(1)
			t.quarantine.Add("frames of stage "+t.config.Name, err)
		}
		if b.N < t.settings.BatchSize {
			return nil
		}
		full := b
		b = t.empty()
		return t.hand(ctx, full)
	})
	if err != nil || b.N == 0 {
		return err
	}
	return t.hand(ctx, b)
}

func (t *tensorGenerator) empty() *Batch {
	b := t.batches.Get().(*Batch)
	b.Reset()
	return b
}

func (t *tensorGenerator) hand(ctx context.Context, b *Batch) error {
	t.made.Add(1)
	t.rows.Add(uint64(b.N))
	return t.out.Put(ctx, b)
}
