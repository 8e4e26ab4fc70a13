package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/run/setup"
)

// fixedBatch takes n rows with different inputs, as training draws them (fewer
// where there are no more), or made-up ones where there are no data. The same
// input twice, with two targets, could not be learnt down to their entropies.
func fixedBatch(ctx context.Context, s *Subject, rows *Rows, n int) (*encoding.TrainBatch, error) {
	b, seen := encoding.NewTrainBatch(n), map[[2]uint64]bool{}
	add := func(from *encoding.TrainBatch) {
		for i := 0; i < from.N && b.N < n; i++ {
			hi, lo := encoding.Key128(&from.Masks[i], &from.Scalars[i])
			if key := [2]uint64{hi, lo}; !seen[key] {
				seen[key] = true
				b.AppendRow(from, i)
			}
		}
	}
	drawn := encoding.NewTrainBatch(n)
	if rows == nil {
		madeUpRows(drawn, 2*n+64, setup.RowSettingsOf(s.Effective.Config).Seed)
		add(drawn)
		return b, nil
	}
	src, err := rows.Draw(ctx, s)
	if err != nil {
		return nil, err
	}
	for tries := 0; b.N < n && tries < maxDraws; tries++ {
		drawn.Reset()
		err := src.Next(ctx, drawn)
		if errors.Is(err, io.EOF) && b.N > 0 {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("draw rows of %s: %w", rows.Name, err)
		}
		add(drawn)
	}
	return b, nil
}

// maxDraws is how many batches are looked at for rows that are not there yet.
const maxDraws = 50

// madeUpRows appends n rows of positions of random play, each with one random
// move to learn, a random result and random plies to the end.
func madeUpRows(b *encoding.TrainBatch, n int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var moves chess.MoveList
	for _, h := range bench.Positions(n, seed) {
		h.Board().GenerateMoves(&moves)
		i := encoding.AppendTrainPosition(b, h, &moves)
		b.PolicyOf(i)[rng.IntN(moves.N)] = 1
		v := encoding.QDM{Q: float32(rng.IntN(3) - 1), M: float32(1 + rng.IntN(150))}
		if v.Q == 0 {
			v.D = 1
		}
		for t := range b.Targets[i] {
			b.Targets[i][t] = v
		}
	}
}

// fixed hands out the same rows again and again.
type fixed struct{ rows *encoding.TrainBatch }

func (f fixed) Next(_ context.Context, b *encoding.TrainBatch) error {
	b.CopyFrom(f.rows)
	return nil
}
