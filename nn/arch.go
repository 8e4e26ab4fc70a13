package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
)

// ErrArch is wrapped by every error about an architecture.
var ErrArch = errors.New("net architecture")

// Choices of Arch's string fields. What each kind of block and head computes stands in
// docs/FORMATS.md, its sizes and parameters in kinds.go.
const (
	ReLU  = "relu"
	Mish  = "mish"
	ReLU2 = "relu2" // max(0,x)^2, inside encoders alone, as the next two
	Swish = "swish" // x*sigmoid(x)
	SELU  = "selu"

	// Kinds of blocks.
	BlockInput          = "input_convolution" // planes of the position, one 3x3 convolution
	BlockResidual       = "residual"          // two 3x3 convolutions, with or without squeeze-and-excitation
	BlockEmbedding      = "embedding"         // planes of a square and encoding.SquareMap, one fully connected layer
	BlockDenseEmbedding = "dense_embedding"   // planes of a square and what a layer says to it of all men
	BlockEncoder        = "encoder"           // attention between squares, then two fully connected layers on each
	BlockSmolgen        = "smolgen_encoder"   // the same; how squares attend depends on the whole position, too
	BlockSparse         = "sparse"            // accumulators: sums of the rows of a table that the position's features name

	// Outputs of heads, in the order of Arch.Heads.
	Policy    = "policy"
	Value     = "value"
	MovesLeft = "moves_left"

	// Kinds of policy heads.
	PolicyConvolutional = "convolutional" // 80 planes, of which 73 are gathered to the 1858 moves
	PolicyClassical     = "classical"     // one fully connected layer to the 1858 moves
	PolicyAttention     = "attention"     // the square that a move leaves and the one that it goes to are multiplied
	PolicyEncoded       = "encoded"       // the same behind encoders of the head's own
	PolicyMoves         = "moves"         // of a sparse net: a row of units a move

	// AnyInput is no kind: among those of a package it says that the package reads all
	// input formats.
	AnyInput = "any input format"

	// Kinds of value and moves-left heads.
	HeadFlattened = "flattened" // 1x1 convolution, and two fully connected layers over all its squares
	HeadPooled    = "pooled"    // the same over the mean of each of the convolution's channels; value alone
	HeadDense     = "dense"     // of a sparse net: two fully connected layers
	HeadShared    = "shared"    // of a sparse net: one fully connected layer over the value head's units

	// Forms of a value head's answer.
	ValueWDL    = "wdl"    // win, draw, loss logits
	ValueScalar = "scalar" // one number, tanh
)

// Arch describes a net: blocks one after the other, and heads that each read the last
// block's output. Copies share the lists; Clone does not. Its JSON form is canonical
// (archjson.go).
type Arch struct {
	Activation string  `json:"activation"` // ReLU or Mish, where a block or head has none of its own
	Blocks     []Block `json:"blocks"`     // the first one reads the position, all others are alike
	Heads      []Head  `json:"heads"`      // policy, value; moves left, further and auxiliary ones where the net has them
}

// Block is a part of a net's body. Sizes that its kind does not have are 0.
type Block struct {
	Kind        string `json:"kind"`
	InputFormat int    `json:"input_format,omitempty"` // of blocks that read planes: an encoding.InputFormat, 1 = the classical 112
	Width       int    `json:"width,omitempty"`        // channels of the output of a block that reads the position; accumulators of each side of BlockSparse
	SERatio     int    `json:"se_ratio,omitempty"`     // of BlockResidual: see SEUnits; 0 = no squeeze-and-excitation

	Features int `json:"features,omitempty"` // of BlockSparse: which of encoding.SparseFeatures it reads

	// Of embeddings: 1 = the output is scaled and shifted by factors of their own for each
	// square and channel; numbers that BlockDenseEmbedding says to each square.
	Gated     int `json:"gated,omitempty"`
	Positions int `json:"positions,omitempty"`

	// Of encoders, and the first two of BlockDenseEmbedding, too.
	Hidden           int    `json:"hidden,omitempty"`            // units of the feed-forward layers
	HiddenActivation string `json:"hidden_activation,omitempty"` // and theirs
	Heads            int    `json:"heads,omitempty"`             // of attention
	HeadWidth        int    `json:"head_width,omitempty"`        // of a head's queries, keys and values

	// Of BlockSmolgen: channels that each square gives, units made of all squares', units
	// of each head made of those, and the activation of both layers.
	Compressed        int    `json:"compressed,omitempty"`
	SmolgenHidden     int    `json:"smolgen_hidden,omitempty"`
	SmolgenUnits      int    `json:"smolgen_units,omitempty"`
	SmolgenActivation string `json:"smolgen_activation,omitempty"`
}

