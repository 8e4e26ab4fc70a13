package replay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"runtime"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

func testSource(w *Window) *Source { return NewSource(w, sample.NewUniform(), 7, 1) }

// TestPrefetch: the same rows as without, at any depth, and the saved state is
// that of the rows consumed.
func TestPrefetch(t *testing.T) {
	plain := testSource(testWindow(20, 15))
	want := draw(t, plain, 3)
	wantState := saved(t, plain.Section())
	rest := draw(t, plain, 5)
	for _, depth := range []int{0, 1, 2, 7} {
		p := Prefetch(testSource(testWindow(20, 15)), depth)
		if got := draw(t, p, 3); !reflect.DeepEqual(got, want) {
			t.Fatalf("depth %d: other rows", depth)
		}
		state := saved(t, p.Section())
		if !bytes.Equal(state, wantState) {
			t.Errorf("depth %d: state\n%s\nwant\n%s", depth, state, wantState)
		}
		if got := draw(t, p, 5); !reflect.DeepEqual(got, rest) {
			t.Errorf("depth %d: other rows after a save", depth)
		}
		if err := p.Section().Load(bytes.NewReader(state), 1); err != nil {
			t.Fatal(err)
		}
		if got := draw(t, p, 5); !reflect.DeepEqual(got, rest) {
			t.Errorf("depth %d: other rows after a load", depth)
		}
		if err := errors.Join(p.Close(), p.Close()); err != nil {
			t.Error(err)
		}
		if err := p.Next(context.Background(), encoding.NewTrainBatch(1)); !errors.Is(err, ErrClosed) {
			t.Errorf("Next after Close: %v", err)
		}
	}
}

// TestPrefetchExact: rows follow the window as it is at Next, whatever was
// prepared before; with AllowStale they need not.
func TestPrefetchExact(t *testing.T) {
	run := func(src interface {
		Next(context.Context, *encoding.TrainBatch) error
	}, w *Window) (rows []string) {
		for i := range uint64(6) {
			rows = append(rows, draw(t, src, 2)...)
			w.Add(testGame(100+i, 15))
		}
		return rows
	}
	w := testWindow(4, 15)
	want := run(testSource(w), w)
	w = testWindow(4, 15)
	p := Prefetch(testSource(w), 3)
	if got := run(p, w); !reflect.DeepEqual(got, want) {
		t.Error("other rows than without prefetching")
	}
	for len(p.run.items) < 3 { // until batches of the old window surely wait
		runtime.Gosched()
	}
	p.redrawn = 0
	w.Add(testGame(200, 15))
	draw(t, p, 1)
	if p.redrawn < 3 {
		t.Errorf("%d batches drawn again after a change, want the 3 that were prepared at least", p.redrawn)
	}
	p.Close()
}

// TestPrefetchNothingInVain: where every batch has a window of its own nothing is
// prepared, and where one window is for several, all but the first are.
func TestPrefetchNothingInVain(t *testing.T) {
	w := testWindow(4, 15)
	p := Prefetch(testSource(w), 2)
	defer p.Close()
	for i := range uint64(5) {
		draw(t, p, 1)
		w.Add(testGame(100+i, 15))
		if prepares := p.run != nil; prepares != (i == 0) {
			t.Errorf("batch %d: prepares the next: %v", i, prepares)
		}
	}
	draw(t, p, 1)
	draw(t, p, 1)
	if p.run == nil {
		t.Error("the second batch of one window: the next is not prepared")
	}
	w.Add(testGame(200, 15))
	draw(t, p, 1)
	if p.run == nil {
		t.Error("after a window with two batches: the second of the next one is not prepared")
	}
}

