// Package nntest makes nets and rows for tests of what runs and trains them.
package nntest

import (
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
)

// Resized gives the heads of a tower other sizes, in a itself; those of a moves-left head
// that there is not are left out.
func Resized(a nn.Arch, valueChannels, valueHidden, movesChannels, movesHidden int) nn.Arch {
	v := a.Head(nn.Value)
	v.Channels, v.Hidden = valueChannels, valueHidden
	if m := a.Head(nn.MovesLeft); m != nil {
		m.Channels, m.Hidden = movesChannels, movesHidden
	}
	return a
}

// TinyArch is a net of two blocks that every layer kind is part of. 16 filters
// take the vector kernels where the machine has them.
func TinyArch() nn.Arch { return Arch("16x2") }

// Named is the net of a name. It panics at a name that is none.
func Named(name string) nn.Arch {
	a, err := nn.ParseArch(name)
	if err != nil {
		panic(err)
	}
	return a
}

// Arch is the net of a name, with value and moves-left heads as small as TinyArch's.
func Arch(name string) nn.Arch { return Resized(Named(name), 4, 16, 2, 8) }

// Variants are the nets that together have every layer in every form.
func Variants() map[string]nn.Arch {
	return map[string]nn.Arch{
		"se": Arch("16x1"), "plain scalar": Arch("16x1-plain-scalar-noml"), "mish": Arch("16x1-mish"), "classical": Arch("16x1-classical"),
		"pooled": Arch("16x1-pooled"), "auxiliary": Arch("16x1-aux"),
		"odd": Arch("6x1"), // no multiple of a vector: the kernels' generic paths
	}
}

// Net is a net whose batch norm, biases and running statistics are not at their
// trivial starting values.
func Net(a nn.Arch, seed uint64) *nn.Net {
	net := nn.Init(a, seed)
	rng := rand.New(rand.NewPCG(seed, 99))
	for i, s := range nn.Specs(a) {
		for j := range net.Params[i].Data {
			p := &net.Params[i].Data[j]
			switch s.Kind {
			case nn.Gamma, nn.Var:
				*p *= float32(.7 + .6*rng.Float64())
			case nn.Bias, nn.Beta, nn.Mean:
				*p += float32(.2 * rng.NormFloat64())
			}
			if s.Name == "moves_left.fc2.bias" {
				*p += 100 // well above 0: its ReLU lets gradients through
			}
		}
	}
	return net
}

// AppendRows appends n rows of random planes, legal moves and targets to b. Some
// policy and value targets are not known, and row weights differ.
func AppendRows(b *encoding.TrainBatch, rng *rand.Rand, n int) {
	for range n {
		numLegal := 1 + rng.IntN(40)
		i := b.Grow(numLegal)
		for p := range b.Masks[i] {
			b.Masks[i][p] = rng.Uint64() & rng.Uint64() & rng.Uint64()
		}
		b.Scalars[i] = encoding.Scalars{OurOO: uint8(rng.IntN(2)), TheirOOO: uint8(rng.IntN(2)), BlackToMove: uint8(rng.IntN(2)), Rule50: uint8(rng.IntN(100))}
		perm := rng.Perm(encoding.NumPolicy)
		sum := float32(0)
		for j := range numLegal {
			b.LegalOf(i)[j] = uint16(perm[j])
			b.PolicyOf(i)[j] = float32(rng.IntN(10))
			sum += b.PolicyOf(i)[j]
		}
		for j := range numLegal {
			if sum > 0 {
				b.PolicyOf(i)[j] /= sum
			}
		}
		q := float32(rng.IntN(3) - 1)
		d := float32(0)
		if q == 0 {
			d = 1
		}
		b.Targets[i][encoding.TargetResult] = encoding.QDM{Q: q, D: d, M: float32(rng.IntN(150))}
		if rng.IntN(4) > 0 {
			b.Targets[i][encoding.TargetRoot] = encoding.QDM{Q: q / 2, D: .25, M: float32(rng.IntN(150))}
		}
		b.Weight[i] = float32(.5 + rng.Float64())
		if rng := rand.New(rand.NewPCG(b.Masks[i][0], 1)); rng.IntN(4) > 0 { // the rows do not depend on it
			b.Ahead[i] = encoding.Ahead{Known: true, Material: int8(rng.IntN(9) - 4), Survive: b.Men(i) & rng.Uint64(),
				From: chess.Square(rng.IntN(32)), To: chess.Square(32 + rng.IntN(32))}
			b.Ahead[i].To ^= (b.Ahead[i].From ^ b.Ahead[i].To) & 7 // along a file, as only moves have indices
		}
	}
}

