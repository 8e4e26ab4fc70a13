package sample

import (
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// generator is a sampler's source of randomness, and the beginning of its state.
type generator struct {
	pcg *rand.PCG
	rng *rand.Rand
}

// newGenerator returns a generator seeded with (0, 0).
func newGenerator() generator {
	pcg := rand.NewPCG(0, 0)
	return generator{pcg: pcg, rng: rand.New(pcg)}
}

// Seed starts the random sequence (seed, stream).
func (g generator) Seed(seed, stream uint64) { g.pcg.Seed(seed, stream) }

// pcgSize is the length of a rand.PCG's binary form.
const pcgSize = 20

// appendTo appends the generator's state.
func (g generator) appendTo(b []byte) []byte {
	b, _ = g.pcg.AppendBinary(b) // never fails
	return b
}

// cutPCG reads a generator's state at the start of data and returns what follows.
func cutPCG(data []byte) (pcg rand.PCG, rest []byte, err error) {
	if len(data) < pcgSize {
		return pcg, nil, fmt.Errorf("random generator: %d bytes, want %d", len(data), pcgSize)
	}
	if err := pcg.UnmarshalBinary(data[:pcgSize]); err != nil {
		return pcg, nil, fmt.Errorf("random generator: %w", err)
	}
	return pcg, data[pcgSize:], nil
}

// sectionOf returns the state of a sampler as a section: save appends it, load
// takes it over if it is sound. Errors name the sampler.
func sectionOf(name string, version int, save func([]byte) []byte, load func([]byte) error) stage.Section {
	return stage.Section{Name: name, Version: version,
		Save: func(w io.Writer) error {
			_, err := w.Write(save(nil))
			return err
		},
		Load: func(r io.Reader, v int) error {
			if v != version {
				return fmt.Errorf("%s sampler's state has version %d, this program reads %d", name, v, version)
			}
			data, err := io.ReadAll(r)
			if err == nil {
				err = load(data)
			}
			if err != nil {
				return fmt.Errorf("%s sampler's state: %w", name, err)
			}
			return nil
		}}
}

// section is the state of a sampler that has no other.
func (g generator) section(name string, version int) stage.Section {
	return sectionOf(name, version, g.appendTo, func(data []byte) error {
		pcg, rest, err := cutPCG(data)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("%d bytes too many", len(rest))
		}
		if err == nil {
			*g.pcg = pcg
		}
		return err
	})
}
