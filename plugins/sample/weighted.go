package sample

import (
	"fmt"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// weighted draws rows independently, with replacement, each with a probability
// proportional to its weight in a table.
type weighted struct {
	generator
	name  string
	takes string // what rows it takes, for the error when there are none
	table table
}

// Name returns the sampler's name.
func (s *weighted) Name() string { return s.name }

// each calls use with n rows: row k of game i. ErrNoRows where there is none.
func (s *weighted) each(idx stage.Index, n int, use func(i, k int)) error {
	if err := s.table.update(idx); err != nil {
		return err
	}
	switch {
	case idx.NumGames() == 0:
		return ErrNoRows
	case s.table.total == 0:
		return fmt.Errorf("%w: none of the window's %d games has a row for training that is %s", ErrNoRows, idx.NumGames(), s.takes)
	}
	for range n {
		use(s.table.at(s.rng.Uint64N(s.table.total)))
	}
	return nil
}

// equal is a weighted sampler whose rows count 1 in the loss. Its state is the
// random generator.
type equal struct{ weighted }

func (s *equal) draw(idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	err := s.each(idx, n, func(i, k int) {
		dst = append(dst, stage.RowRef{Game: idx.Game(i).Seq, Ply: idx.Row(i, k).Ply, Weight: 1})
	})
	return dst, err
}
