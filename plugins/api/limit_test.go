package api

import (
	"context"
	"errors"
	"testing"
)

// While as many calls run as a stage works on, another one waits, and goes away
// with its context.
func TestLimit(t *testing.T) {
	d := rescoring(nil)
	d.Concurrency = 1
	in := newInstance(d)
	calls := 0
	call := func() error { calls++; return nil }
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	in.slots <- struct{}{} // as a call that runs does
	if err := in.call(ctx, call); !errors.Is(err, context.Canceled) || calls > 0 {
		t.Errorf("with all slots taken: %v, %d calls", err, calls)
	}
	<-in.slots
	for range 3 { // each gives its slot back
		if err := in.call(context.Background(), call); err != nil {
			t.Error(err)
		}
	}
	if calls != 3 || newInstance(rescoring(nil)).slots != nil {
		t.Errorf("%d calls, want 3", calls)
	}
}
