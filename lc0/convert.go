package lc0

import (
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/lc0/netpb"
	"github.com/chessbrain/chessbrain/nn"
)

// Values of the network format.
const (
	inputClassical   = 1
	outputClassical  = 1
	outputWDL        = 2
	oldClassical     = 1 // without formats of heads, as the next
	oldSE            = 2
	networkClassical = 3 // with them, as the next
	networkSE        = 4
	policyClassical  = 1
	policyConv       = 2
	valueClassical   = 1
	valueWDL         = 2
	movesLeftV1      = 1
	activationMish   = 1
)

// foldedVariance makes batch norm with gamma 1 and mean 0 change nothing.
const foldedVariance = 1 - nn.BatchNormEpsilon

// converter fills the parameters of a net from a file's layers. Memory is taken
// only for numbers that are in the file.
type converter struct {
	net      *nn.Net
	index    map[string]int // of parameters by name
	encoding int32
	err      error // the first
}

// convert returns the net of a file of network format f.
func convert(file *netpb.Net, f *netpb.NetworkFormat) (*nn.Net, error) {
	arch, err := archOf(file, f)
	if err != nil {
		return nil, err
	}
	c := &converter{net: &nn.Net{Arch: arch}, index: map[string]int{}, encoding: file.GetFormat().GetWeightsEncoding()}
	for i, s := range nn.Specs(arch) {
		c.net.Params = append(c.net.Params, nn.Param{Name: s.Name, Shape: s.Shape})
		c.index[s.Name] = i
	}
	w := file.GetWeights()
	c.conv("input.conv", "input.bn", w.GetInput())
	for i, r := range w.GetResidual() {
		name := fmt.Sprintf("tower.%d", i)
		c.conv(name+".conv1", name+".bn1", r.GetConv1())
		c.conv(name+".conv2", name+".bn2", r.GetConv2())
		if arch.SERatio > 0 {
			c.dense(name+".se.fc1", r.GetSe().GetW1(), r.GetSe().GetB1())
			c.dense(name+".se.fc2", r.GetSe().GetW2(), r.GetSe().GetB2())
		}
	}
	if arch.PolicyHead == nn.PolicyClassical {
		c.conv("policy.conv1", "policy.bn", w.GetPolicy())
		c.dense("policy.fc", w.GetIpPolW(), w.GetIpPolB())
	} else {
		c.conv("policy.conv1", "policy.bn", w.GetPolicy1())
		c.dense("policy.conv2", w.GetPolicy().GetWeights(), w.GetPolicy().GetBiases())
	}
	c.conv("value.conv", "value.bn", w.GetValue())
	c.dense("value.fc1", w.GetIp1ValW(), w.GetIp1ValB())
	c.dense("value.fc2", w.GetIp2ValW(), w.GetIp2ValB())
	if arch.MovesLeft {
		c.conv("moves_left.conv", "moves_left.bn", w.GetMovesLeft())
		c.dense("moves_left.fc1", w.GetIp1MovW(), w.GetIp1MovB())
		c.dense("moves_left.fc2", w.GetIp2MovW(), w.GetIp2MovB())
	}
	if c.err != nil {
		return nil, c.err
	}
	scaleRule50(c.net)
	if err := c.net.CheckFinite(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return c.net, nil
}

// scaleRule50 turns the weights of plane 109 from plies to plies/99. The product
// rounds: a number that was divided by 99 may come back one last bit off.
func scaleRule50(n *nn.Net) {
	eachRule50(n.Get("input.conv.weight"), func(w float32) float32 { return w * encoding.Rule50Scale })
}

// eachRule50 changes the weights of plane 109 of an input convolution.
func eachRule50(w []float32, change func(float32) float32) {
	const plane, taps = 109, 9
	for at := plane * taps; at < len(w); at += encoding.NumPlanes * taps {
		for i := range taps {
			w[at+i] = change(w[at+i])
		}
	}
}

// isFolded says whether no convolution has batch norm.
func isFolded(w *netpb.Weights) bool {
	blocks := []*netpb.ConvBlock{w.GetInput(), w.GetPolicy1(), w.GetPolicy(), w.GetValue(), w.GetMovesLeft()}
	for _, r := range w.GetResidual() {
		blocks = append(blocks, r.GetConv1(), r.GetConv2())
	}
	return !slices.ContainsFunc(blocks, hasBatchNorm)
}

func hasBatchNorm(b *netpb.ConvBlock) bool { return len(b.GetBnMeans().GetParams()) > 0 }

// fill decodes a layer into a parameter.
func (c *converter) fill(name string, l *netpb.Layer) {
	if c.err != nil {
		return
	}
	p := &c.net.Params[c.index[name]]
	n := nn.ParamSpec{Shape: p.Shape}.Len()
	if p.Data, c.err = decodeLayer(l, n, c.encoding); c.err != nil {
		c.err = fmt.Errorf("%s: %w", name, c.err)
	}
}

// fillOr is fill, but a layer without numbers gives a constant.
func (c *converter) fillOr(name string, l *netpb.Layer, constant float32) {
	if len(l.GetParams()) > 0 {
		c.fill(name, l)
		return
	}
	p := &c.net.Params[c.index[name]]
	p.Data = make([]float32, nn.ParamSpec{Shape: p.Shape}.Len())
	for i := range p.Data {
		p.Data[i] = constant
	}
}

func (c *converter) dense(name string, weight, bias *netpb.Layer) {
	c.fill(name+".weight", weight)
	c.fill(name+".bias", bias)
}

// conv fills a convolution and its batch norm. Without statistics the file is
// folded: the bias becomes beta. With both, the bias moves the mean. gamma and
// beta that are absent are 1 and 0.
func (c *converter) conv(conv, bn string, b *netpb.ConvBlock) {
	c.fill(conv+".weight", b.GetWeights())
	if !hasBatchNorm(b) {
		c.fillOr(bn+".gamma", nil, 1)
		c.fillOr(bn+".beta", b.GetBiases(), 0)
		c.fillOr(bn+".mean", nil, 0)
		c.fillOr(bn+".var", nil, foldedVariance)
		return
	}
	c.fillOr(bn+".gamma", b.GetBnGammas(), 1)
	c.fillOr(bn+".beta", b.GetBnBetas(), 0)
	c.fillOr(bn+".mean", b.GetBiases(), 0)
	bias := c.net.Get(bn + ".mean")
	c.fill(bn+".mean", b.GetBnMeans())
	c.fill(bn+".var", b.GetBnStddivs())
	if c.err != nil {
		return
	}
	for i := range bias {
		c.net.Get(bn + ".mean")[i] -= bias[i]
	}
}
