package loader

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/replay"
)

// joinPositions merges frames as they come: an input that waits holds nobody
// up. It ends when all inputs have.
type joinPositions struct{ *build }

func newJoinPositions(b *build) (Stage, error) { return &joinPositions{b}, nil }

// Run passes frames on.
func (j *joinPositions) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	out := queuesOf[Frame](j.out)[0]
	for _, in := range queuesOf[Frame](j.in) {
		group.Go(func() error {
			return replay.Each(ctx, in.Get, func(f Frame) error { return out.Put(ctx, f) })
		})
	}
	return group.Wait()
}
