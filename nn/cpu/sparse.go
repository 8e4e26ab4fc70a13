package cpu

import (
	"context"
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// sparseNet is a packed sparse net.
type sparseNet struct {
	features      encoding.SparseFeatures
	width, units  int           // accumulators, policy units
	table         kernel.Stored // [NumFeatures][width]; in bf16 by kernel.PackRows
	bias          []float32     // [width]
	moves         kernel.Stored // folded, [rows][units]
	movesBias     []float32
	policy, value kernelMat // from both accumulators to their units
	valueOut      kernelMat
	movesLeftOut  kernelMat // packed is nil without
}

func packSparse(n *nn.Net, p kernel.Precision) *sparseNet {
	dense := func(name string) kernelMat {
		w, bias := n.Get(name+".weight"), n.Get(name+".bias")
		if w == nil {
			return kernelMat{}
		}
		return packDense(nn.Dense{In: len(w) / len(bias), Out: len(bias), Weight: w, Bias: bias}, p)
	}
	features, units := n.Arch.SparseFeatures(), n.Arch.Head(nn.Policy).Hidden
	fold := func(name string, width int) []float32 {
		return features.Fold(n.Get("policy.moves."+name), n.Get("policy.kinds."+name), width)
	}
	s := &sparseNet{
		features: features, width: n.Arch.Blocks[0].Width, units: units, bias: slices.Clone(n.Get("input.bias")),
		moves: kernel.Stored{F32: fold("weight", units)}, movesBias: fold("bias", 1),
		policy: dense("policy.fc1"), value: dense("value.fc1"), valueOut: dense("value.fc2"), movesLeftOut: dense("moves_left.fc2"),
	}
	if table, moves := n.Get("input.weight"), s.moves.F32; p == kernel.BF16 && kernel.RowsInBF16() {
		s.table.BF16, s.moves = kernel.PackRows(table), kernel.NewStored(len(moves), true)
		s.moves.Set(moves)
	} else {
		s.table.F32 = slices.Clone(table)
	}
	return s
}

// sparseBuffers are an evaluator's for a sparse net.
type sparseBuffers struct {
	inputs []encoding.Sparse // [chunk]
	x      []float32         // [chunk][2*width]: accumulators, ours and theirs
	policy []float32         // [chunk][units]
	value  []float32         // [chunk][value units]
}

func (e *Evaluator) allocateSparse(s *sparseNet) {
	e.sparse = &sparseBuffers{
		inputs: make([]encoding.Sparse, e.chunk),
		x:      make([]float32, e.chunk*2*s.width), policy: make([]float32, e.chunk*s.units), value: make([]float32, e.chunk*s.value.n),
	}
	for i := range e.sparse.inputs {
		e.sparse.inputs[i] = encoding.Sparse{Features: s.features, Folded: true}
	}
	e.scratch = make([]float32, e.net.matScratchLen())
	e.value, e.movesLeft = headBuffers{out: make([]float32, e.chunk*s.valueOut.n)}, headBuffers{}
	if s.movesLeftOut.packed != nil {
		e.movesLeft.out = make([]float32, e.chunk)
	}
}

// evaluateSparse is Evaluate with a sparse net, chunk by chunk of boards.
func (e *Evaluator) evaluateSparse(ctx context.Context, b *encoding.Batch) error {
	for lo := 0; lo < b.N; lo += e.chunk {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("evaluate: %w", err)
		}
		if err := e.sparseChunk(b, lo, min(e.chunk, b.N-lo)); err != nil {
			return err
		}
	}
	return nil
}

// sparseChunk answers the n boards from lo on.
func (e *Evaluator) sparseChunk(b *encoding.Batch, lo, n int) error {
	s, buf := e.net.sparse, e.sparse
	for i := range n {
		in := &buf.inputs[i]
		in.Set(&b.Masks[lo+i], &b.Scalars[lo+i], b.LegalOf(lo+i))
		for side, features := range [2][]uint16{in.Ours, in.Theirs} {
			x := buf.x[(2*i+side)*s.width:][:s.width]
			copy(x, s.bias)
			if s.table.BF16 != nil {
				kernel.AddPackedRows(x, s.table.BF16, features)
			} else {
				kernel.AddRows(x, s.table.F32, s.width, features, nil)
			}
		}
	}
	x := buf.x[:n*2*s.width]
	kernel.SquaredClippedReLU(x, x)
	e.mul(buf.policy, x, &s.policy, n, kernel.ReLU)
	e.mul(buf.value, x, &s.value, n, kernel.ReLU)
	for i := range n {
		in, prior, units := &buf.inputs[i], b.PriorOf(lo+i), buf.policy[i*s.units:][:s.units]
		clear(prior)
		kernel.AddEntries(prior, s.movesBias, in.Rows)
		kernel.RowDots(prior, units, s.moves, s.units, in.Rows)
	}
	e.mul(e.value.out, buf.value, &s.valueOut, n, kernel.None)
	if e.movesLeft.out != nil {
		e.mul(e.movesLeft.out, buf.value, &s.movesLeftOut, n, kernel.None)
	}
	return e.finish(b, lo, n)
}
