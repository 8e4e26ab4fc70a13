package lc0

import (
	"fmt"
	"slices"
	"strings"

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
	networkAttention = 6
	networkHeads     = 7 // attention, with several policy and value heads
	oldHeads         = 134
	policyClassical  = 1
	policyConv       = 2
	policyAttention  = 3
	embeddingMap     = 1
	embeddingDense   = 2
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
var kinds = []string{nn.BlockInput, nn.BlockResidual, nn.BlockEmbedding, nn.BlockDenseEmbedding, nn.BlockEncoder, nn.BlockSmolgen,
	nn.PolicyConvolutional, nn.PolicyClassical, nn.PolicyAttention, nn.PolicyEncoded, nn.HeadFlattened, nn.HeadPooled, nn.AnyInput}

// A layerVisitor is shown the layers of a net in the nets' order, with their places in a
// file's weights.
type layerVisitor interface {
	conv(conv, bn string, at **netpb.ConvBlock)
	// squares is a 1x1 convolution that the file holds as a layer on each square.
	squares(conv, bn string, weight, bias **netpb.Layer)
	param(name string, at **netpb.Layer)
}

// eachLayer shows v the layers of a net of these kinds.
func eachLayer(a nn.Arch, w *netpb.Weights, further furtherHeads, v layerVisitor) {
	l := layerPlaces{v}
	for i, b := range a.Blocks {
		name := fmt.Sprintf("tower.%d", i-1)
		switch b.Kind {
		case nn.BlockInput:
			v.conv("input.conv", "input.bn", &w.Input)
		case nn.BlockResidual:
			r := element(&w.Residual, i-1)
			v.conv(name+".conv1", name+".bn1", &r.Conv1)
			v.conv(name+".conv2", name+".bn2", &r.Conv2)
			if b.SERatio > 0 {
				se := made(&r.Se)
				l.dense(name+".se.fc1", &se.W1, &se.B1)
				l.dense(name+".se.fc2", &se.W2, &se.B2)
			}
		case nn.BlockEmbedding, nn.BlockDenseEmbedding:
			l.embedding(w, b)
		case nn.BlockEncoder, nn.BlockSmolgen:
			l.encoder(name, element(&w.Encoder, i-1), b)
			if i == 1 && b.Kind == nn.BlockSmolgen {
				v.param("smolgen.weight", &w.SmolgenW)
			}
		}
	}
	for _, h := range a.Heads {
		l.head(a, h, further.of(w, h))
		if h.Forecasts() && a.Attention() { // only messages of their own have places for them
			v := made(valuePlaces(made(&w.ValueHeads))[h.Name])
			if h.Errors > 0 {
				l.dense(h.Prefix()+".error", &v.IpValErrW, &v.IpValErrB)
			}
			if h.Categories > 0 {
				l.dense(h.Prefix()+".categories", &v.IpValCatW, &v.IpValCatB)
			}
		}
	}
}

// made returns the message at p, made where there is none.
func made[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// element returns message i of a list, made where there is none.
func element[T any](list *[]*T, i int) *T {
	for len(*list) <= i {
		*list = append(*list, new(T))
	}
	return (*list)[i]
}

// layerPlaces shows a visitor layers of several parameters.
type layerPlaces struct{ layerVisitor }

func (l layerPlaces) dense(name string, weight, bias **netpb.Layer) {
	l.param(name+".weight", weight)
	l.param(name+".bias", bias)
}

func (l layerPlaces) norm(name string, gammas, betas **netpb.Layer) {
	l.param(name+".gamma", gammas)
	l.param(name+".beta", betas)
}

func (l layerPlaces) feedForward(name string, ffn *netpb.FFN) {
	l.dense(name+".ffn1", &ffn.Dense1W, &ffn.Dense1B)
	l.dense(name+".ffn2", &ffn.Dense2W, &ffn.Dense2B)
}

func (l layerPlaces) embedding(w *netpb.Weights, b nn.Block) {
	dense := b.Kind == nn.BlockDenseEmbedding
	if dense {
		l.dense("input.men", &w.IpEmbPreprocW, &w.IpEmbPreprocB)
	}
	l.dense("input.fc", &w.IpEmbW, &w.IpEmbB)
	if dense {
		l.norm("input.ln1", &w.IpEmbLnGammas, &w.IpEmbLnBetas)
	}
	if b.Gated > 0 {
		l.norm("input.gate", &w.IpMultGate, &w.IpAddGate)
	}
	if dense {
		l.feedForward("input", made(&w.IpEmbFfn))
		l.norm("input.ln2", &w.IpEmbFfnLnGammas, &w.IpEmbFfnLnBetas)
	}
}

func (l layerPlaces) encoder(name string, e *netpb.EncoderLayer, b nn.Block) {
	m := made(&e.Mha)
	l.dense(name+".q", &m.QW, &m.QB)
	l.dense(name+".k", &m.KW, &m.KB)
	l.dense(name+".v", &m.VW, &m.VB)
	if b.Kind == nn.BlockSmolgen {
		s, name := made(&m.Smolgen), name+".smolgen"
		l.param(name+".compress.weight", &s.Compress)
		l.dense(name+".fc1", &s.Dense1W, &s.Dense1B)
		l.norm(name+".ln1", &s.Ln1Gammas, &s.Ln1Betas)
		l.dense(name+".fc2", &s.Dense2W, &s.Dense2B)
		l.norm(name+".ln2", &s.Ln2Gammas, &s.Ln2Betas)
	}
	l.dense(name+".out", &m.DenseW, &m.DenseB)
	l.norm(name+".ln1", &e.Ln1Gammas, &e.Ln1Betas)
	l.feedForward(name, made(&e.Ffn))
	l.norm(name+".ln2", &e.Ln2Gammas, &e.Ln2Betas)
}

func (l layerPlaces) head(a nn.Arch, h nn.Head, w *netpb.Weights) {
	name := h.Prefix()
	// The first layer of a scalar head is a convolution behind a tower.
	first := func(at **netpb.ConvBlock, weight, bias **netpb.Layer) {
		if a.Attention() {
			l.squares(name+".conv", name+".bn", weight, bias)
		} else {
			l.conv(name+".conv", name+".bn", at)
		}
	}
	switch {
	case h.Kind == nn.PolicyClassical:
		l.conv("policy.conv1", "policy.bn", &w.Policy)
		l.dense("policy.fc", &w.IpPolW, &w.IpPolB)
	case h.Kind == nn.PolicyConvolutional:
		last := made(&w.Policy)
		l.conv("policy.conv1", "policy.bn", &w.Policy1)
		l.dense("policy.conv2", &last.Weights, &last.Biases)
	case h.Attends():
		l.dense(name+".embedding", &w.IpPolW, &w.IpPolB)
		for i := range h.Encoders {
			l.encoder(h.EncoderName(i), element(&w.PolEncoder, i), a.PolicyEncoder(h))
		}
		l.dense(name+".q", &w.Ip2PolW, &w.Ip2PolB)
		l.dense(name+".k", &w.Ip3PolW, &w.Ip3PolB)
		l.param(name+".promotion.weight", &w.Ip4PolW)
	case h.Output == nn.Value:
		first(&w.Value, &w.IpValW, &w.IpValB)
		l.dense(name+".fc1", &w.Ip1ValW, &w.Ip1ValB)
		l.dense(name+".fc2", &w.Ip2ValW, &w.Ip2ValB)
	case h.Output == nn.MovesLeft:
		first(&w.MovesLeft, &w.IpMovW, &w.IpMovB)
		l.dense("moves_left.fc1", &w.Ip1MovW, &w.Ip1MovB)
		l.dense("moves_left.fc2", &w.Ip2MovW, &w.Ip2MovB)
	}
}

// leelas turns a parameter from the order and the units of nets into those of files, or
// back, in data: plane 109 is plies there or rule50/100, and behind the layers of an attention body
// inputs are numbered square*channels + channel.
func leelas(a nn.Arch, name string, data []float32, back bool) {
	for _, h := range a.Heads {
		if a.Attention() && h.Output != nn.Policy && name == h.Prefix()+".fc1.weight" {
			rows, columns := h.Channels, encoding.NumSquares
			if back {
				rows, columns = columns, rows
			}
			transposeRows(data, rows, columns)
		}
	}
	switch name {
	case "input.conv.weight", "input.fc.weight":
		const plane = 109
		unit := float32(encoding.Rule50Scale)
		if a.InputFormat().Hectoplies() {
			unit /= 100
		}
		taps, inputs := 9, encoding.NumPlanes
		if a.Attention() {
			taps, inputs = 1, len(data)/a.Width()
		}
		for at := plane * taps; at < len(data); at += inputs * taps {
			for i := range data[at:][:taps] {
				if back {
					data[at+i] *= unit
				} else {
					data[at+i] /= unit
				}
			}
		}
	}
}

// transposeRows turns each row, [a][b], into [b][a].
func transposeRows(data []float32, a, b int) {
	old := make([]float32, a*b)
	for row := range slices.Chunk(data, a*b) {
		copy(old, row)
		for i := range a {
			for j := range b {
				row[j*a+i] = old[i*b+j]
			}
		}
	}
}

// convert returns the net of a file of network format f, and what was seen of it on the
// way: whether no convolution has batch norm, and other heads. file is changed.
func convert(file *netpb.Net, f *netpb.NetworkFormat) (*nn.Net, *NetInfo, error) {
	further, err := spread(made(&file.Weights))
	if err != nil {
		return nil, nil, err
	}
	arch, err := archOf(file, f)
	if err != nil {
		return nil, nil, err
	}
	arch, others := counter{file.GetFormat().GetWeightsEncoding()}.addFurther(arch, file.Weights, further, f)
	c := &converter{net: &nn.Net{Arch: arch}, index: map[string]int{}, encoding: file.GetFormat().GetWeightsEncoding(), folded: true}
	for i, s := range nn.Specs(arch) {
		c.net.Params = append(c.net.Params, nn.Param{Name: s.Name, Shape: s.Shape})
		c.index[s.Name] = i
	}
	eachLayer(arch, file.GetWeights(), further, c)
	if c.err != nil {
		return nil, nil, c.err
	}
	if err := c.net.CheckFinite(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return c.net, &NetInfo{Folded: c.folded, OtherHeads: strings.Join(others, ", ")}, nil
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
		return
	}
	// The product of plane 109 rounds: a number that was divided by 99 may come back one
	// last bit off.
	leelas(c.net.Arch, name, p.Data, true)
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

func (c *converter) param(name string, at **netpb.Layer) { c.fill(name, *at) }

// squares fills a convolution and a batch norm that changes nothing but adds the bias.
func (c *converter) squares(conv, bn string, weight, bias **netpb.Layer) {
	c.conv(conv, bn, new(&netpb.ConvBlock{Weights: *weight, Biases: *bias}))
}

// conv fills a convolution and its batch norm. Without statistics the file is
// folded: the bias becomes beta. With both, the bias moves the mean. gamma and
// beta that are absent are 1 and 0.
func (c *converter) conv(conv, bn string, at **netpb.ConvBlock) {
	b := *at
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
