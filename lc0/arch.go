package lc0

import (
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/lc0/netpb"
	"github.com/chessbrain/chessbrain/nn"
)

// archOf returns the architecture of a file: the format says which heads there
// are, the lengths of layers say the sizes.
func archOf(file *netpb.Net) (nn.Arch, error) {
	a := nn.DefaultArch()
	f := file.GetFormat().GetNetworkFormat()
	if err := checkFormat(f); err != nil {
		return a, err
	}
	c := counter{file.GetFormat().GetWeightsEncoding()}
	w := file.GetWeights()
	a.Blocks = len(w.GetResidual())
	a.Filters = c.ratio(w.GetInput().GetWeights(), encoding.NumPlanes*9)
	if a.Filters < 1 || a.Blocks < 1 {
		return a, fmt.Errorf("%w: an input convolution of %d numbers and %d residual blocks", ErrCorrupt, c.count(w.GetInput().GetWeights()), a.Blocks)
	}
	units := c.count(w.GetResidual()[0].GetSe().GetB1())
	if f.GetNetwork() == networkClassical {
		units = 0
	}
	ratio, ok := seRatio(a.Filters, units)
	if !ok {
		return a, fmt.Errorf("%w: %d squeeze-and-excitation units for %d filters", ErrUnsupported, units, a.Filters)
	}
	a.SERatio = ratio
	if f.GetDefaultActivation() == activationMish {
		a.Activation = nn.Mish
	}
	if f.GetValue() == valueClassical {
		a.ValueHead = nn.ValueScalar
	}
	a.ValueChannels = c.ratio(w.GetValue().GetWeights(), a.Filters)
	a.ValueHidden = c.count(w.GetIp1ValB())
	a.MovesLeft = f.GetMovesLeft() == 1
	a.MLChannels, a.MLHidden = 0, 0
	if a.MovesLeft {
		a.MLChannels = c.ratio(w.GetMovesLeft().GetWeights(), a.Filters)
		a.MLHidden = c.count(w.GetIp1MovB())
	}
	if err := a.Validate(); err != nil {
		return a, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return a, nil
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
		{"policy head", f.GetPolicy(), []int32{policyConv}},
		{"value head", f.GetValue(), []int32{valueClassical, valueWDL}},
		{"output format", f.GetOutput(), []int32{outputClassical, outputWDL}},
		{"moves-left head", f.GetMovesLeft(), []int32{0, 1}},
		{"activation", f.GetDefaultActivation(), []int32{0, activationMish}},
	} {
		known := false
		for _, w := range x.want {
			known = known || x.got == w
		}
		if !known {
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
	for _, r := range append([]int{4}, ratios(filters)...) {
		if (nn.Arch{Filters: filters, SERatio: r}).SEUnits() == units {
			return r, true
		}
	}
	return 0, false
}

func ratios(filters int) []int {
	var r []int
	for i := 1; i <= filters; i++ {
		r = append(r, i)
	}
	return r
}

// counter counts the numbers of layers, by the file's encoding.
type counter struct{ encoding int32 }

func (c counter) count(l *netpb.Layer) int {
	e := l.GetEncoding()
	if e == 0 {
		e = c.encoding
	}
	if e == encodingFloat32 {
		return len(l.GetParams()) / 4
	}
	return len(l.GetParams()) / 2
}

// ratio returns count/unit, 0 where that is not a whole number.
func (c counter) ratio(l *netpb.Layer, unit int) int {
	n := c.count(l)
	if n%unit != 0 {
		return 0
	}
	return n / unit
}
