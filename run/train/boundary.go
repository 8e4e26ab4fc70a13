package train

import (
	"context"
	"errors"
	"sync"
)

// errEnding answers calls that come when the training is over.
var errEnding = errors.New("the run is ending")

// boundary lets other goroutines have something done on the one that trains,
// between two optimizer steps.
type boundary struct {
	calls chan boundaryCall
	ended chan struct{}
	once  sync.Once
}

type boundaryCall struct {
	fn   func() error
	done chan error // capacity 1
}

func newBoundary() *boundary {
	return &boundary{calls: make(chan boundaryCall), ended: make(chan struct{})}
}

// Do has fn called at the next boundary and returns its error. errEnding: no
// boundary comes any more.
func (b *boundary) do(ctx context.Context, fn func() error) error {
	c := boundaryCall{fn, make(chan error, 1)}
	select {
	case b.calls <- c:
		return <-c.done
	case <-b.ended:
		return errEnding
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Serve does what waits. It is called by the goroutine that trains.
func (b *boundary) serve() {
	for {
		select {
		case c := <-b.calls:
			c.done <- c.fn()
		default:
			return
		}
	}
}

// Wait does what comes until ready is closed.
func (b *boundary) wait(ready <-chan struct{}) {
	for {
		select {
		case <-ready:
			return
		case c := <-b.calls:
			c.done <- c.fn()
		}
	}
}

// End says that there are no more boundaries. A second call does nothing.
func (b *boundary) end() { b.once.Do(func() { close(b.ended) }) }

// during does wait on a goroutine of its own, and what comes meanwhile on this one.
func (b *boundary) during(wait func() error) (err error) {
	ready := make(chan struct{})
	go func() { // ends with the wait below
		defer close(ready)
		err = wait()
	}()
	b.wait(ready)
	return err
}
