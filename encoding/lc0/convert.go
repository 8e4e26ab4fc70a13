package lc0

import (
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0/netpb"
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
	folded   bool  // no convolution so far has batch norm
	err      error // the first
}

// kinds are the blocks and heads that Leela's network files and our ONNX files hold,
// pooled heads as flattened ones.
var kinds = []string{nn.BlockInput, nn.BlockResidual, nn.PolicyConvolutional, nn.PolicyClassical, nn.HeadFlattened, nn.HeadPooled}

// eachLayer calls conv or dense with each layer of a net of these kinds, in its order, and
// the place in a file's weights.
func eachLayer(a nn.Arch, w *netpb.Weights, conv func(conv, bn string, at **netpb.ConvBlock), dense func(name string, weight, bias **netpb.Layer)) {
	for i, b := range a.Blocks {
		switch b.Kind {
		case nn.BlockInput:
			conv("input.conv", "input.bn", &w.Input)
		case nn.BlockResidual:
			name, r := fmt.Sprintf("tower.%d", i-1), w.Residual[i-1]
			conv(name+".conv1", name+".bn1", &r.Conv1)
			conv(name+".conv2", name+".bn2", &r.Conv2)
			if b.SERatio > 0 {
				dense(name+".se.fc1", &r.Se.W1, &r.Se.B1)
				dense(name+".se.fc2", &r.Se.W2, &r.Se.B2)
			}
		}
	}
	for _, h := range a.Heads {
		switch {
		case h.Kind == nn.PolicyClassical:
			conv("policy.conv1", "policy.bn", &w.Policy)
			dense("policy.fc", &w.IpPolW, &w.IpPolB)
		case h.Kind == nn.PolicyConvolutional:
			if w.Policy == nil {
				w.Policy = &netpb.ConvBlock{}
			}
			conv("policy.conv1", "policy.bn", &w.Policy1)
			dense("policy.conv2", &w.Policy.Weights, &w.Policy.Biases)
		case h.Output == nn.Value:
			conv("value.conv", "value.bn", &w.Value)
			dense("value.fc1", &w.Ip1ValW, &w.Ip1ValB)
			dense("value.fc2", &w.Ip2ValW, &w.Ip2ValB)
		case h.Output == nn.MovesLeft:
			conv("moves_left.conv", "moves_left.bn", &w.MovesLeft)
			dense("moves_left.fc1", &w.Ip1MovW, &w.Ip1MovB)
			dense("moves_left.fc2", &w.Ip2MovW, &w.Ip2MovB)
		}
	}
}

// convert returns the net of a file of network format f, and whether no
// convolution has batch norm.
func convert(file *netpb.Net, f *netpb.NetworkFormat) (net *nn.Net, folded bool, err error) {
	arch, err := archOf(file, f)
	if err != nil {
		return nil, false, err
	}
	c := &converter{net: &nn.Net{Arch: arch}, index: map[string]int{}, encoding: file.GetFormat().GetWeightsEncoding(), folded: true}
	for i, s := range nn.Specs(arch) {
		c.net.Params = append(c.net.Params, nn.Param{Name: s.Name, Shape: s.Shape})
		c.index[s.Name] = i
	}
	eachLayer(arch, file.GetWeights(), func(conv, bn string, at **netpb.ConvBlock) { c.conv(conv, bn, *at) },
		func(name string, weight, bias **netpb.Layer) { c.dense(name, *weight, *bias) })
	if c.err != nil {
		return nil, false, c.err
	}
	// The weights of plane 109 turn from plies to plies/99. The product rounds: a
	// number that was divided by 99 may come back one last bit off.
	eachRule50(c.net.Get("input.conv.weight"), func(w float32) float32 { return w * encoding.Rule50Scale })
	if err := c.net.CheckFinite(); err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return c.net, c.folded, nil
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
	p.Data = slices.Repeat([]float32{constant}, nn.ParamSpec{Shape: p.Shape}.Len())
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
	c.folded = false
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
