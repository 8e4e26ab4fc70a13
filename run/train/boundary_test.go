package train

import (
	"context"
	"errors"
	"testing"
)

// TestBoundary: calls are made where they are waited for, and refused at the end.
func TestBoundary(t *testing.T) {
	b := newBoundary()
	b.serve() // nothing waits
	broken := errors.New("broken")
	answers := make(chan error)
	go func() { answers <- b.do(t.Context(), func() error { return broken }) }()
	if err := b.during(func() error { return <-answers }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.do(ctx, func() error { t.Error("called"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	b.end()
	b.end()
	if err := b.do(t.Context(), func() error { t.Error("called"); return nil }); !errors.Is(err, errEnding) {
		t.Errorf("after the end: %v", err)
	}
}
