package nn

import (
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/encoding"
)

// Attention nets are those of Leela since 2022: an embedding of each square, encoders
// whose norms stand behind the sums, and the heads of a tower.

const (
	usualPolicyHeads = 4 // of encoders in a policy head
	numPromotionRows = 4 // what a promotion to a queen, rook, bishop adds, and all three
	maxHeads         = 256
)

// Epsilons of layer norms: of encoders, of smolgen and a dense embedding, and of the
// encoders behind that.
const (
	encoderEpsilon = 1e-6
	InnerEpsilon   = 1e-3
)

func blockHidden(b *Block) *int { return &b.Hidden }

// innerActivations are those of layers inside encoders.
var innerActivations = []string{ReLU, Mish, ReLU2, Swish, SELU}

var (
	embeddingSizes = []size[Block]{
		inputFormats, {name: "width", of: width, lo: 1, hi: 4096}, {name: "gated", of: func(b *Block) *int { return &b.Gated }, lo: 0, hi: 1},
	}
	denseEmbeddingSizes = append(embeddingSizes[:len(embeddingSizes):len(embeddingSizes)],
		size[Block]{name: "positions", of: func(b *Block) *int { return &b.Positions }, lo: 1, hi: 4096}, size[Block]{name: "hidden", of: blockHidden, lo: 1, hi: 1 << 14})
	encoderSizes = []size[Block]{
		{name: "hidden", of: blockHidden, lo: 1, hi: 1 << 14},
		{name: "heads", of: func(b *Block) *int { return &b.Heads }, lo: 1, hi: maxHeads},
		{name: "head_width", of: func(b *Block) *int { return &b.HeadWidth }, lo: 1, hi: 4096},
	}
	smolgenSizes = append(encoderSizes[:len(encoderSizes):len(encoderSizes)],
		size[Block]{name: "compressed", of: func(b *Block) *int { return &b.Compressed }, lo: 1, hi: 4096},
		size[Block]{name: "smolgen_hidden", of: func(b *Block) *int { return &b.SmolgenHidden }, lo: 1, hi: 1 << 14},
		size[Block]{name: "smolgen_units", of: func(b *Block) *int { return &b.SmolgenUnits }, lo: 1, hi: 4096})

	attentionPolicySizes = []size[Head]{{name: "channels", of: channels, lo: 1, hi: 4096}, {name: "hidden", of: hidden, lo: 1, hi: 4096}}
	encodedPolicySizes   = append(attentionPolicySizes[:2:2],
		size[Head]{name: "encoders", of: func(h *Head) *int { return &h.Encoders }, lo: 1, hi: maxBlocks},
		size[Head]{name: "encoder_hidden", of: func(h *Head) *int { return &h.EncoderHidden }, lo: 1, hi: 1 << 14},
		size[Head]{name: "heads", of: func(h *Head) *int { return &h.Heads }, lo: 1, hi: maxHeads},
		size[Head]{name: "head_width", of: func(h *Head) *int { return &h.HeadWidth }, lo: 1, hi: 4096})

	hiddenChoices  = []choice{{"hidden_activation", func(b *Block) *string { return &b.HiddenActivation }, innerActivations}}
	smolgenChoices = append(hiddenChoices[:1:1], choice{"smolgen_activation", func(b *Block) *string { return &b.SmolgenActivation }, innerActivations})
)

// embeddingLayers are those of either embedding.
func embeddingLayers(l *layers, name string, b Block, _ int) {
	said := encoding.NumSquares // encoding.SquareMap
	if dense := b.Kind == BlockDenseEmbedding; dense {
		said = b.Positions
		l.dense(name+".men", encoding.NumSquares*encoding.MenPlanes, encoding.NumSquares*said)
	}
	l.squares(name+".fc", encoding.NumPlanes+said, b.Width)
	if b.Kind == BlockDenseEmbedding {
		l.norm(name+".ln1", b.Width)
	}
	if b.Gated > 0 {
		l.add(name+".gate", Gamma, b.Width, encoding.NumSquares)
		l.add(name+".gate", Beta, b.Width, encoding.NumSquares)
	}
	if b.Kind == BlockDenseEmbedding {
		l.feedForward(name, "ln2", b, b.Width)
	}
}

// encoderLayers are those of either encoder.
func encoderLayers(l *layers, name string, b Block, in int) {
	inner := b.Heads * b.HeadWidth
	for _, part := range []string{".q", ".k", ".v"} {
		l.squares(name+part, in, inner)
	}
	l.flops += 2 * 2 * encoding.NumSquares * encoding.NumSquares * int64(inner)
	if b.Kind == BlockSmolgen {
		l.smolgen(name+".smolgen", b, in)
	}
	l.squares(name+".out", inner, in)
	l.norm(name+".ln1", in)
	l.feedForward(name, "ln2", b, in)
}

// smolgen is what adds to the products of queries and keys.
func (l *layers) smolgen(name string, b Block, in int) {
	l.add(name+".compress", Weight, b.Compressed, in)
	l.flops += 2 * encoding.NumSquares * int64(b.Compressed) * int64(in)
	l.dense(name+".fc1", encoding.NumSquares*b.Compressed, b.SmolgenHidden)
	l.norm(name+".ln1", b.SmolgenHidden)
	l.dense(name+".fc2", b.SmolgenHidden, b.Heads*b.SmolgenUnits)
	l.norm(name+".ln2", b.Heads*b.SmolgenUnits)
	if name == BlockName(1)+".smolgen" {
		l.add("smolgen", Weight, encoding.NumSquares*encoding.NumSquares, b.SmolgenUnits)
	}
	l.flops += 2 * encoding.NumSquares * encoding.NumSquares * int64(b.SmolgenUnits) * int64(b.Heads)
}

