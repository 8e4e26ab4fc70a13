package nn

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
)

// Fixed sizes, bounds and usual values.
const (
	PolicyPlanes      = 80 // outputs of the convolutional policy head per square
	ClassicalChannels = 32 // channels of the classical policy head's 1x1 convolution
	SparseBlock       = 64 // what the widths of a sparse net are multiples of

	maxBlocks    = 256 // behind the first
	minSEUnits   = 8
	usualSERatio = 4

	usualPolicyUnits, usualValueUnits = 64, 32 // of a sparse net

	// Men and legal moves of a usual position, by which a sparse net's cost is told.
	usualMen, usualMoves = 24, 32
)

// What goes from one block to the next, and to the heads.
const (
	position = "the position"
	planes   = "planes" // [channels][64]
	vector   = "numbers without squares"
)

// blockKind is all that this package knows of a kind of block. A new kind is a row of
// blockKinds, a case of Fold, and one in each backend that shall compute it.
type blockKind struct {
	takes, gives string
	sizes        []size[Block]
	choices      []choice
	width        func(b Block, in int) int                     // of the output; in is the input's
	layers       func(l *layers, name string, b Block, in int) // name begins the parameters' names

	// Of a block that reads the position: the activations that its net may have, and how
	// the net's name begins.
	activations []string
	name        func(blocks []Block) []string
}

// headKind is all that this package knows of a kind of head. Usual kinds are not named
// in a net's name.
type headKind struct {
	usual   bool
	takes   string
	outputs []string // that it can give
	forms   []string // of a value head
	sizes   []size[Head]
	layers  func(l *layers, a Arch, h Head)
}

// size is a number of a block or head, with its bounds. Numbers that a kind does not
// list are 0.
type size[T any] struct {
	name   string // in errors; a head's output stands before it
	of     func(*T) *int
	lo, hi int
	step   int    // > 0: it is a multiple of that
	suffix string // not "": a net whose number is not the usual has it in its name, after this
	usual  int
}

// choice is a name in a block, one of those that there are.
type choice struct {
	name string
	of   func(*Block) *string
	from []string
}

// inputFormats is for blocks that read planes; Validate knows which there are.
var inputFormats = size[Block]{name: "input_format", of: inputFormat, lo: 1, hi: 255}

func inputFormat(b *Block) *int { return &b.InputFormat }
func width(b *Block) *int       { return &b.Width }
func features(b *Block) *int    { return &b.Features }
func seRatio(b *Block) *int     { return &b.SERatio }
func channels(h *Head) *int     { return &h.Channels }
func hidden(h *Head) *int       { return &h.Hidden }

var blockKinds = map[string]*blockKind{BlockInput: {
	takes: position, gives: planes, activations: []string{ReLU, Mish},
	sizes: []size[Block]{inputFormats, {name: "filters", of: width, lo: 1, hi: 2048}},
	width: func(b Block, _ int) int { return b.Width },
	layers: func(l *layers, name string, b Block, _ int) {
		l.unit(name+".conv", name+".bn", encoding.NumPlanes, b.Width, 3)
	},
	name: towerName,
}, BlockResidual: {
	takes: planes, gives: planes,
	sizes: []size[Block]{{name: "se_ratio", of: seRatio, lo: 0, hi: 2048}},
	width: func(_ Block, in int) int { return in },
	layers: func(l *layers, name string, b Block, in int) {
		l.unit(name+".conv1", name+".bn1", in, in, 3)
		l.unit(name+".conv2", name+".bn2", in, in, 3)
		if units := SEUnits(in, b.SERatio); units > 0 {
			l.dense(name+".se.fc1", in, units)
			l.dense(name+".se.fc2", units, 2*in)
		}
	},
}, BlockEmbedding: {
	takes: position, gives: planes, activations: []string{ReLU, Mish}, name: attentionName,
	sizes: embeddingSizes, width: func(b Block, _ int) int { return b.Width }, layers: embeddingLayers,
}, BlockDenseEmbedding: {
	takes: position, gives: planes, activations: []string{ReLU, Mish}, name: attentionName,
	sizes: denseEmbeddingSizes, choices: hiddenChoices, width: func(b Block, _ int) int { return b.Width }, layers: embeddingLayers,
}, BlockEncoder: {
	takes: planes, gives: planes, sizes: encoderSizes, choices: hiddenChoices,
	width: func(_ Block, in int) int { return in }, layers: encoderLayers,
}, BlockSmolgen: {
	takes: planes, gives: planes, sizes: smolgenSizes, choices: smolgenChoices,
	width: func(_ Block, in int) int { return in }, layers: encoderLayers,
}, BlockSparse: {
	takes: position, gives: vector, activations: []string{ReLU},
	sizes: []size[Block]{{name: "accumulators", of: width, lo: SparseBlock, hi: 2048, step: SparseBlock}, {name: "features", of: features, lo: int(encoding.SparseAttacks), hi: int(encoding.SparseAttackers), step: 2}},
	width: func(b Block, _ int) int { return 2 * b.Width },
	layers: func(l *layers, name string, b Block, _ int) {
		f, used := encoding.SparseFeatures(b.Features), 2*usualMen
		if f.NumFeatures() > f.FirstMove() {
			used += usualMoves
		}
		l.table(name, f.NumFeatures(), b.Width, used)
		l.add(name, Bias, b.Width)
	},
	name: sparseName,
}}

