package loader

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"
)

func init() {
	register(kind{name: "join_positions", in: Frames, out: Frames, manyIn: true,
		chosen: func(c *StageConfig) bool { return c.JoinPositions != nil },
		newStage: func(b *build) (Stage, error) {
			return &joinPositions{name: b.config.Name, in: inputsOf[Frame](b), out: outputOf[Frame](b)}, nil
		}})
}

// joinPositions merges frames as they come: an input that waits holds nobody
// up. It ends when all inputs have.
type joinPositions struct {
	name string
	in   []*Queue[Frame]
	out  *Queue[Frame]
}

func (j *joinPositions) Name() string { return j.name }

// Run passes frames on.
func (j *joinPositions) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, in := range j.in {
		group.Go(func() error {
			for {
				f, err := in.Get(ctx)
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				if err := j.out.Put(ctx, f); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

func (j *joinPositions) Stats() []Counter { return nil }
