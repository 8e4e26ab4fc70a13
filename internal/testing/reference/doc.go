// Package reference is the forward pass of a net in float64 with plain loops,
// written from the formulas of docs/FORMATS.md alone: the oracle of every backend.
// Activations are [channel][64], channels first; batch norm is applied, not
// folded. It shares no code with nn/kernel and is slow: about 0.2 s for one
// position of a 64x6 net.
//
// Example:
//
//	out := reference.Forward(net, &masks, &scalars)
//	fmt.Println(out.WDL, out.MovesLeft, out.Policy[idx])
//
// An [Evaluator] does the same for a batch, where a test needs one.
package reference