var headKinds = map[string]*headKind{PolicyConvolutional: {
	usual: true, takes: planes, outputs: []string{Policy},
	layers: func(l *layers, a Arch, h Head) {
		f, name := a.Width(), h.Prefix()
		l.unit(name+".conv1", name+".bn", f, f, 3)
		l.conv(name+".conv2", f, PolicyPlanes, 3)
		l.add(name+".conv2", Bias, PolicyPlanes)
	},
}, PolicyClassical: {
	takes: planes, outputs: []string{Policy},
	layers: func(l *layers, a Arch, h Head) {
		l.unit(h.Prefix()+".conv1", h.Prefix()+".bn", a.Width(), ClassicalChannels, 1)
		l.dense(h.Prefix()+".fc", ClassicalChannels*encoding.NumSquares, encoding.NumPolicy)
	},
}, PolicyAttention: {
	takes: planes, outputs: []string{Policy}, sizes: attentionPolicySizes, layers: attentionPolicyLayers,
}, PolicyEncoded: {
	takes: planes, outputs: []string{Policy}, sizes: encodedPolicySizes, layers: attentionPolicyLayers,
}, PolicyMoves: {
	usual: true, takes: vector, outputs: []string{Policy},
	sizes: []size[Head]{{name: "units", of: hidden, lo: SparseBlock, hi: 512, step: SparseBlock, suffix: "p", usual: usualPolicyUnits}},
	layers: func(l *layers, a Arch, h Head) {
		l.dense("policy.fc1", a.Width(), h.Hidden)
		for _, t := range []struct {
			name       string
			rows, used int
		}{{"policy.moves", encoding.NumPolicy, 1}, {"policy.kinds", a.SparseFeatures().NumMoveKinds(), a.SparseFeatures().MoveKinds()}} {
			l.table(t.name, t.rows, h.Hidden, usualMoves*t.used)
			l.add(t.name, Bias, t.rows)
		}
	},
}, HeadFlattened: {
	usual: true, takes: planes, outputs: []string{Value, MovesLeft, Auxiliary}, forms: []string{ValueWDL, ValueScalar},
	sizes:  scalarSizes,
	layers: func(l *layers, a Arch, h Head) { l.scalarHead(a, h, h.Channels*encoding.NumSquares) },
}, HeadPooled: {
	takes: planes, outputs: []string{Value}, forms: []string{ValueWDL, ValueScalar},
	sizes:  scalarSizes,
	layers: func(l *layers, a Arch, h Head) { l.scalarHead(a, h, h.Channels) },
}, HeadDense: {
	usual: true, takes: vector, outputs: []string{Value, Auxiliary}, forms: []string{ValueWDL},
	sizes: []size[Head]{{name: "hidden", of: hidden, lo: 1, hi: 512, suffix: "v", usual: usualValueUnits}},
	layers: func(l *layers, a Arch, h Head) {
		l.dense(h.Output+".fc1", a.Width(), h.Hidden)
		l.dense(h.Output+".fc2", h.Hidden, h.Outputs())
	},
}, HeadShared: {
	usual: true, takes: vector, outputs: []string{MovesLeft},
	layers: func(l *layers, a Arch, h Head) { l.dense(h.Output+".fc2", a.Head(Value).Hidden, h.Outputs()) },
}}

var scalarSizes = []size[Head]{{name: "channels", of: channels, lo: 1, hi: 1024}, {name: "hidden", of: hidden, lo: 1, hi: 4096},
	{name: "errors", of: func(h *Head) *int { return &h.Errors }, lo: 0, hi: 1},
	{name: "categories", of: func(h *Head) *int { return &h.Categories }, lo: 0, hi: MaxCategories}}

// scalarHead is a 1x1 convolution and two fully connected layers, the first of inputs.
func (l *layers) scalarHead(a Arch, h Head, inputs int) {
	name := h.Prefix()
	l.unit(name+".conv", name+".bn", a.Width(), h.Channels, 1)
	l.dense(name+".fc1", inputs, h.Hidden)
	l.dense(name+".fc2", h.Hidden, h.Outputs())
	if h.Errors > 0 {
		l.dense(name+".error", h.Hidden, 1)
	}
	if h.Categories > 0 {
		l.dense(name+".categories", h.Hidden, h.Categories)
	}
}

