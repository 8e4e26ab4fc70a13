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
	switch {
	case r.shuffled != nil:
		r.shuffled.Repeat = true
		return r.shuffled, nil
	case r.loader != nil:
		return r.loader, nil
	}
	stages, err := setup.OpenKinds(ctx, s.Effective, s.Run, pluginLog(), stage.KindSampler)
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, stages)
	src := replay.NewSource(r.window, stages.Sampler, r.training.Seed, streamDraw)
	src.Extra, src.Symmetries = r.training.Window.Extra, r.training.Window.Symmetries
	return src, nil
}

// Epoch returns every row once, then io.EOF: rows of games in an order drawn by
// the configuration's seed, those of a shuffle and of a loader in their own. Rows
// of games and of shuffles are prepared in advance; close must be called.
func (r *Rows) Epoch() (src trainer.BatchSource, close func() error) {
	var rows replay.Cursor
	switch {
	case r.loader != nil:
		return r.loader, func() error { return nil } // prepares in advance itself
	case r.shuffled != nil:
		rows = r.shuffled
	default:
		rows = newEpoch(r.window.View(), r.training)
	}
	ahead := replay.Prefetch(rows, 2)
	return ahead, ahead.Close
}

// epoch hands out every row of a view once, in a drawn order. It is a
// replay.Cursor, so that batches can be prepared in advance.
type epoch struct {
	view     *replay.View
	order    []int // of the view's rows
	next     int
	training *setup.Training
	replayer record.Replayer
}

func newEpoch(view *replay.View, t *setup.Training) *epoch {
	order := rand.New(rand.NewPCG(t.Seed, streamEpoch)).Perm(view.NumRows())
	return &epoch{view: view, order: order, training: t, replayer: record.Replayer{Extra: t.Window.Extra}}
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
		number, ply := e.view.NthRow(e.order[e.next])
		i, _ := e.view.Find(number)
		g := e.view.GameRecord(i)
		if err := e.replayer.AppendRow(b, g, int(ply)); err != nil {
			return fmt.Errorf("row of ply %d of game %x: %w", ply, g.ID, err)
		}
		if row := b.N - 1; e.training.Window.Symmetries {
			rng := rand.New(rand.NewPCG(e.training.Seed, uint64(e.next)))
			b.ApplySymmetry(row, encoding.Transform(rng.IntN(int(b.NumSymmetries(row)))))
		}
		e.next++
	}
	return nil
}

// Version never changes: the view does not.
func (e *epoch) Version() uint64 { return 0 }

// Section is the number of rows handed out, for a Prefetcher's way back: no file has it.
func (e *epoch) Section() stage.Section {
	return stage.Section{Name: "epoch", Version: 1,
		Save: func(w io.Writer) error { return json.NewEncoder(w).Encode(e.next) },
		Load: func(r io.Reader, _ int) error { return json.NewDecoder(r).Decode(&e.next) }}
}