// feedForward is two fully connected layers and the norm of their sum with the input.
func (l *layers) feedForward(name, norm string, b Block, in int) {
	l.squares(name+".ffn1", in, b.Hidden)
	l.squares(name+".ffn2", b.Hidden, in)
	l.norm(name+"."+norm, in)
}

// attentionPolicyLayers are those of either attention policy.
func attentionPolicyLayers(l *layers, a Arch, h Head) {
	l.squares(h.Prefix()+".embedding", a.Width(), h.Channels)
	for i := range h.Encoders {
		encoderLayers(l, h.EncoderName(i), a.PolicyEncoder(h), h.Channels)
	}
	l.squares(h.Prefix()+".q", h.Channels, h.Hidden)
	l.squares(h.Prefix()+".k", h.Channels, h.Hidden)
	l.add(h.Prefix()+".promotion", Weight, numPromotionRows, h.Hidden)
	l.flops += 2 * usualMoves * int64(h.Hidden)
}

// Attends reports whether h is an attention policy head.
func (h Head) Attends() bool { return h.Kind == PolicyAttention || h.Kind == PolicyEncoded }

// EncoderName begins the names of the parameters of PolicyEncoded's encoder i.
func (h Head) EncoderName(i int) string { return fmt.Sprintf("%s.encoder.%d", h.Prefix(), i) }

// PolicyEncoder returns each encoder of h, PolicyEncoded. Layers add to their input as it is.
func (a Arch) PolicyEncoder(h Head) Block {
	activation := SELU
	if a.Attention() {
		activation = a.Blocks[len(a.Blocks)-1].HiddenActivation
	}
	return Block{Kind: BlockEncoder, Hidden: h.EncoderHidden, HiddenActivation: activation, Heads: h.Heads, HeadWidth: h.HeadWidth}
}

// Attention reports whether the body is an attention net's.
func (a Arch) Attention() bool {
	return len(a.Blocks) > 0 && (a.Blocks[0].Kind == BlockEmbedding || a.Blocks[0].Kind == BlockDenseEmbedding)
}

// Residual says how an encoder's layers go on from their input: LayerNorm(Scale*y + x)
// with Epsilon added to the variance.
type Residual struct{ Scale, Epsilon float64 }

// BodyResidual returns that of an attention net's blocks: the scale is (2*encoders)^-1/4,
// as in DeepNet (Wang et al. 2022) turned round.
func (a Arch) BodyResidual() Residual {
	r := Residual{math.Pow(2*float64(len(a.Blocks)-1), -0.25), encoderEpsilon}
	if a.Blocks[0].Kind == BlockDenseEmbedding {
		r.Epsilon = InnerEpsilon
	}
	return r
}

// PolicyResidual returns that of PolicyEncoded's encoders.
func PolicyResidual() Residual { return Residual{1, encoderEpsilon} }

// PolicyActivation returns the activation of an attention policy's embedding: SELU behind
// a tower, as in Leela's nets, else the net's.
func (a Arch) PolicyActivation() string {
	if a.Attention() {
		return a.Activation
	}
	return SELU
}

// AttentionArch returns an attention net of the simplest kinds with the usual heads.
func AttentionArch(width, encoders, heads int) Arch {
	a := Tower(width, encoders)
	a.Blocks[0] = Block{Kind: BlockEmbedding, InputFormat: 1, Width: width, Gated: 1}
	for i := range a.Blocks[1:] {
		a.Blocks[1+i] = Block{Kind: BlockEncoder, Hidden: 2 * width, HiddenActivation: ReLU, Heads: heads, HeadWidth: max(1, width/max(1, heads))}
	}
	a.Heads[0] = Head{Output: Policy, Kind: PolicyAttention, Channels: width, Hidden: width}
	return a
}

// extend gives an attention net what a suffix of its name says; false: it is none.
func (a *Arch) extend(suffix string) bool {
	if !a.Attention() {
		return false
	}
	if first := &a.Blocks[0]; suffix == suffixDense {
		first.Kind, first.Positions, first.Hidden, first.HiddenActivation = BlockDenseEmbedding, 512, 2*first.Width, ReLU
		return true
	}
	for i := range a.Blocks[1:] {
		a.Blocks[1+i].AddSmolgen(a.Width())
	}
	return true
}

// AddSmolgen gives an encoder of so many channels a smolgen: from 256 on of the sizes of
// Leela's T1, smaller ones for a smaller net, which would else be smolgen for the most part.
func (b *Block) AddSmolgen(width int) {
	units := min(256, (width*width+4095)/4096*16) // other sizes than multiples of 16 take slow kernels
	b.Kind, b.Compressed, b.SmolgenHidden, b.SmolgenUnits, b.SmolgenActivation = BlockSmolgen, min(32, (width+63)/64*8), units, units, Swish
}

// attentionName is the beginning of an attention net's name.
func attentionName(blocks []Block) []string {
	last := blocks[len(blocks)-1]
	parts := []string{fmt.Sprintf("%dx%dx%dh", blocks[0].Width, len(blocks)-1, last.Heads)}
	if blocks[0].Kind == BlockDenseEmbedding {
		parts = append(parts, suffixDense)
	}
	if last.Kind == BlockSmolgen {
		parts = append(parts, suffixSmolgen)
	}
	return parts
}
