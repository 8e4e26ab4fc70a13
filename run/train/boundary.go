package train

import (
	"context"
	"errors"
)

// errEnding answers calls that come when the training is over.
var errEnding = errors.New("the run is ending")

// boundary lets other goroutines have something done on the one that trains,
// between two optimizer steps.
type boundary struct {
	calls chan func()
	ended context.Context // there are no more boundaries
	end   context.CancelFunc
}

func newBoundary() *boundary {
	b := &boundary{calls: make(chan func())}
	b.ended, b.end = context.WithCancel(context.Background())
	return b
}

// do has fn called at the next boundary and returns its error. errEnding: no
// boundary comes any more.
func (b *boundary) do(ctx context.Context, fn func() error) error {
	done := make(chan error, 1)
	select {
	case b.calls <- func() { done <- fn() }:
		return <-done
	case <-b.ended.Done():
		return errEnding
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve does what waits. It is called by the goroutine that trains.
func (b *boundary) serve() {
	for {
		select {
		case call := <-b.calls:
			call()
		default:
			return
		}
	}
}

// during calls wait on a goroutine of its own, and does what comes meanwhile on this one.
func (b *boundary) during(wait func() error) error {
	over := make(chan error, 1)
	go func() { over <- wait() }()
	for {
		select {
		case err := <-over:
			return err
		case call := <-b.calls:
			call()
		}
	}
}
