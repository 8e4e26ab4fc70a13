package plugintest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// draw is one call of a sampler: n rows of a window.
type draw struct {
	window *Window
	n      int
}

// sampling is a sampler's part of the suite.
type sampling struct {
	*suite
	draws []draw // over a window that slides
}

// sampler makes the checks of samplers.
func (c *suite) sampler() {
	p := &sampling{suite: c, draws: makeDraws(c.seed)}
	c.do("rows are in the window, as many as asked for, with finite weights", func() error { return c.with(p.rows) })
	c.do("rows are appended, none for n = 0", func() error { return c.with(p.appends) })
	if c.s.Definition.Has(stage.Deterministic) {
		c.do("one seed gives one sequence of rows", func() error { return c.with(p.again) })
	} else {
		c.skip("one seed gives one sequence of rows", "it does not say that it is deterministic")
	}
	c.do("the state's name is fit for a checkpoint, and saving changes nothing", func() error { return c.with(p.saves) })
	c.do("after Load the sampler goes on bit for bit", p.resumes)
	c.do("a foreign state is refused and the old one kept", func() error { return c.with(p.foreign) })
	c.do("an index without rows is an error and changes nothing", func() error { return c.with(p.empty) })
	c.do("a canceled call ends with context.Canceled and changes nothing", func() error { return c.with(p.cancel) })
}

// makeDraws returns calls over a window that slides, is renewed as a whole, and
// goes back to an older state as it does when a run is taken up again.
func makeDraws(seed uint64) []draw {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := NewWindow(rng, 48)
	first := w
	var draws []draw
	for i := range 16 {
		draws = append(draws, draw{w, []int{1, 7, 64, 256}[i%4]})
		switch i {
		case 4: // unchanged
		case 7:
			w = w.Slide(rng, w.NumGames(), 40)
		case 11:
			w = first.Slide(rng, 3, 5)
		default:
			w = w.Slide(rng, rng.IntN(6), 1+rng.IntN(8)) // another window in any case
		}
	}
	return draws
}

// seedSampler starts the sequence (seed, stream) where the sampler has one.
func seedSampler(s stage.Sampler, seed, stream uint64) {
	if seeder, ok := s.(stage.Seeder); ok {
		seeder.Seed(seed, stream)
	}
}

// make1 draws once and holds the rows against the window.
func (p *sampling) make1(s stage.Sampler, d draw) ([]stage.RowRef, error) {
	refs, err := s.Sample(p.ctx, d.window, d.n, nil)
	if err != nil {
		return nil, err
	}
	if len(refs) != d.n {
		return nil, fmt.Errorf("%d rows came, want %d", len(refs), d.n)
	}
	for k, ref := range refs {
		if !d.window.Has(ref.Game, ref.Ply) {
			return nil, fmt.Errorf("row %d: game %d, ply %d is not in the window", k, ref.Game, ref.Ply)
		}
		if w := float64(ref.Weight); !(w >= 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("row %d: weight %g, want a finite number >= 0", k, w)
		}
	}
	return refs, nil
}

// makeAll makes the draws from number from on.
func (p *sampling) makeAll(s stage.Sampler, from int) ([][]stage.RowRef, error) {
	var all [][]stage.RowRef
	for i, d := range p.draws[from:] {
		refs, err := p.make1(s, d)
		if err != nil {
			return nil, fmt.Errorf("draw %d: %w", from+i, err)
		}
		all = append(all, refs)
	}
	return all, nil
}

// equalRows says whether rows are the same to the bit.
func equalRows(a, b stage.RowRef) bool {
	return a.Game == b.Game && a.Ply == b.Ply && math.Float32bits(a.Weight) == math.Float32bits(b.Weight)
}

// compareDraws names the first row in which two sequences of draws differ.
func compareDraws(got, want [][]stage.RowRef, from int) error {
	for i := range want {
		for k := range want[i] {
			if !equalRows(got[i][k], want[i][k]) {
				return fmt.Errorf("draw %d, row %d: %+v, want %+v", from+i, k, got[i][k], want[i][k])
			}
		}
	}
	return nil
}

// rows makes all draws and keeps them as output.
func (p *sampling) rows(st Stage) error {
	seedSampler(st.Sampler, p.seed, 1)
	all, err := p.makeAll(st.Sampler, 0)
	for i, refs := range all {
		d := newDigest()
		for _, ref := range refs {
			var b [16]byte
			binary.LittleEndian.PutUint64(b[:], ref.Game)
			binary.LittleEndian.PutUint32(b[8:], uint32(ref.Ply))
			binary.LittleEndian.PutUint32(b[12:], math.Float32bits(ref.Weight))
			d.Write(b[:])
		}
		p.keep(fmt.Sprintf("draw %d", i), d)
	}
	return err
}

// appends passes rows that are there already.
func (p *sampling) appends(st Stage) error {
	d := p.draws[0]
	before := []stage.RowRef{{Game: 1 << 40, Ply: -3, Weight: 0.5}, {Game: 7, Ply: 9}}
	refs, err := st.Sampler.Sample(p.ctx, d.window, 5, slices.Clone(before))
	if err != nil {
		return err
	}
	if len(refs) != len(before)+5 || !slices.EqualFunc(refs[:2], before, equalRows) {
		return fmt.Errorf("5 rows after %d: %d came, the first are %v, want %v", len(before), len(refs), refs[:min(2, len(refs))], before)
	}
	if refs, err = st.Sampler.Sample(p.ctx, d.window, 0, slices.Clone(before)); err != nil || !slices.EqualFunc(refs, before, equalRows) {
		return fmt.Errorf("no rows after %v: %v, error %v", before, refs, err)
	}
	return nil
}

// again makes the draws with two instances of one seed.
func (p *sampling) again(st Stage) error {
	seedSampler(st.Sampler, p.seed, 2)
	want, err := p.makeAll(st.Sampler, 0)
	if err != nil {
		return err
	}
	return p.with(func(other Stage) error {
		seedSampler(other.Sampler, p.seed, 2)
		got, err := p.makeAll(other.Sampler, 0)
		if err != nil {
			return fmt.Errorf("another instance: %w", err)
		}
		return compareDraws(got, want, 0)
	})
}

// empty draws from a window without games.
func (p *sampling) empty(st Stage) error {
	seedSampler(st.Sampler, p.seed, 7)
	nothing := NewWindow(rand.New(rand.NewPCG(p.seed, 2)), 0)
	err := unchanged(st.Sampler, func() error {
		if refs, err := st.Sampler.Sample(p.ctx, nothing, 3, nil); err == nil {
			return fmt.Errorf("%v came out of it", refs)
		}
		return nil
	})
	if err == nil {
		_, err = p.make1(st.Sampler, p.draws[0])
	}
	return err
}

// cancel draws with a context that is over, then as usual.
func (p *sampling) cancel(st Stage) error {
	seedSampler(st.Sampler, p.seed, 8)
	err := unchanged(st.Sampler, func() error {
		if _, err := st.Sampler.Sample(p.canceled(), p.draws[0].window, 3, nil); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("error %v, want context.Canceled", err)
		}
		return nil
	})
	if err == nil {
		_, err = p.make1(st.Sampler, p.draws[0])
	}
	return err
}
