package nn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// growing are the kinds of blocks and heads of nets that grow. Those of attention nets do
// not: behind each sum stands a layer norm, whose mean is over all channels.
var growing = []string{BlockInput, BlockResidual, PolicyConvolutional, PolicyClassical, HeadFlattened, HeadPooled,
	BlockSparse, PolicyMoves, HeadDense, HeadShared}

// Grow returns a net of architecture to that computes what n computes, with batch norm's
// running statistics and with those of a batch. to has no less of anything than n.Arch:
// filters, blocks, accumulators, units and channels of heads. Numbers that n does not have
// are those of Init(to, seed), but for the following. n is not changed and shares nothing
// with the result. Errors wrap ErrArch and name all that differs.
//
// Wider: new channels and units have random weights before them, and zeros between them
// and all that was there, as in Gesmundo and Maile 2023. The other way is Net2Net's (Chen
// et al. 2016), two halves of a copied channel. It has the right statistics at once. But
// halves get one gradient and stay equal, unless noise parts them, and noise changes the
// function. The zeros have gradients in the first step, what stands before them in the
// second.
//
// Deeper: new blocks stand last, and what they add is 0 through gamma of their second
// batch norm (Goyal et al. 2017) and the shifts of their squeeze-and-excitation. Such a
// block gives act(x), which is x with ReLU alone, since x comes out of a ReLU.
func Grow(n *Net, to Arch, seed uint64) (*Net, error) {
	if err := cmp.Or(n.Validate(), n.Arch.GrowsTo(to)); err != nil {
		return nil, err
	}
	out := Init(to.Clone(), seed)
	for i := range out.Params {
		if old := n.param(out.Params[i].Name); old != nil {
			out.Params[i].take(old, to.Sparse(), 0)
		}
	}
	for i := len(n.Arch.Blocks); i < len(to.Blocks); i++ {
		clear(out.Get(BlockName(i) + ".bn2.gamma")) // beta is 0 in fresh nets, as the bias below
		shifts := out.Get(BlockName(i) + ".se.fc2.weight")
		clear(shifts[len(shifts)/2:])
	}
	return out, nil
}

// GrowMoments puts the numbers that an optimizer keeps for the parameters of n, in their
// shapes, to where Grow puts the parameters. New ones are 0, or with mean the mean of the
// old ones of the tensor; for a new block, of the tensor of the last old block. With a
// second moment of 0 an optimizer such as Adam would change a new number in its first
// hundred steps several times as much as an old one.
func GrowMoments(n *Net, to Arch, mean bool) (*Net, error) {
	if err := cmp.Or(n.Validate(), n.Arch.GrowsTo(to)); err != nil {
		return nil, err
	}
	out, last := Zero(to.Clone()), BlockName(len(n.Arch.Blocks)-1)
	for i := range out.Params {
		p := &out.Params[i]
		old, like, fill := n.param(p.Name), p.Name, float32(0)
		if old == nil {
			_, role, _ := strings.Cut(strings.TrimPrefix(p.Name, "tower."), ".")
			like = last + "." + role
		}
		if mean {
			fill = meanOf(n.Get(like))
		}
		for j := range p.Data {
			p.Data[j] = fill
		}
		if old != nil {
			p.take(old, to.Sparse(), fill)
		}
	}
	return out, nil
}

// meanOf returns the mean of x, 0 where it is empty.
func meanOf(x []float32) float32 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return float32(sum / float64(max(1, len(x))))
}

// take puts the numbers of a smaller parameter of the same name into p. In the rows of old
// outputs all columns of new inputs become fill.
func (p *Param) take(old *Param, sparse bool, fill float32) {
	// Two parts stand one behind the other where squeeze-and-excitation gives factors and
	// shifts, and where a sparse net's layers read the accumulators of both sides.
	rowParts, columnParts := 1, 1
	if strings.Contains(p.Name, ".se.fc2.") {
		rowParts = 2
	}
	if sparse && strings.HasSuffix(p.Name, ".fc1.weight") {
		columnParts = 2
	}
	table := sparse && p.Name == "input.weight" // its rows are inputs: new columns are outputs, which stay random
	width, was := len(p.Data)/p.Shape[0], len(old.Data)/old.Shape[0]
	for r := range old.Shape[0] {
		row := p.Data[place(r, old.Shape[0], p.Shape[0], rowParts)*width:][:width]
		for c := range row {
			if !table {
				row[c] = fill
			}
		}
		for c, v := range old.Data[r*was:][:was] {
			row[place(c, was, width, columnParts)] = v
		}
	}
}

// place returns where number i of from stands among to numbers, both in equal parts.
func place(i, from, to, parts int) int {
	from, to = from/parts, to/parts
	return i/from*to + i%from
}

