package cycle

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// listBook is a book of a few stages in memory.
type listBook struct {
	works  map[Stage]Work
	stages []Stage
	done   map[Stage]string // how each ended
	before Stage            // is done before it begins: a kill came before its last line
	stop   Stage            // a stop condition holds before it
}

func (b *listBook) Next() (Stage, Work, bool) {
	for _, s := range b.stages {
		if _, done := b.done[s]; !done {
			return s, b.works[s], true
		}
	}
	return "", nil, false
}

func (b *listBook) Begin(s Stage) (Todo, error) {
	switch s {
	case b.before:
		b.done[s] = "before"
		return Todo{Done: true}, nil
	case b.stop:
		return Todo{Stop: "enough"}, nil
	}
	return Todo{Cycle: 7}, nil
}

func (b *listBook) End(s Stage, skip string, err error) error {
	if err == nil {
		b.done[s] = skip
	}
	return err
}

// TestDo: stages are done in the book's order, each with what Begin says of it; one
// that failed is next again; a stop and the end of the context leave the rest.
func TestDo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var did []Stage
	fails := true
	works := map[Stage]Work{}
	for _, s := range []Stage{"a", "c", "d", "e"} { // and none for b: it must not be asked for
		works[s] = func(_ context.Context, todo Todo) (string, error) {
			did = append(did, s)
			if todo.Cycle != 7 {
				t.Errorf("%s has %+v to do", s, todo)
			}
			if s == "c" && fails {
				return "", errActed
			}
			if s == "d" {
				cancel()
			}
			return "skipped " + string(s), nil
		}
	}
	b := &listBook{works: works, stages: []Stage{"a", "b", "c", "d", "e"}, done: map[Stage]string{}, before: "b"}
	if _, err := Do(ctx, b); !errors.Is(err, errActed) {
		t.Errorf("a stage failed: %v", err)
	}
	fails, b.stop = false, "c"
	if stop, err := Do(ctx, b); err != nil || stop != "enough" {
		t.Errorf("stopped with %q, %v", stop, err)
	}
	b.stop = ""
	if _, err := Do(ctx, b); !errors.Is(err, context.Canceled) {
		t.Errorf("the context ended in d: %v", err)
	}
	if stop, err := Do(t.Context(), b); err != nil || stop != "" {
		t.Errorf("the rest ended with %q, %v", stop, err)
	}
	if want := []Stage{"a", "c", "c", "d", "e"}; !slices.Equal(did, want) {
		t.Errorf("did %q, want %q", did, want)
	}
	if b.done["b"] != "before" || b.done["d"] != "skipped d" {
		t.Errorf("the book has %v", b.done)
	}
}