// checker collects what is wrong with an architecture.
type checker struct{ errs []error }

func (c *checker) bad(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%w: "+format, append([]any{ErrArch}, args...)...))
}

func (c *checker) number(field string, v, lo, hi int) {
	if v < lo || v > hi {
		c.bad("%s is %d, want %d to %d", field, v, lo, hi)
	}
}

func (c *checker) choice(field, v string, want []string) {
	if !slices.Contains(want, v) {
		c.bad("%s is %q, want one of %q", field, v, want)
	}
}

// checkSizes checks the sizes that a kind has, each named after prefix, and that x,
// whose other fields are those of rest, has no others.
func checkSizes[T comparable](c *checker, prefix, kind string, sizes []size[T], x, rest T) {
	for _, s := range sizes {
		v := *s.of(&x)
		c.number(prefix+s.name, v, s.lo, s.hi)
		if s.step > 0 && v%s.step != 0 {
			c.bad("%s%s is %d, multiples of %d are wanted", prefix, s.name, v, s.step)
		}
		*s.of(&rest) = v
	}
	if x != rest {
		text, _ := json.Marshal(x) // numbers and names: it does not fail
		c.bad("%s%s has sizes that it does not use: %s", prefix, kind, text)
	}
}

// Validate returns all that is wrong with a, wrapping ErrArch, or nil.
func (a Arch) Validate() error {
	var c checker
	if f := a.InputFormat(); !slices.Contains(encoding.InputFormats(), f) {
		c.bad("input_format is %d, want one of %d", f, encoding.InputFormats())
	}
	data := position
	for i, b := range a.Blocks {
		k := blockKinds[b.Kind]
		switch {
		case k == nil:
			c.bad("block %d is of kind %q, which this build does not know", i, b.Kind)
			return errors.Join(c.errs...)
		case k.takes != data:
			c.bad("block %d, of kind %q, takes %s, not %s", i, b.Kind, k.takes, data)
		case i > 1 && b != a.Blocks[1]:
			c.bad("block %d is not like block 1", i)
			return errors.Join(c.errs...)
		case i <= 1:
			rest := Block{Kind: b.Kind}
			for _, choose := range k.choices {
				c.choice(choose.name, *choose.of(&b), choose.from)
				*choose.of(&rest) = *choose.of(&b)
			}
			checkSizes(&c, "", b.Kind, k.sizes, b, rest)
		}
		data = k.gives
	}
	if data != vector {
		c.number("blocks", len(a.Blocks)-1, 1, maxBlocks)
	}
	if len(a.Blocks) > 0 && blockKinds[a.Blocks[0].Kind].activations != nil {
		c.choice("activation", a.Activation, blockKinds[a.Blocks[0].Kind].activations)
	}
	a.validateHeads(&c, data)
	return errors.Join(c.errs...)
}

// validateHeads checks the heads over data, the last block's output.
func (a Arch) validateHeads(c *checker, data string) {
	at := -1
	for i, h := range a.Heads {
		k := slices.Index(headOrder, h.Prefix())
		if k <= at || i < 2 && k != i {
			c.bad("head %d is for %q, want %q in this order, all but the first two may be absent", i, h.Prefix(), headOrder)
			return
		}
		if at = k; h.Name != "" && data == vector {
			c.bad("head %d is %q: a sparse net has no further heads", i, h.Prefix())
		}
	}
	if len(a.Heads) < 2 {
		c.bad("%d heads, want %q, all but the first two may be absent", len(a.Heads), headOrder)
		return
	}
	for _, h := range a.Heads {
		var kinds []string
		for kind, k := range headKinds {
			if k.takes == data && slices.Contains(k.outputs, h.Output) {
				kinds = append(kinds, kind)
			}
		}
		slices.Sort(kinds)
		c.choice(h.Prefix()+"_head", h.Kind, kinds)
		k := headKinds[h.Kind]
		if k == nil {
			continue
		}
		forms := k.forms
		switch {
		case h.Output != Value:
			forms = []string{""}
		case h.Name != "":
			forms = []string{a.ValueForm()}
		}
		c.choice(h.Prefix()+"_head", h.Form, forms)
		if h.Errors > 0 && h.Output != Value {
			c.bad("%s_errors is %d: value heads alone forecast their errors", h.Prefix(), h.Errors)
		}
		if h.Categories == 1 || h.Categories > 0 && h.Output != Value {
			c.bad("%s_categories is %d: value heads alone have them, and two or more", h.Prefix(), h.Categories)
		}
		checkSizes(c, h.Prefix()+"_", h.Kind, k.sizes, h, Head{Output: h.Output, Name: h.Name, Kind: h.Kind, Form: h.Form})
	}
}
