package run

import (
	"context"
	"errors"
)

// Beside does work, and side next to it until work has ended. A side that fails interrupts
// the work; nil is no side.
func Beside(ctx context.Context, side, work func(context.Context) error) error {
	if side == nil {
		return work(ctx)
	}
	both, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan error, 1)
	go func() {
		err := side(both)
		if err != nil {
			stop(err)
		}
		ended <- err
	}()
	err := work(both)
	stop(nil)
	failed := <-ended
	if failed != nil && errors.Is(err, ErrInterrupted) {
		err = nil // it was not the user who stopped the work
	}
	return errors.Join(failed, err)
}
