// Package cpu infers nets on the CPU. A [Net] holds weights packed for the active
// tier of nn/kernel and a precision: it is immutable and shared by all goroutines.
// Each goroutine has its own [Evaluator], which owns the buffers; it allocates when
// it is made and when a net of another shape or precision is swapped in, never in
// Evaluate.
//
// A batch goes through the whole tower in groups of a few boards, so that the
// activations of a group stay in the second-level cache. The fully connected
// layers of the heads run over chunks of up to 64 boards, because their weights
// are larger than what one group needs of them. Of the last policy convolution
// only the logits of legal moves are read. A board's answer is bit-identical in
// every batch and at every place in it, within a tier and a precision.
//
// Example:
//
//	net, err := cpu.New(weights, kernel.FP32)
//	if err != nil {
//		return err
//	}
//	e := net.NewEvaluator(256)
//	b := encoding.NewBatch(256)
//	encoding.AppendPosition(b, history, &moves)
//	err = e.Evaluate(ctx, b) // fills b.Prior, b.WDL, b.M
package cpu