// DecidedNet is a net with batch norm, biases and running statistics as in Net,
// whose last layers are ten times as large: its answers are far from even.
func DecidedNet(a nn.Arch, seed uint64) *nn.Net {
	n := nn.Init(a, seed)
	rng := rand.New(rand.NewPCG(seed, 99))
	for i, s := range nn.Specs(a) {
		last := s.Name == "policy.conv2.weight" || s.Name == "policy.q.weight" || s.Name == "policy.fc.weight" || s.Name == "value.fc2.weight"
		for j := range n.Params[i].Data {
			p := &n.Params[i].Data[j]
			switch {
			case s.Kind == nn.Gamma || s.Kind == nn.Var:
				*p = .7 + .6*rng.Float32()
			case s.Kind != nn.Weight:
				*p += float32(.2 * rng.NormFloat64())
			case last:
				*p *= 10
			}
		}
	}
	return n
}

// Positions returns n positions with random planes and from least to 40 legal
// moves; the second has all moves there are.
func Positions(seed uint64, n, least int) *encoding.Batch {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := encoding.NewBatch(n)
	for k := range n {
		moves := least + rng.IntN(41-least)
		if k == 1 {
			moves = encoding.NumPolicy
		}
		i := b.Grow(moves)
		for p := range b.Masks[i] {
			b.Masks[i][p] = rng.Uint64() & rng.Uint64() & rng.Uint64()
		}
		b.Scalars[i] = encoding.Scalars{
			OurOOO: uint8(rng.IntN(2)), OurOO: uint8(rng.IntN(2)), TheirOOO: uint8(rng.IntN(2)), TheirOO: uint8(rng.IntN(2)),
			BlackToMove: uint8(rng.IntN(2)), Rule50: uint8(rng.IntN(101)),
		}
		for j, p := range rng.Perm(encoding.NumPolicy)[:moves] {
			b.LegalOf(i)[j] = uint16(p)
		}
	}
	return b
}

// AttentionNets are small attention nets that together have every form, and a tower with
// an attention policy.
func AttentionNets() map[string]nn.Arch {
	small := func(name string, change func(first, encoder *nn.Block, a *nn.Arch)) nn.Arch {
		a := Arch(name)
		encoder := a.Blocks[1]
		change(&a.Blocks[0], &encoder, &a)
		for i := range a.Blocks[1:] {
			a.Blocks[1+i] = encoder
		}
		return a
	}
	smolgen := func(_, e *nn.Block, _ *nn.Arch) { e.Compressed, e.SmolgenHidden, e.SmolgenUnits = 3, 10, 6 }
	return map[string]nn.Arch{
		"tower": Arch("16x1-attention"),
		"encoded": small("16x1", func(_, _ *nn.Block, a *nn.Arch) {
			a.Heads[0] = nn.Head{Output: nn.Policy, Kind: nn.PolicyEncoded, Channels: 10, Hidden: 12, Encoders: 2, EncoderHidden: 14, Heads: 3, HeadWidth: 4}
		}),
		"encoded twice": small("16x1x2h", func(_, e *nn.Block, a *nn.Arch) {
			e.HiddenActivation = nn.Swish
			a.Heads[0] = nn.Head{Output: nn.Policy, Kind: nn.PolicyEncoded, Channels: 16, Hidden: 8, Encoders: 1, EncoderHidden: 16, Heads: 1, HeadWidth: 16}
		}),
		"plain": small("16x2x2h", func(first, e *nn.Block, _ *nn.Arch) { first.Gated, e.HeadWidth = 0, 5 }),
		"mish":  small("32x1x4h-mish", func(_, e *nn.Block, a *nn.Arch) { e.HiddenActivation, a.Head(nn.Policy).Hidden = nn.ReLU2, 24 }),
		"smolgen": small("12x2x3h-smolgen-mish-noml", func(first, e *nn.Block, a *nn.Arch) {
			smolgen(first, e, a)
			e.HiddenActivation = nn.SELU
		}),
		"dense": small("32x2x2h-dense-smolgen-scalar", func(first, e *nn.Block, a *nn.Arch) {
			smolgen(first, e, a)
			first.Positions, first.Hidden, first.HiddenActivation = 5, 24, nn.Mish
			e.SmolgenActivation, e.HiddenActivation = nn.ReLU, nn.Mish
		}),
	}
}
