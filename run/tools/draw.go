package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
)

// Streams of the configuration's seed.
const (
	streamDraw  = 1 // as in training: the same rows in the same order
	streamEpoch = 2
)

// Draw returns an endless source as training has it: games through the configured
// sampler, with the configured symmetries; a shuffle again and again. Close ends a
// sampler that is a program.
func (r *Rows) Draw(ctx context.Context, s *Subject) (trainer.BatchSource, error) {
	t := s.Effective.Config.GetTraining()
	seed := s.Effective.Config.GetSeed()
	switch {
	case r.shuffled != nil:
		r.shuffled.Repeat(true)
		if t.GetSymmetries() {
			r.shuffled.ShowSymmetries(seed)
		}
		return r.shuffled, nil
	case r.loader != nil:
		return r.loader, nil
	}
	stages, err := setup.OpenSampler(ctx, s.Effective, s.Run, pluginLog())
	if err != nil {
		return nil, err
	}
	r.stages = append(r.stages, stages)
	src := replay.NewSource(r.window, stages.Sampler, seed, streamDraw)
	src.SetShortTerm(r.theta)
	if t.GetSymmetries() {
		src.ShowSymmetries()
	}
	return src, nil
}

// Epoch returns every row once, then io.EOF: rows of games in an order drawn by
// the configuration's seed, those of a shuffle and of a loader in their own. Rows
// of games and of shuffles are prepared in advance; close must be called.
func (r *Rows) Epoch(s *Subject) (src trainer.BatchSource, close func() error) {
	t := s.Effective.Config.GetTraining()
	seed := s.Effective.Config.GetSeed()
	var rows replay.Cursor
	switch {
	case r.loader != nil:
		return r.loader, func() error { return nil } // prepares in advance itself
	case r.shuffled != nil:
		if t.GetSymmetries() {
			r.shuffled.ShowSymmetries(seed)
		}
		rows = r.shuffled
	default:
		rows = newEpoch(r.window.View(), r.theta, t.GetSymmetries(), seed)
	}
	ahead := replay.Prefetch(rows, 2)
	return ahead, ahead.Close
}

// epoch hands out every row of a view once, in a drawn order. It is a
// replay.Cursor, so that batches can be prepared in advance.
type epoch struct {
	view      *replay.View
	order     []uint32 // of the view's rows
	next      int
	symmetric bool
	seed      uint64
	replayer  record.Replayer
}

func newEpoch(view *replay.View, theta float64, symmetric bool, seed uint64) *epoch {
	e := &epoch{view: view, order: make([]uint32, view.NumRows()), symmetric: symmetric, seed: seed}
	e.replayer.ShortTerm = theta
	for i := range e.order {
		e.order[i] = uint32(i)
	}
	rng := rand.New(rand.NewPCG(seed, streamEpoch))
	rng.Shuffle(len(e.order), func(i, j int) { e.order[i], e.order[j] = e.order[j], e.order[i] })
	return e
}

// Next fills b with the next len(b.Masks) rows or what is left. A row's weight is
// its position's.
func (e *epoch) Next(ctx context.Context, b *encoding.TrainBatch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.next == len(e.order) {
		return io.EOF
	}
	for n := min(len(b.Masks), len(e.order)-e.next); n > 0; n-- {
		number, ply := e.view.NthRow(int(e.order[e.next]))
		i, _ := e.view.Find(number)
		g := e.view.GameRecord(i)
		if err := e.replayer.AppendRow(b, g, int(ply)); err != nil {
			return fmt.Errorf("row of ply %d of game %x: %w", ply, g.ID, err)
		}
		if row := b.N - 1; e.symmetric {
			rng := rand.New(rand.NewPCG(e.seed, uint64(e.next)))
			b.ApplySymmetry(row, encoding.Transform(rng.IntN(int(b.NumSymmetries(row)))))
		}
		e.next++
	}
	return nil
}

// Version never changes: the view does not.
func (e *epoch) Version() uint64 { return 0 }

// Section is the number of rows handed out.
func (e *epoch) Section() stage.Section {
	return stage.Section{Name: "epoch", Version: 1,
		Save: func(w io.Writer) error { return json.NewEncoder(w).Encode(e.next) },
		Load: func(r io.Reader, _ int) error {
			next := 0
			if err := json.NewDecoder(r).Decode(&next); err != nil {
				return fmt.Errorf("epoch section: %w", err)
			}
			if next < 0 || next > len(e.order) {
				return fmt.Errorf("epoch section: row %d of %d", next, len(e.order))
			}
			e.next = next
			return nil
		}}
}