// Head is an output of a net. Sizes that its kind does not have are 0.
type Head struct {
	Output   string `json:"output"`         // Policy, Value, MovesLeft or Auxiliary
	Name     string `json:"name,omitempty"` // "" = the main head of its output, else one of HeadNames
	Kind     string `json:"kind"`
	Form     string `json:"form,omitempty"`     // of a value head: ValueWDL or ValueScalar
	Channels int    `json:"channels,omitempty"` // of the 1x1 convolution, or of an attention policy's embedding
	Hidden   int    `json:"hidden,omitempty"`   // units before the last layer; of an attention policy's queries and keys
	Errors   int    `json:"errors,omitempty"`   // of a value head: 1 = it forecasts the square of its own error
	// Categories, of a value head that forecasts in which of so many equal parts of [-1,1]
	// a value is, the least first; 0 = it does not, else 2 to MaxCategories.
	Categories int `json:"categories,omitempty"`

	// Of PolicyEncoded: encoders, and their sizes as in Block.
	Encoders      int `json:"encoders,omitempty"`
	EncoderHidden int `json:"encoder_hidden,omitempty"`
	Heads         int `json:"heads,omitempty"`
	HeadWidth     int `json:"head_width,omitempty"`
}

// DefaultArch returns the default net: 32 filters, 4 blocks, SE, convolutional
// policy, WDL value, moves left.
func DefaultArch() Arch { return Tower(32, 4) }

// Tower returns a residual tower with squeeze-and-excitation and the usual heads.
func Tower(filters, blocks int) Arch {
	return Arch{Activation: ReLU, Blocks: TowerBlocks(filters, blocks, usualSERatio), Heads: []Head{
		{Output: Policy, Kind: PolicyConvolutional},
		{Output: Value, Kind: HeadFlattened, Form: ValueWDL, Channels: 32, Hidden: 128},
		{Output: MovesLeft, Kind: HeadFlattened, Channels: 8, Hidden: 128},
	}}
}

// TowerBlocks returns an input convolution and residual blocks. Of more blocks than a
// net may have there is one too many, for Validate to refuse.
func TowerBlocks(filters, blocks, seRatio int) []Block {
	residual := Block{Kind: BlockResidual, SERatio: seRatio}
	return append([]Block{{Kind: BlockInput, InputFormat: 1, Width: filters}}, slices.Repeat([]Block{residual}, min(max(blocks, 0), maxBlocks+1))...)
}

// SparseArch returns a sparse net of the newest features with the usual heads.
func SparseArch(accumulators int) Arch {
	return Arch{Activation: ReLU, Blocks: []Block{{Kind: BlockSparse, Width: accumulators, Features: int(encoding.SparseAttackers)}}, Heads: []Head{
		{Output: Policy, Kind: PolicyMoves, Hidden: usualPolicyUnits},
		{Output: Value, Kind: HeadDense, Form: ValueWDL, Hidden: usualValueUnits},
		{Output: MovesLeft, Kind: HeadShared},
	}}
}

// Equal says whether a and b are the same net but for its weights.
func (a Arch) Equal(b Arch) bool {
	return a.Activation == b.Activation && slices.Equal(a.Blocks, b.Blocks) && slices.Equal(a.Heads, b.Heads)
}

// Clone returns a copy that shares nothing with a.
func (a Arch) Clone() Arch {
	a.Blocks, a.Heads = slices.Clone(a.Blocks), slices.Clone(a.Heads)
	return a
}

// Head returns the main head of an output, shared with a, or nil where there is none.
func (a Arch) Head(output string) *Head { return a.Named(output, "") }

// ValueForm returns the form of the value head's answer.
func (a Arch) ValueForm() string {
	if h := a.Head(Value); h != nil {
		return h.Form
	}
	return ""
}

// SparseFeatures is what a sparse net reads of a position.
func (a Arch) SparseFeatures() encoding.SparseFeatures {
	return encoding.SparseFeatures(a.Blocks[0].Features)
}

// Sparse reports whether the body is a sparse net's accumulators.
func (a Arch) Sparse() bool { return len(a.Blocks) > 0 && a.Blocks[0].Kind == BlockSparse }