// TestPrefetchErrors: an error comes through, the position stays, and the next
// call tries again.
func TestPrefetchErrors(t *testing.T) {
	w := NewWindow(1 << 20)
	p := Prefetch(testSource(w), 2)
	defer p.Close()
	b := encoding.NewTrainBatch(testBatch)
	for range 2 {
		if err := p.Next(context.Background(), b); !errors.Is(err, ErrNoRows) || b.N != 0 {
			t.Errorf("empty window: %v, %d rows", err, b.N)
		}
	}
	w.Add(testGame(1, 20))
	plainWindow := NewWindow(1 << 20)
	plainWindow.Add(testGame(1, 20))
	if got := draw(t, p, 2); !reflect.DeepEqual(got, draw(t, testSource(plainWindow), 2)) {
		t.Error("other rows after an error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Next(ctx, b); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// Another batch size: what was prepared does not fit and is drawn again.
	small := encoding.NewTrainBatch(3)
	if err := p.Next(context.Background(), small); err != nil || small.N != 3 {
		t.Errorf("smaller batch: %v, %d rows", err, small.N)
	}
}

// unsaved is a cursor whose state cannot be saved.
type unsaved struct{ *Source }

var errUnsaved = errors.New("no state")

func (u unsaved) Section() stage.Section {
	s := u.Source.Section()
	return stage.Section{Name: s.Name, Version: s.Version, Load: s.Load, Save: func(w io.Writer) error { return errUnsaved }}
}

func TestPrefetchUnsavable(t *testing.T) {
	p := Prefetch(unsaved{testSource(testWindow(2, 9))}, 1)
	if err := p.Next(context.Background(), encoding.NewTrainBatch(1)); !errors.Is(err, errUnsaved) {
		t.Errorf("Next: %v", err)
	}
	if err := p.Section().Save(&bytes.Buffer{}); !errors.Is(err, errUnsaved) {
		t.Errorf("Save: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestPrefetchWhileAdding draws while games come in (race detector).
func TestPrefetchWhileAdding(t *testing.T) {
	w := testWindow(4, 12)
	p := Prefetch(testSource(w), 2)
	defer p.Close()
	games := testGames(200, 300, 12)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, g := range games {
			w.Add(g)
		}
	}()
	draw(t, p, 20)
	<-done
	draw(t, p, 2)
}

// TestPrefetchPeek: a batch that is looked at is that of the next Next, and the
// position is behind it once it is taken; after the window changed, or an exchange, its
// ticket is void.
func TestPrefetchPeek(t *testing.T) {
	plain := testSource(testWindow(20, 15))
	want := draw(t, plain, 2)
	state := saved(t, plain.Section())
	want = append(want, draw(t, plain, 1)...)
	after := saved(t, plain.Section())
	rest := draw(t, plain, 2)

	w := testWindow(20, 15)
	p := Prefetch(testSource(w), 2)
	defer p.Close()
	b := encoding.NewTrainBatch(testBatch)
	if _, ok := p.Peek(b); ok {
		t.Error("a batch is there before the first was asked for")
	}
	got := draw(t, p, 2)
	ticket := peek(t, p, b)
	if again := peek(t, p, b); again != ticket {
		t.Errorf("tickets %d and %d for one batch", ticket, again)
	}
	if now := saved(t, p.Section()); !bytes.Equal(now, state) {
		t.Error("looking at a batch moved the position")
	}
	if !p.Take(ticket) || p.Take(ticket) {
		t.Error("want the batch once")
	}
	if got = append(got, rowsOf(b)...); !reflect.DeepEqual(got, want) {
		t.Error("other rows")
	}
	if now := saved(t, p.Section()); !bytes.Equal(now, after) {
		t.Error("the position is not behind the batch that was taken")
	}
	ticket = peek(t, p, b)
	if got := draw(t, p, 2); !reflect.DeepEqual(got, rest) || p.Take(ticket) {
		t.Error("a batch that was looked at and not taken: other rows, or it could be taken after Next gave it")
	}
	ticket = peek(t, p, b)
	w.Add(testGame(99, 15))
	if p.Take(ticket) {
		t.Error("a batch of the old window was taken")
	}
	draw(t, p, 1)
	ticket = peek(t, p, b)
	next := Prefetch(testSource(w), 2)
	defer next.Close()
	if next.Take(ticket) {
		t.Error("a batch of the prefetcher before was taken")
	}
}

// peek looks until a batch is ready.
func peek(t *testing.T, p *Prefetcher, b *encoding.TrainBatch) uint64 {
	t.Helper()
	for {
		b.Reset()
		if ticket, ok := p.Peek(b); ok {
			return ticket
		}
		runtime.Gosched()
	}
}
