package sample

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/stage"
)

// ErrNoRows says that the index holds no row.
var ErrNoRows = errors.New("no rows to sample from")

// Uniform draws rows independently, with replacement, each with a probability
// proportional to its weight; a row that was drawn counts 1 in the loss.
// O(log n) a row.
type Uniform struct {
	pcg *rand.PCG
	rng *rand.Rand
}

// NewUniform returns a sampler seeded with (0, 0).
func NewUniform() *Uniform {
	pcg := rand.NewPCG(0, 0)
	return &Uniform{pcg: pcg, rng: rand.New(pcg)}
}

// Name returns "uniform".
func (u *Uniform) Name() string { return "uniform" }

// Seed starts the random sequence (seed, stream).
func (u *Uniform) Seed(seed, stream uint64) { u.pcg.Seed(seed, stream) }

// Sample appends n rows of idx to dst. ErrNoRows if idx is empty.
func (u *Uniform) Sample(ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	if err := ctx.Err(); err != nil {
		return dst, err
	}
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

const uniformVersion = 1

// Section is the state of the random generator.
func (u *Uniform) Section() stage.Section {
	return stage.Section{Name: "uniform", Version: uniformVersion,
		Save: func(w io.Writer) error {
			state, err := u.pcg.MarshalBinary()
			if err == nil {
				_, err = w.Write(state)
			}
			return err
		},
		Load: func(r io.Reader, version int) error {
			if version != uniformVersion {
				return fmt.Errorf("uniform sampler's state has version %d, this program reads %d", version, uniformVersion)
			}
			state, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			var pcg rand.PCG
			if err := pcg.UnmarshalBinary(state); err != nil {
				return fmt.Errorf("uniform sampler's state: %w", err)
			}
			*u.pcg = pcg
			return nil
		}}
}
