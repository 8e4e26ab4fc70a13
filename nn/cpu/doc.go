// Package cpu infers nets on the CPU. A [Net] holds packed weights: it is
// immutable and shared by all goroutines. Each goroutine has its own
// [Evaluator], which owns the buffers and allocates nothing after it is made.
//
// A batch goes through the whole tower in groups of a few boards, so that the
// activations of a group stay in the second-level cache. The fully connected
// layers of the heads run over chunks of up to 64 boards, because their weights
// are larger than what one group needs of them. The last policy convolution is
// computed only at the squares that legal moves start from: about a sixth of
// it. A board's answer is bit-identical in every batch and at every place in it.
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
