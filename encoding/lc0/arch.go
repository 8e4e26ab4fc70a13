package lc0

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0/netpb"
	"github.com/chessbrain/chessbrain/nn"
)

// networkFormat returns a file's network format. Files from before the formats of
// heads were named have classical heads; of the first attention nets the format does not
// tell all.
func networkFormat(file *netpb.Net) *netpb.NetworkFormat {
	f := file.GetFormat().GetNetworkFormat()
	if f == nil {
		return &netpb.NetworkFormat{Input: proto.Int32(inputClassical), Output: proto.Int32(outputClassical),
			Network: proto.Int32(networkClassical), Policy: proto.Int32(policyClassical), Value: proto.Int32(valueClassical)}
	}
	f = proto.CloneOf(f)
	switch w := file.GetWeights(); f.GetNetwork() {
	case oldClassical, oldSE:
		f.Network = proto.Int32(map[int32]int32{oldClassical: networkClassical, oldSE: networkSE}[f.GetNetwork()])
		f.Policy, f.Value = proto.Int32(policyClassical), proto.Int32(valueClassical)
	case networkSE:
		if len(w.GetEncoder()) > 0 {
			f.Network = proto.Int32(networkAttention)
			if w.GetSmolgenW() != nil {
				f.FfnActivation, f.SmolgenActivation = proto.Int32(activationNumber(nn.ReLU2)), proto.Int32(activationNumber(nn.Swish))
			}
		}
	case oldHeads:
		f.Network = proto.Int32(networkHeads)
	}
	if f.GetNetwork() == networkAttention && f.InputEmbedding == nil {
		f.InputEmbedding = proto.Int32(embeddingMap)
		if w := file.GetWeights(); w.GetPolicyHeads() != nil && w.GetValueHeads() != nil {
			f.InputEmbedding = proto.Int32(embeddingDense)
		}
	}
	return f
}

