package loader

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// mapOrdered reads in to its end, calls work for each item on up to threads
// goroutines, and passes the results to emit one after the other in the order
// of the input. It returns nil at the end of the input, otherwise the first
// error of work or emit, or ctx's.
func mapOrdered[A, B any](ctx context.Context, threads int, in *Queue[A], work func(context.Context, A) (B, error), emit func(context.Context, B) error) error {
	if threads <= 1 {
		return each(ctx, in, func(item A) error {
			r, err := work(ctx, item)
			if err != nil {
				return err
			}
			return emit(ctx, r)
		})
	}
	group, ctx := errgroup.WithContext(ctx)
	pending := make(chan chan B, threads-1) // results to come, in order; one more is with emit
	slots := make(chan struct{}, threads)
	group.Go(func() error { // every goroutine that works is of this group too
		defer close(pending)
		return each(ctx, in, func(item A) error {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			result := make(chan B, 1)
			group.Go(func() error {
				defer func() { <-slots }()
				r, err := work(ctx, item)
				if err == nil {
					result <- r
				}
				return err
			})
			select {
			case pending <- result:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	group.Go(func() error {
		for result := range pending {
			select {
			case r := <-result:
				if err := emit(ctx, r); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return group.Wait()
}
