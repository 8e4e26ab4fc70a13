package train

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// BeginStep implements device.Trainer.
func (t *trainer) BeginStep() error { copyAll(t.e.running, t.paramData()); return nil }

// piece is a part of a tensor that one worker takes: a table has most of a net's weights.
type piece struct{ tensor, lo, hi int }

// pieceFloats is the length of most pieces. With its gradient and its moments one has
// half a megabyte.
const pieceFloats = 1 << 15

// cut appends the pieces of a tensor of n floats.
func cut(to []piece, tensor, n int) []piece {
	for lo := 0; lo < n; lo += pieceFloats {
		to = append(to, piece{tensor, lo, min(lo+pieceFloats, n)})
	}
	return to
}

// each has the workers share out pieces.
func (e *engine) each(pieces []piece, do func(piece)) {
	e.pool.run(len(pieces), func(i, _ int) { do(pieces[i]) })
}

// sumSquares adds up the squares of pieces, in their order.
func (e *engine) sumSquares(pieces []piece, tensor func(i int) []float32) float64 {
	e.squares = slices.Grow(e.squares[:0], len(pieces))[:len(pieces)]
	e.pool.run(len(pieces), func(i, _ int) {
		p := pieces[i]
		e.squares[i] = kernel.SumSquares(tensor(p.tensor)[p.lo:p.hi])
	})
	sum := 0.0
	for _, s := range e.squares {
		sum += s
	}
	return sum
}

// prepareGradients scales the sums and adds the gradient of the L2 losses.
func (t *trainer) prepareGradients(scale float32) {
	if scale == 1 && t.cfg.L2 == 0 {
		return
	}
	t.e.each(t.trained, func(p piece) {
		a := &t.acc[p.tensor]
		if scale != 1 {
			kernel.Scale(a.sum[p.lo:p.hi], scale)
		}
		if t.cfg.L2 > 0 && decays(a.spec) {
			kernel.Axpy(a.sum[p.lo:p.hi], t.cfg.L2, a.data[p.lo:p.hi])
		}
	})
}

// halfSquares is the L2 loss of the weights.
func (t *trainer) halfSquares() float64 {
	return t.e.sumSquares(t.decaying, func(i int) []float32 { return t.e.params[i].data }) / 2
}

// Update implements device.Trainer.
func (t *trainer) Update(u device.Update) (device.Updated, error) {
	t.prepareGradients(u.Scale)
	done := device.Updated{HalfSquares: t.halfSquares()}
	done.GradNorm = math.Sqrt(t.e.sumSquares(t.trained, func(i int) []float32 { return t.acc[i].sum }))
	done.Finite = isFinite(u.Objective) && isFinite(done.HalfSquares) && isFinite(done.GradNorm) &&
		!slices.ContainsFunc(t.e.running, func(r []float32) bool { return !isFinite(kernel.SumSquares(r)) })
	if !done.Finite {
		return done, nil
	}
	change := t.opt.step(u.LR, u.Step)
	t.e.each(t.trained, func(p piece) {
		a := &t.acc[p.tensor]
		if u.ClipNorm > 0 && done.GradNorm > u.ClipNorm {
			kernel.Scale(a.sum[p.lo:p.hi], float32(u.ClipNorm/done.GradNorm))
		}
		change(p, a.data[p.lo:p.hi], a.sum[p.lo:p.hi])
	})
	copyAll(t.paramData(), t.e.running)
	t.e.version++
	if u.SWAAdd != 0 {
		t.average(u.SWAKeep, u.SWAAdd)
	}
	return done, nil
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// average lets the weights enter their average; keep 0 begins it.
func (t *trainer) average(keep, add float32) {
	if keep == 0 || t.swa == nil {
		t.swa = nil
		for _, p := range t.e.params {
			t.swa = append(t.swa, slices.Clone(p.data))
		}
		return
	}
	for i, p := range t.e.params {
		avg := t.swa[i]
		for j, x := range p.data {
			avg[j] = keep*avg[j] + add*x
		}
	}
}

// paramData lists the memory of all parameters in the order of nn.Specs.
func (t *trainer) paramData() [][]float32 {
	data := make([][]float32, len(t.e.params))
	for i, p := range t.e.params {
		data[i] = p.data
	}
	return data
}

// Upload implements device.Trainer.
func (t *trainer) Upload(s *device.State) error {
	if s.Params == nil || s.Moments == nil {
		return errors.New("upload: no weights or no moments")
	}
	if err := t.cfg.Check(s); err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	copyAll(t.paramData(), s.Params)
	for i, m := range s.Moments {
		copyAll(t.opt.moments[i], m)
	}
	t.swa = nil
	for _, x := range s.SWA {
		t.swa = append(t.swa, slices.Clone(x))
	}
	t.e.version++
	return nil
}

// Download implements device.Trainer.
func (t *trainer) Download(s *device.State) error {
	if err := t.cfg.Check(s); err != nil {
		return fmt.Errorf("download: %w", err)
	}
	if s.SWA != nil && t.swa == nil {
		return errors.New("download: there is no average")
	}
	copyAll(s.Params, t.paramData())
	copyAll(s.SWA, t.swa)
	for i, m := range s.Moments {
		copyAll(m, t.opt.moments[i])
	}
	return nil
}

// KeepRunning implements device.Trainer.
func (t *trainer) KeepRunning(params [][]float32) error {
	copyAll(params, t.e.running)
	return nil
}

// copyAll copies tensors of the same lengths, but for those that are nil in either.
func copyAll(to, from [][]float32) {
	for i := range to {
		copy(to[i], from[i])
	}
}
