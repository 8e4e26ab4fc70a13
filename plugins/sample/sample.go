package sample

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// version is that of all built-in samplers.
const version = "1.0.0"

// ErrNoRows says that the index holds no row, or none that the sampler takes.
var ErrNoRows = errors.New("no rows to sample from")

// Definitions returns the built-in samplers, sorted by name.
func Definitions() []*stage.Definition {
	define := func(name, doc string, settings []stage.Setting, newSampler func(stage.Values) (stage.Sampler, error)) *stage.Definition {
		return &stage.Definition{Kind: stage.KindSampler, Name: name, Version: version, Doc: doc, Settings: settings,
			Capabilities: []stage.Capability{stage.Deterministic}, Concurrency: 1, NewSampler: newSampler}
	}
	return []*stage.Definition{
		define("diff-focus", diffFocusDoc, diffFocusSettings, newDiffFocus),
		define("hanse", hanseDoc, hanseSettings, newHanse),
		define("position-selector", selectorDoc, selectorSettings, newSelector),
		define("prioritized", prioritizedDoc, prioritizedSettings, newPrioritized),
		define("uniform", uniformDoc, nil, func(stage.Values) (stage.Sampler, error) { return NewUniform(), nil }),
	}
}

// Definition returns a built-in sampler's definition. It panics where there is none.
func Definition(name string) *stage.Definition {
	return stage.MustFind(Definitions(), stage.KindSampler, name)
}

const uniformDoc = "draws rows independently, each in proportion to its weight"

// uniform draws rows independently, with replacement, each with a probability
// proportional to its weight; a row that was drawn counts 1 in the loss.
// O(log n) a row.
type uniform struct{ generator }

// NewUniform returns the sampler uniform.
func NewUniform() stage.Sampler { return function{uniform{newGenerator()}} }

func (uniform) Name() string { return "uniform" }

func (u uniform) draw(idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	sum := idx.WeightSum()
	if sum == 0 {
		return dst, ErrNoRows
	}
	for range n {
		game, ply := idx.RowAt(u.rng.Uint64N(sum))
		dst = append(dst, stage.RowRef{Game: game, Ply: ply, Weight: 1})
	}
	return dst, nil
}

// drawer draws from a state that it holds.
type drawer interface {
	Name() string

	// seed begins the random sequence (seed, stream).
	seed(seed, stream uint64)

	// load takes over what save appended; an error where it is no such thing.
	load(state []byte) error
	save(b []byte) []byte

	// draw appends n rows of idx, n > 0.
	draw(idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error)
}

// function makes a drawer a stage.Sampler: each call begins with its own state, and
// nothing of the drawer's counts from one call to the next but what it derived from
// the index.
type function struct{ drawer }

// Sample appends d.Rows rows of d.Index to dst. ErrNoRows if there is none to take.
func (f function) Sample(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
	if err := ctx.Err(); err != nil {
		return dst, nil, err
	}
	if len(d.State) == 0 {
		f.seed(d.Seed, d.Stream)
	} else if err := f.load(d.State); err != nil {
		return dst, nil, fmt.Errorf("%s sampler's state: %w", f.Name(), err)
	}
	if d.Rows > 0 {
		var err error
		if dst, err = f.draw(d.Index, d.Rows, dst); err != nil {
			return dst, nil, err
		}
	}
	return dst, f.save(nil), nil
}

// generator is a sampler's source of randomness, and the beginning of its state.
type generator struct {
	pcg *rand.PCG
	rng *rand.Rand
}

func newGenerator() generator {
	pcg := new(rand.PCG)
	return generator{pcg: pcg, rng: rand.New(pcg)}
}

func (g generator) seed(seed, stream uint64) { g.pcg.Seed(seed, stream) }

// save appends the generator's state.
func (g generator) save(b []byte) []byte {
	b, _ = g.pcg.AppendBinary(b) // never fails
	return b
}

// load is that of a sampler whose state is the generator alone.
func (g generator) load(state []byte) error {
	rest, err := g.cut(state)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes too many", len(rest))
	}
	return err
}

// pcgSize is the length of a rand.PCG's binary form.
const pcgSize = 20

// cut takes over the generator's state at the start of state and returns what follows.
func (g generator) cut(state []byte) (rest []byte, err error) {
	if len(state) < pcgSize {
		return nil, fmt.Errorf("random generator: %d bytes, want %d", len(state), pcgSize)
	}
	if err := g.pcg.UnmarshalBinary(state[:pcgSize]); err != nil {
		return nil, fmt.Errorf("random generator: %w", err)
	}
	return state[pcgSize:], nil
}
