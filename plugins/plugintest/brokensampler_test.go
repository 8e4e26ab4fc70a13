package plugintest

import (
	"context"
	"math"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// spoil returns samplers that change the rows of each draw.
func spoil(change func(refs []stage.RowRef) []stage.RowRef) func() sampleFunc {
	return with(func(d *stage.Draw) {}, func(refs []stage.RowRef, state []byte) ([]stage.RowRef, []byte) { return change(refs), state })
}

// with returns samplers that change each draw before it is made, and after.
func with(before func(*stage.Draw), after func([]stage.RowRef, []byte) ([]stage.RowRef, []byte)) func() sampleFunc {
	return func() sampleFunc {
		return func(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
			before(&d)
			out, state, err := sampleRows(ctx, d, nil)
			if err == nil && d.Rows > 0 {
				out, state = after(out, state)
			}
			return append(dst, out...), state, err
		}
	}
}

// TestBrokenSamplers breaks one rule after another.
func TestBrokenSamplers(t *testing.T) {
	const rows = "rows are in the window"
	same := func(refs []stage.RowRef, state []byte) ([]stage.RowRef, []byte) { return refs, state }
	made := uint64(0)
	for name, c := range map[string]struct {
		make1 func() sampleFunc
		find  string
	}{
		"a row less":   {spoil(func(refs []stage.RowRef) []stage.RowRef { return refs[1:] }), rows},
		"a row more":   {spoil(func(refs []stage.RowRef) []stage.RowRef { return append(refs, refs[0]) }), rows},
		"no such game": {spoil(func(refs []stage.RowRef) []stage.RowRef { refs[0].Game = 1 << 60; return refs }), rows},
		"no such ply":  {spoil(func(refs []stage.RowRef) []stage.RowRef { refs[0].Ply = 1000; return refs }), rows},
		"NaN":          {spoil(func(refs []stage.RowRef) []stage.RowRef { refs[0].Weight = float32(math.NaN()); return refs }), rows},
		"negative":     {spoil(func(refs []stage.RowRef) []stage.RowRef { refs[0].Weight = -1; return refs }), rows},
		"writes into the state": {with(func(d *stage.Draw) {
			if len(d.State) > 0 {
				d.State[len(d.State)-1]++
			}
		}, same), rows},
		"drops what was there": {func() sampleFunc {
			return func(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
				return sampleRows(ctx, d, dst[:0])
			}
		}, "rows are appended"},
		"has a will of its own": {func() sampleFunc {
			made++
			own := made
			return with(func(d *stage.Draw) { d.Seed += own }, same)()
		}, "one seed"},
		"looking counts": {func() sampleFunc {
			return func(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
				if d.Rows == 0 && d.Index == nil {
					_, state, err := sampleRows(ctx, stage.Draw{Seed: 9}, nil)
					return dst, state, err
				}
				return sampleRows(ctx, d, dst)
			}
		}, "looking at a state"},
		"remembers": {func() sampleFunc {
			var last []byte
			return with(func(d *stage.Draw) {
				if len(d.State) > 0 {
					d.State = last
				}
			}, func(refs []stage.RowRef, state []byte) ([]stage.RowRef, []byte) { last = state; return refs, state })()
		}, "from a state"},
		"takes any state": {func() sampleFunc {
			return func(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
				if len(d.State) != 20 || d.State[0] != 'p' {
					d.State = nil
				}
				return sampleRows(ctx, d, dst)
			}
		}, "foreign state"},
		"makes up rows": {func() sampleFunc {
			return func(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
				if d.Rows > 0 && d.Index.NumRows() == 0 {
					return append(dst, make([]stage.RowRef, d.Rows)...), d.State, nil
				}
				return sampleRows(ctx, d, dst)
			}
		}, "an index without rows"},
		"does not stop": {func() sampleFunc {
			return func(_ context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
				return sampleRows(context.Background(), d, dst)
			}
		}, "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			finds(t, Bare(samplerOf(func() stage.Sampler { return c.make1() }), nil), c.find)
		})
	}
}
