package sample

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/stage"
)

// Names returns the names of the built-in samplers, sorted.
func Names() []string { return []string{"uniform"} }

// New returns a built-in sampler by name. It still has to be seeded.
func New(name string) (stage.Sampler, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("unknown sampler %q; there are: %s", name, strings.Join(Names(), ", "))
	}
	return NewUniform(), nil
}
