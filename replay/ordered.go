package replay

import (
	"context"
	"io"

	"golang.org/x/sync/errgroup"
)

// MapOrdered calls work for each item that next returns, up to its io.EOF, on up to
// threads goroutines, and passes the results to emit one after the other in the order
// of the items. It returns nil at the end, otherwise the first error of next, work or
// emit, or ctx's.
func MapOrdered[A, B any](ctx context.Context, threads int, next func(context.Context) (A, error), work func(context.Context, A) (B, error), emit func(context.Context, B) error) error {
	if threads <= 1 {
		return Each(ctx, next, func(item A) error {
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
		return Each(ctx, next, func(item A) error {
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

// Each calls do with each item that next returns, up to its io.EOF. An error is next's
// or do's.
func Each[T any](ctx context.Context, next func(context.Context) (T, error), do func(T) error) error {
	for {
		item, err := next(ctx)
		if err == io.EOF { // itself: one in the chain of an error is a failure
			return nil
		}
		if err != nil {
			return err
		}
		if err := do(item); err != nil {
			return err
		}
	}
}

// Items returns a next for MapOrdered: it goes through a slice.
func Items[T any](items []T) func(context.Context) (*T, error) {
	return func(ctx context.Context) (*T, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return nil, io.EOF
		}
		item := &items[0]
		items = items[1:]
		return item, nil
	}
}
