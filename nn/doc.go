// Package nn says what a net is: its architecture [Arch], its named parameters
// [Net], how a fresh one is made [Init], how it becomes a larger one [Grow], how batch
// norm is folded into the convolutions before it [Fold], and its file
// ([WriteSafetensors], [ReadSafetensors]). It computes nothing: nn/cpu infers, trainer
// trains, and internal/testing/reference is the plain float64 forward pass that both are
// tested against.
//
// An architecture is a list of blocks, each of a kind, and heads that read the last
// block's output. kinds.go is the table of the kinds: sizes, parameters, operations and
// names all follow from it. A new kind is a row there, a case of [Fold], and one in each
// backend that computes it; the others refuse it ([Arch.Only]).
//
// The body is Leela's residual tower, that of Leela's attention nets (attention.go), or
// that of a sparse net, for CPUs; their formulas are in docs/FORMATS.md. Per block of the
// tower, with y = bn2(conv2(h)) and h = act(bn1(conv1(x))):
//
//	pool = mean of y over the 64 squares
//	gamma, beta = halves of fc2(act(fc1(pool)))
//	out = act(sigmoid(gamma)*y + beta + x)      (without SE: act(y + x))
//
// Tensors are float32, row-major: convolutions [out][in][ky][kx] (ky along
// ranks, rank 1 first; cross-correlation, padding (k-1)/2), fully connected
// layers [out][in]. The input of a layer that follows a convolution is numbered
// channel*64 + square (a1 = 0), whatever layout a backend computes in. Plane 109
// of the input is rule50/99.
//
// Example:
//
//	arch, err := nn.ParseArch("64x6")
//	if err != nil {
//		return err
//	}
//	net := nn.Init(arch, 7)
//	fmt.Println(arch.Summary(), net.ID())
//	err = nn.WriteSafetensors(w, net, map[string]string{"name": "fresh"})
package nn