// InputFormat returns the format of the positions that the net reads.
func (a Arch) InputFormat() encoding.InputFormat {
	if len(a.Blocks) == 0 {
		return encoding.FormatClassical
	}
	return encoding.InputFormat(max(a.Blocks[0].InputFormat, int(encoding.FormatClassical)))
}

// Width returns the numbers of the last block's output: channels of a square, or both
// sides' accumulators.
func (a Arch) Width() (width int) {
	for _, b := range a.Blocks {
		if k := blockKinds[b.Kind]; k != nil {
			width = k.width(b, width)
		}
	}
	return width
}

// SEUnits returns the units of a tower's squeeze-and-excitation layers, 0 without.
func (a Arch) SEUnits() int {
	if len(a.Blocks) == 0 {
		return 0
	}
	return SEUnits(a.Width(), a.Blocks[len(a.Blocks)-1].SERatio)
}

// SEUnits returns the units of a squeeze-and-excitation layer: filters/ratio, at least
// 8; 0 for ratio 0.
func SEUnits(filters, ratio int) int {
	if ratio <= 0 {
		return 0
	}
	return max(minSEUnits, filters/ratio)
}

// Outputs returns the numbers that a value, moves-left or auxiliary head gives: 3 (win,
// draw, loss), 1 or NumAuxiliary.
func (h Head) Outputs() int {
	switch {
	case h.Output == Auxiliary:
		return NumAuxiliary
	case h.Form == ValueWDL:
		return 3
	}
	return 1
}

// Only refuses a net with a block or head of a kind that is not among kinds: those that
// where, such as "a GPU", computes or holds. It tells where other nets are at home,
// and the way from a sparse net to a tower. Errors wrap ErrArch.
func (a Arch) Only(where string, kinds ...string) error {
	if f := a.InputFormat(); f != encoding.FormatClassical && !slices.Contains(kinds, AnyInput) {
		return fmt.Errorf("%w: %s reads positions in input format %d, which CPUs play: %s takes format %d alone", ErrArch, a, f, where, encoding.FormatClassical)
	}
	for _, b := range a.Blocks {
		switch {
		case slices.Contains(kinds, b.Kind):
		case b.Kind == BlockSparse:
			return fmt.Errorf("%w: %s is a sparse net, for CPUs and this program alone; %s takes a tower such as 64x6: "+
				"train one on the sparse net's games, with chessbrain train --net 64x6 --source dir", ErrArch, a, where)
		case a.Attention():
			return fmt.Errorf("%w: %s is an attention net: %s has no block of kind %q", ErrArch, a, where, b.Kind)
		default:
			return fmt.Errorf("%w: %s has a block of kind %q, which %s does not have", ErrArch, a, b.Kind, where)
		}
	}
	for _, h := range a.Heads {
		if !slices.Contains(kinds, h.Kind) {
			if h.Attends() {
				return fmt.Errorf("%w: %s has an attention policy, which %s does not have", ErrArch, a, where)
			}
			return fmt.Errorf("%w: %s has a %s head of kind %q, which %s does not have", ErrArch, a, h.Output, h.Kind, where)
		}
	}
	return nil
}

// NumParams returns the number of trained parameters (running means and
// variances are not trained).
func (a Arch) NumParams() int {
	n := 0
	for _, s := range Specs(a) {
		if s.Kind.Trained() {
			n += s.Len()
		}
	}
	return n
}

// FLOPs returns the nominal operations of one board's forward pass, two per
// multiply-add of every convolution and fully connected layer; taps that fall
// off the board are counted. A sparse net's are those of 24 men and 32 legal moves.
func (a Arch) FLOPs() int64 { return a.layers().flops }

// Summary returns one line for the user: name, forecasts of value heads, size and cost.
func (a Arch) Summary() string {
	mega := func(x float64) string {
		digits := max(0, 1-int(math.Floor(math.Log10(x))))
		return fmt.Sprintf("%.*f", digits, x)
	}
	name := a.String()
	for _, h := range a.Heads {
		if h.Errors > 0 {
			name += ", " + h.Prefix() + ".error"
		}
		if h.Categories > 0 {
			name += fmt.Sprintf(", %s.categories %d", h.Prefix(), h.Categories)
		}
	}
	return fmt.Sprintf("%s: %s million parameters, %s MFLOP per board",
		name, mega(float64(a.NumParams())/1e6), mega(float64(a.FLOPs())/1e6))
}
