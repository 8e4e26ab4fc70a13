package api

import (
	"context"
	"errors"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// While as many calls run as a stage works on, another one waits, and goes away
// with its context.
func TestLimit(t *testing.T) {
	calls := 0
	inner := &batchStage{}
	r := limitRescorer(inner, 1)
	e := limitExporter(testExporter(func(context.Context, *stage.Checkpoint, string) ([]string, error) { calls++; return nil, nil }), 1)
	batch, ok := r.(stage.BatchRescorer)
	if !ok {
		t.Fatal("a stage that works on batches does not do so any more")
	}
	g := literalGame()
	all := map[string]func(context.Context) error{
		"rescorer": func(ctx context.Context) error { _, err := r.Rescore(ctx, g); return err },
		"batch":    func(ctx context.Context) error { _, err := batch.RescoreBatch(ctx, []*record.Game{g}); return err },
		"exporter": func(ctx context.Context) error { _, err := e.Export(ctx, nil, ""); return err },
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	held := []slots{r.(*limitedBatch).slots, e.(*limitedExporter).slots}
	for name, call := range all {
		for _, s := range held {
			s <- struct{}{} // as a call that runs does
		}
		if err := call(ctx); !errors.Is(err, context.Canceled) || inner.batches.Load() > 0 && name == "batch" || calls > 0 && name == "exporter" {
			t.Errorf("%s: with all slots taken: %v", name, err)
		}
		for _, s := range held {
			s.give()
		}
		for range 3 { // each gives its slot back
			if err := call(context.Background()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if inner.batches.Load() != 3 || calls != 3 {
		t.Errorf("%d batches, %d exports; want 3 of each", inner.batches.Load(), calls)
	}
	wantError(t, r.(stage.Faulty).Err(), "a broken table")
	single := limitRescorer(rescoreFunc(nil), 1)
	if _, ok := single.(stage.BatchRescorer); ok || single.(stage.Faulty).Err() != nil {
		t.Error("a plain rescorer became more than that")
	}
	if got := limitRescorer(inner, 0); got != stage.Rescorer(inner) || limitRescorer(nil, 1) != nil || limitExporter(nil, 1) != nil {
		t.Error("something was limited that is not")
	}
}
