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
// heads were named have classical heads.
func networkFormat(file *netpb.Net) *netpb.NetworkFormat {
	f := file.GetFormat().GetNetworkFormat()
	structure, ok := map[int32]int32{oldClassical: networkClassical, oldSE: networkSE}[f.GetNetwork()]
	switch {
	case f == nil:
		return &netpb.NetworkFormat{Input: proto.Int32(inputClassical), Output: proto.Int32(outputClassical),
			Network: proto.Int32(networkClassical), Policy: proto.Int32(policyClassical), Value: proto.Int32(valueClassical)}
	case ok:
		f = proto.CloneOf(f)
		f.Network, f.Policy, f.Value = proto.Int32(structure), proto.Int32(policyClassical), proto.Int32(valueClassical)
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
	blocks := len(w.GetResidual())
	filters := c.ratio(w.GetInput().GetWeights(), encoding.NumPlanes*9)
	if filters < 1 || blocks < 1 {
		return a, fmt.Errorf("%w: an input convolution of %d numbers and %d residual blocks", ErrCorrupt, c.count(w.GetInput().GetWeights()), blocks)
	}
	se, err := seRatioOf(w.GetResidual(), filters, c)
	if err != nil {
		return a, err
	}
	policy, err := policyOf(filters, f, w, c)
	if err != nil {
		return a, err
	}
	value := nn.Head{Output: nn.Value, Kind: nn.HeadFlattened, Form: nn.ValueWDL, Channels: c.ratio(w.GetValue().GetWeights(), filters), Hidden: c.count(w.GetIp1ValB())}
	if f.GetValue() == valueClassical {
		value.Form = nn.ValueScalar
	}
	a = nn.Arch{Activation: nn.ReLU, Blocks: nn.TowerBlocks(filters, blocks, se), Heads: []nn.Head{{Output: nn.Policy, Kind: policy}, value}}
	if f.GetDefaultActivation() == activationMish {
		a.Activation = nn.Mish
	}
	if f.GetMovesLeft() == movesLeftV1 {
		a.Heads = append(a.Heads, nn.Head{Output: nn.MovesLeft, Kind: nn.HeadFlattened, Channels: c.ratio(w.GetMovesLeft().GetWeights(), filters), Hidden: c.count(w.GetIp1MovB())})
	}
	if err := a.Validate(); err != nil {
		return a, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return a, nil
}

// policyOf returns the kind of the policy head.
func policyOf(filters int, f *netpb.NetworkFormat, w *netpb.Weights, c counter) (string, error) {
	if f.GetPolicy() == policyClassical {
		if channels := c.ratio(w.GetPolicy().GetWeights(), filters); channels != nn.ClassicalChannels {
			return "", fmt.Errorf("%w: a classical policy head of %d channels, this build knows %d", ErrUnsupported, channels, nn.ClassicalChannels)
		}
		return nn.PolicyClassical, nil
	}
	if hasBatchNorm(w.GetPolicy()) {
		return "", fmt.Errorf("%w: batch norm behind the last convolution of the policy head", ErrUnsupported)
	}
	return nn.PolicyConvolutional, nil
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

// checkFormat refuses what the tower of nn.Arch cannot express.
func checkFormat(f *netpb.NetworkFormat) error {
	for _, x := range []struct {
		what string
		got  int32
		want []int32
	}{
		{"input format", f.GetInput(), []int32{inputClassical}},
		{"network structure", f.GetNetwork(), []int32{networkClassical, networkSE}},
		{"policy head", f.GetPolicy(), []int32{policyClassical, policyConv}},
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