// archOf returns the architecture of a file: the format says which heads there
// are, the lengths of layers say the sizes.
func archOf(file *netpb.Net, f *netpb.NetworkFormat) (a nn.Arch, err error) {
	if err := checkFormat(f); err != nil {
		return a, err
	}
	c := counter{file.GetFormat().GetWeightsEncoding()}
	w := file.GetWeights()
	a = nn.Arch{Activation: nn.ReLU}
	if f.GetDefaultActivation() == activationMish {
		a.Activation = nn.Mish
	}
	if f.GetNetwork() == networkAttention || f.GetNetwork() == networkHeads {
		a.Blocks, err = c.attention(a.Activation, w, f)
	} else {
		a.Blocks, err = c.tower(w)
	}
	if err != nil {
		return a, err
	}
	a.Blocks[0].InputFormat = int(f.GetInput())
	policy, err := c.policy(a.Width(), f, w)
	if err != nil {
		return a, err
	}
	value := c.scalarHead(nn.Value, a, w.GetValue(), w.GetIpValB(), w.GetIp1ValB())
	if value.Form = nn.ValueWDL; f.GetValue() == valueClassical {
		value.Form = nn.ValueScalar
	}
	a.Heads = []nn.Head{policy, value}
	if f.GetMovesLeft() == movesLeftV1 {
		a.Heads = append(a.Heads, c.scalarHead(nn.MovesLeft, a, w.GetMovesLeft(), w.GetIpMovB(), w.GetIp1MovB()))
	}
	if err := a.Validate(); err != nil {
		return a, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return a, checkPolicy(a)
}

// checkPolicy refuses a policy head that files do not have behind the body.
func checkPolicy(a nn.Arch) error {
	for _, h := range a.Heads {
		if h.Output == nn.Policy && a.Attention() && !h.Attends() {
			return fmt.Errorf("%w: a %s policy head behind an attention body, where files have an attention policy", ErrUnsupported, h.Kind)
		}
	}
	return nil
}

// tower returns the blocks of a residual tower.
func (c counter) tower(w *netpb.Weights) ([]nn.Block, error) {
	blocks := len(w.GetResidual())
	filters := c.ratio(w.GetInput().GetWeights(), encoding.NumPlanes*9)
	if filters < 1 || blocks < 1 {
		return nil, fmt.Errorf("%w: an input convolution of %d numbers and %d residual blocks", ErrCorrupt, c.count(w.GetInput().GetWeights()), blocks)
	}
	se, err := seRatioOf(w.GetResidual(), filters, c)
	if err != nil {
		return nil, err
	}
	return nn.TowerBlocks(filters, blocks, se), nil
}

// attention returns the blocks of an attention body.
func (c counter) attention(activation string, w *netpb.Weights, f *netpb.NetworkFormat) ([]nn.Block, error) {
	unknown := func(what string) error {
		return fmt.Errorf("%w: %s in an attention net; this build knows an embedding, encoders with or without smolgen, and the heads", ErrUnsupported, what)
	}
	width := c.count(w.GetIpEmbB())
	encoders := len(w.GetEncoder())
	if width < 1 || encoders < 1 {
		return nil, fmt.Errorf("%w: an attention net with an embedding of %d numbers and %d encoders", ErrCorrupt, width, encoders)
	}
	if n := len(w.GetResidual()); n > 0 {
		return nil, unknown(fmt.Sprintf("%d residual blocks", n))
	}
	hidden, err := activationName("the feed-forward layers", f.GetFfnActivation(), activation)
	if err != nil {
		return nil, err
	}
	input := nn.Block{Kind: nn.BlockEmbedding, InputFormat: inputClassical, Width: width}
	if w.GetIpMultGate() != nil && w.GetIpAddGate() != nil {
		input.Gated = 1
	}
	switch f.GetInputEmbedding() {
	case embeddingMap:
	case embeddingDense:
		input.Kind, input.Positions = nn.BlockDenseEmbedding, c.ratio(w.GetIpEmbPreprocB(), encoding.NumSquares)
		input.Hidden, input.HiddenActivation = c.count(w.GetIpEmbFfn().GetDense1B()), hidden
	default:
		return nil, unknown(fmt.Sprintf("input embedding %d", f.GetInputEmbedding()))
	}
	blocks := []nn.Block{input}
	for i, e := range w.GetEncoder() {
		b, err := c.encoder(fmt.Sprintf("encoder %d", i), e, w.GetHeadcount())
		if err != nil {
			return nil, err
		}
		b.HiddenActivation = hidden
		if s := e.GetMha().GetSmolgen(); s != nil {
			b.Kind, b.Compressed, b.SmolgenHidden = nn.BlockSmolgen, c.ratio(s.GetCompress(), width), c.count(s.GetDense1B())
			b.SmolgenUnits = c.count(s.GetDense2B()) / b.Heads
			if b.SmolgenActivation, err = activationName("smolgen", f.GetSmolgenActivation(), activation); err != nil {
				return nil, err
			}
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// encoder returns the sizes of an encoder.
func (c counter) encoder(name string, e *netpb.EncoderLayer, heads uint32) (b nn.Block, err error) {
	m := e.GetMha()
	if m.GetRpeQ() != nil || m.GetRpeK() != nil || m.GetRpeV() != nil {
		return b, fmt.Errorf("%w: relative positions (rpe) of %s", ErrUnsupported, name)
	}
	b = nn.Block{Kind: nn.BlockEncoder, Hidden: c.count(e.GetFfn().GetDense1B()), Heads: max(1, int(min(heads, 1<<16)))}
	inner := c.count(m.GetQB())
	if b.HeadWidth = inner / b.Heads; inner%b.Heads != 0 {
		return b, fmt.Errorf("%w: %d queries of %s for %d heads", ErrCorrupt, inner, name, b.Heads)
	}
	return b, nil
}

// activations are those inside encoders, by their numbers in the file; 0 is the net's own.
var activations = map[int32]string{1: nn.Mish, 2: nn.ReLU, 6: nn.SELU, 7: nn.Swish, 8: nn.ReLU2}

// activationName returns the activation of a number.
func activationName(where string, number int32, standard string) (string, error) {
	name, ok := activations[number]
	switch {
	case number == 0:
		return standard, nil
	case ok:
		return name, nil
	}
	return "", fmt.Errorf("%w: activation %d of %s, this build knows %v", ErrUnsupported, number, where, activations)
}

// activationNumber is its inverse; name must be known.
func activationNumber(name string) int32 {
	for number, known := range activations {
		if known == name {
			return number
		}
	}
	panic("lc0: no activation " + name)
}

// scalarHead returns the value or moves-left head. Its first layer is a convolution
// behind a tower, and has a bias on its own behind an attention body.
func (c counter) scalarHead(output string, a nn.Arch, conv *netpb.ConvBlock, squares, hidden *netpb.Layer) nn.Head {
	h := nn.Head{Output: output, Kind: nn.HeadFlattened, Channels: c.ratio(conv.GetWeights(), a.Width()), Hidden: c.count(hidden)}
	if a.Attention() {
		h.Channels = c.count(squares)
	}
	return h
}

// policy returns the policy head over a body of so many channels.
func (c counter) policy(channels int, f *netpb.NetworkFormat, w *netpb.Weights) (nn.Head, error) {
	h := nn.Head{Output: nn.Policy}
	switch f.GetPolicy() {
	case policyClassical:
		if got := c.ratio(w.GetPolicy().GetWeights(), channels); got != nn.ClassicalChannels {
			return h, fmt.Errorf("%w: a classical policy head of %d channels, this build knows %d", ErrUnsupported, got, nn.ClassicalChannels)
		}
		h.Kind = nn.PolicyClassical
	case policyConv:
		if hasBatchNorm(w.GetPolicy()) {
			return h, fmt.Errorf("%w: batch norm behind the last convolution of the policy head", ErrUnsupported)
		}
		h.Kind = nn.PolicyConvolutional
	default:
		h.Kind, h.Channels, h.Hidden = nn.PolicyAttention, c.count(w.GetIpPolB()), c.count(w.GetIp2PolB())
		for i, e := range w.GetPolEncoder() {
			b, err := c.encoder(fmt.Sprintf("policy encoder %d", i), e, w.GetPolHeadcount())
			if err != nil {
				return h, err
			}
			sizes := nn.Head{Output: h.Output, Kind: nn.PolicyEncoded, Channels: h.Channels, Hidden: h.Hidden,
				Encoders: len(w.GetPolEncoder()), EncoderHidden: b.Hidden, Heads: b.Heads, HeadWidth: b.HeadWidth}
			if e.GetMha().GetSmolgen() != nil || i > 0 && sizes != h {
				return h, fmt.Errorf("%w: policy encoder %d has smolgen or is not like encoder 0", ErrUnsupported, i)
			}
			h = sizes
		}
	}
	return h, nil
}

// seRatioOf returns the ratio of squeeze-and-excitation, 0 without. All blocks
// must have it, or none; their layers say so, as in the engine, whatever the
// format says.
func seRatioOf(blocks []*netpb.Residual, filters int, c counter) (int, error) {
	units := c.count(blocks[0].GetSe().GetB1())
	for i, b := range blocks {
		if n := c.count(b.GetSe().GetB1()); (n == 0) != (units == 0) {
			return 0, fmt.Errorf("%w: block 0 has %d squeeze-and-excitation units, block %d has %d", ErrUnsupported, units, i, n)
		}
	}
	ratio, ok := seRatio(filters, units)
	if !ok {
		return 0, fmt.Errorf("%w: %d squeeze-and-excitation units for %d filters", ErrUnsupported, units, filters)
	}
	return ratio, nil
}

// checkFormat refuses what nn.Arch cannot express.
func checkFormat(f *netpb.NetworkFormat) error {
	for _, x := range []struct {
		what string
		got  int32
		want []int32
	}{
		{"input format", f.GetInput(), inputFormats()},
		{"network structure", f.GetNetwork(), []int32{networkClassical, networkSE, networkAttention, networkHeads}},
		{"policy head", f.GetPolicy(), []int32{policyClassical, policyConv, policyAttention}},
		{"value head", f.GetValue(), []int32{valueClassical, valueWDL}},
		{"output format", f.GetOutput(), []int32{outputClassical, outputWDL}},
		{"moves-left head", f.GetMovesLeft(), []int32{0, movesLeftV1}},
		{"activation", f.GetDefaultActivation(), []int32{0, activationMish}},
	} {
		if !slices.Contains(x.want, x.got) {
			return fmt.Errorf("%w: %s %d, this build knows %v", ErrUnsupported, x.what, x.got, x.want)
		}
	}
	if f.GetValue() != f.GetOutput() {
		return fmt.Errorf("%w: value head %d with output format %d", ErrCorrupt, f.GetValue(), f.GetOutput())
	}
	return nil
}

// inputFormats lists those of networks.
func inputFormats() (list []int32) {
	for _, f := range encoding.InputFormats() {
		list = append(list, int32(f))
	}
	return list
}

// seRatio returns the ratio that gives so many units, 4 where it does.
func seRatio(filters, units int) (ratio int, ok bool) {
	if units == 0 {
		return 0, true
	}
	for r := range filters + 1 {
		r = cmp.Or(r, 4) // first of all
		if nn.SEUnits(filters, r) == units {
			return r, true
		}
	}
	return 0, false
}

// counter counts the numbers of layers, by the file's encoding.
type counter struct{ encoding int32 }

func (c counter) count(l *netpb.Layer) int {
	return len(l.GetParams()) / encodingOf(l, c.encoding).width()
}

// ratio returns count/unit, 0 where that is not a whole number.
func (c counter) ratio(l *netpb.Layer, unit int) int {
	n := c.count(l)
	if n%unit != 0 {
		return 0
	}
	return n / unit
}