// GrowsTo refuses what Grow cannot make of a net: an error that wraps ErrArch and names all
// differences and, where there is one, the nearest architecture that it can make.
func (a Arch) GrowsTo(to Arch) error {
	if err := cmp.Or(a.Validate(), to.Validate()); err != nil {
		return err
	}
	for _, x := range []Arch{a, to} {
		for _, b := range x.Blocks {
			if !slices.Contains(growing, b.Kind) {
				return fmt.Errorf("%w: %s is an attention net, which does not grow: a layer norm behind each sum reads all channels, "+
					"so new ones change the old, and none gives what it gets, so new encoders change all; begin with random weights", ErrArch, x)
			}
		}
		for _, h := range x.Heads {
			if !slices.Contains(growing, h.Kind) {
				return fmt.Errorf("%w: %s has a %s head of kind %q, which does not grow; begin with random weights", ErrArch, x, h.Output, h.Kind)
			}
		}
	}
	if a.Equal(to) {
		return fmt.Errorf("%w: the net is %s already; name a larger one", ErrArch, a)
	}
	g := growth{nearest: a.Clone()}
	if g.compare(a, to); len(g.problems) == 0 {
		return nil
	}
	possible := ""
	if !g.nearest.Equal(a) {
		possible = ": possible is " + g.nearest.Spelled()
	}
	return fmt.Errorf("%w: %s does not grow to %s: %s; a net keeps its kinds and grows in filters, blocks, accumulators and the sizes of its heads%s",
		ErrArch, a, to, strings.Join(g.problems, ", "), possible)
}

// Spelled returns a name that ParseArch knows a by, or else its JSON.
func (a Arch) Spelled() string {
	if same, err := ParseArch(a.String()); err == nil && same.Equal(a) {
		return a.String()
	}
	text, _ := json.Marshal(a) // numbers and names: it does not fail
	return string(text)
}

// growth compares two architectures whose kinds grow.
type growth struct {
	problems []string
	nearest  Arch // the smaller one, with all of the larger one that it can have
}

func (g *growth) problem(format string, args ...any) {
	g.problems = append(g.problems, fmt.Sprintf(format, args...))
}

// growSizes compares the sizes of a block or head, and gives near the larger ones.
func growSizes[T any](g *growth, prefix string, sizes []size[T], from, to, near *T) {
	for _, s := range sizes {
		was, is := *s.of(from), *s.of(to)
		if *s.of(near) = max(was, is); is < was {
			g.problem("%s%s is %d, fewer than %d", prefix, s.name, is, was)
		}
	}
}

func (g *growth) compare(from, to Arch) {
	first := from.Blocks[0].Kind
	if to.Blocks[0].Kind != first {
		g.problem("its body is of kind %q, not %q", to.Blocks[0].Kind, first)
		return
	}
	if to.Activation != from.Activation {
		g.problem("its activation is %s, not %s", to.Activation, from.Activation)
	}
	growSizes(g, "", blockKinds[first].sizes, &from.Blocks[0], &to.Blocks[0], &g.nearest.Blocks[0])
	if g.nearest.Blocks[0].Features = from.Blocks[0].Features; to.Blocks[0].Features > from.Blocks[0].Features {
		g.problem("its features are %d, not %d", to.Blocks[0].Features, from.Blocks[0].Features)
	}
	g.compareBlocks(from, to)
	for i, h := range from.Heads {
		switch other := to.Named(h.Output, h.Name); {
		case other == nil:
			g.problem("it has no %s head", h.Prefix())
		case other.Kind != h.Kind || other.Form != h.Form:
			g.problem("its %s head is %s, not %s", h.Prefix(), kindAndForm(*other), kindAndForm(h))
		default:
			growSizes(g, h.Prefix()+"_", headKinds[h.Kind].sizes, &h, other, &g.nearest.Heads[i])
			if h.Categories > 0 && other.Categories > h.Categories { // each is another part of [-1,1] then
				g.problem("%s_categories are %d, not %d", h.Prefix(), other.Categories, h.Categories)
				g.nearest.Heads[i].Categories = h.Categories
			}
		}
	}
	for _, h := range to.Heads {
		if from.Named(h.Output, h.Name) == nil {
			g.problem("its %s head is new", h.Prefix())
		}
	}
}

// compareBlocks compares the residual blocks, if there are any.
func (g *growth) compareBlocks(from, to Arch) {
	was, is := len(from.Blocks)-1, len(to.Blocks)-1
	if was == 0 {
		return
	}
	switch {
	case is < was:
		g.problem("blocks is %d, fewer than %d", is, was)
	case is > was && from.Activation != ReLU:
		g.problem("blocks is %d, more than %d: no new block gives what it gets where the activation is %s, so such a net grows in width alone", is, was, from.Activation)
	}
	last := from.Blocks[was]
	switch old, units := from.SEUnits(), to.SEUnits(); {
	case units == 0 && old > 0:
		g.problem("it has no squeeze-and-excitation")
	case units > 0 && old == 0:
		g.problem("its squeeze-and-excitation is new")
	case units < old:
		g.problem("its squeeze-and-excitation has %d units, fewer than %d", units, old)
	default:
		last = to.Blocks[is]
	}
	if from.Activation == ReLU {
		was = max(was, is)
	}
	g.nearest.Blocks = append(g.nearest.Blocks[:1], slices.Repeat([]Block{last}, was)...)
}

func kindAndForm(h Head) string { return strings.TrimSpace(h.Kind + " " + h.Form) }
