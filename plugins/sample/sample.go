package sample

import (
	"errors"

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
