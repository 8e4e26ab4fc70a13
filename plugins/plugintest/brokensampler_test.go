package plugintest

import (
	"context"
	"io"
	"math"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// TestBrokenSamplers breaks one rule after another.
func TestBrokenSamplers(t *testing.T) {
	const rows = "rows are in the window"
	spoil := func(change func(refs []stage.RowRef) []stage.RowRef) func(*rowSampler) {
		return func(s *rowSampler) {
			s.sample = func(s *rowSampler, ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
				out, err := sampleRows(s, ctx, idx, n, nil)
				if err == nil && n > 0 {
					out = change(out)
				}
				return append(dst, out...), err
			}
		}
	}
	var calls uint64
	for name, c := range map[string]struct {
		change func(*rowSampler)
		find   string
	}{
		"a row less":   {spoil(func(refs []stage.RowRef) []stage.RowRef { return refs[1:] }), rows},
		"a row more":   {spoil(func(refs []stage.RowRef) []stage.RowRef { return append(refs, refs[0]) }), rows},
		"no such game": {spoil(func(refs []stage.RowRef) []stage.RowRef { refs[0].Game = 1 << 60; return refs }), rows},
		"no such ply":  {spoil(func(refs []stage.RowRef) []stage.RowRef { refs[0].Ply = 1000; return refs }), rows},
		"NaN":          {spoil(func(refs []stage.RowRef) []stage.RowRef { refs[0].Weight = float32(math.NaN()); return refs }), rows},
		"negative":     {spoil(func(refs []stage.RowRef) []stage.RowRef { refs[0].Weight = -1; return refs }), rows},
		"drops what was there": {func(s *rowSampler) {
			s.sample = func(s *rowSampler, ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
				return sampleRows(s, ctx, idx, n, dst[:0])
			}
		}, "rows are appended"},
		"has a will of its own": {func(s *rowSampler) {
			calls++
			own := calls
			s.sample = func(s *rowSampler, ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
				for range own {
					s.pcg.Uint64()
				}
				return sampleRows(s, ctx, idx, n, dst)
			}
		}, "one seed"},
		"bad section name": {func(s *rowSampler) { s.name = "No Name" }, "fit for a checkpoint"},
		"saving counts": {func(s *rowSampler) {
			s.save = func(s *rowSampler, w io.Writer) error { s.pcg.Uint64(); return saveRows(s, w) }
		}, "saving changes nothing"},
		"forgets its state": {func(s *rowSampler) {
			s.load = func(*rowSampler, io.Reader, int) error { return nil }
		}, "after Load"},
		"takes any version": {func(s *rowSampler) {
			s.load = func(s *rowSampler, r io.Reader, _ int) error { return loadRows(s, r, 3) }
		}, "foreign state"},
		"loses its state with a bad one": {func(s *rowSampler) {
			s.load = func(s *rowSampler, r io.Reader, version int) error { s.Seed(0, 0); return loadRows(s, r, version) }
		}, "foreign state"},
		"counts failures": {func(s *rowSampler) {
			s.sample = func(s *rowSampler, ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
				s.pcg.Uint64()
				return sampleRows(s, ctx, idx, n, dst)
			}
		}, "an index without rows"},
		"makes up rows": {func(s *rowSampler) {
			s.sample = func(s *rowSampler, ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
				if idx.NumRows() == 0 {
					return append(dst, make([]stage.RowRef, n)...), nil
				}
				return sampleRows(s, ctx, idx, n, dst)
			}
		}, "an index without rows"},
		"does not stop": {func(s *rowSampler) {
			s.sample = func(s *rowSampler, _ context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
				return sampleRows(s, context.Background(), idx, n, dst)
			}
		}, "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			d := samplerOf(func() stage.Sampler {
				s := newRowSampler()
				c.change(s)
				return s
			})
			finds(t, Bare(d, nil), c.find)
		})
	}
}
