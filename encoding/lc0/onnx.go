package lc0

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
)

// Names of an ONNX file's input and outputs, those of lc0's converter.
const (
	OnnxInput     = "/input/planes"  // [batch,112,8,8]: planes first, rank 1 first; plane 109 in plies
	OnnxPolicy    = "/output/policy" // [batch,1858] logits by policy index
	OnnxWDL       = "/output/wdl"    // [batch,3] probabilities of win, draw, loss
	OnnxValue     = "/output/value"  // [batch,1] in [-1,1], of a scalar value head
	OnnxMovesLeft = "/output/mlh"    // [batch,1] plies, >= 0
)

// Versions of the format, those of lc0's converter.
const (
	onnxIR    = 8
	onnxOpset = 17
	// maxOnnxBytes is what protobuf readers take; tensors in further files are not
	// written.
	maxOnnxBytes = 1<<31 - 1
)

// WriteONNX writes a valid net of finite numbers as an ONNX model: float32,
// operators of opset 17, batch norm folded, any batch size, everything from the
// side to move's view. Plane 109 of the input is in plies, as the engine feeds
// it. meta (may be nil) becomes metadata besides the architecture ("arch") and
// the id ("net_id"). The same input gives the same bytes. Errors wrap nn.ErrArch,
// nn.ErrParams, nn.ErrNotFinite, ErrUnsupported (a net above 2 GiB), or are w's.
func WriteONNX(w io.Writer, net *nn.Net, meta map[string]string) error {
	if err := errors.Join(net.Validate(), net.CheckFinite(), net.Arch.Only("an ONNX file", kinds...)); err != nil {
		return fmt.Errorf("write ONNX: %w", err)
	}
	if err := checkOnnxSize(4 * int64(net.Arch.NumParams())); err != nil { // before memory is taken for it
		return fmt.Errorf("write ONNX: %w", err)
	}
	model, err := onnxModel(net, meta)
	if err == nil {
		err = checkOnnxSize(int64(len(model)))
	}
	if err != nil {
		return fmt.Errorf("write ONNX: %w", err)
	}
	if _, err := w.Write(model); err != nil {
		return fmt.Errorf("write ONNX: %w", err)
	}
	return nil
}

func checkOnnxSize(size int64) error {
	if size > maxOnnxBytes {
		return fmt.Errorf("%w: %d bytes, an ONNX file holds less than 2 GiB", ErrUnsupported, size)
	}
	return nil
}

// onnxModel returns the ModelProto.
func onnxModel(net *nn.Net, meta map[string]string) (message, error) {
	id := net.ID() // of the whole net, by which its run knows it
	net = net.Playing()
	arch, err := json.Marshal(net.Arch)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	maps.Copy(all, meta)
	all[nn.MetaArch], all[nn.MetaNetID] = string(arch), id

	b := &onnxBuilder{onnxGraph: onnxGraph{seen: map[string]bool{}}, arch: net.Arch, params: net}
	b.net(nn.Fold(net))
	var m, opset message
	m.varint(1, onnxIR)
	m.text(2, "chessbrain")
	m.bytes(7, b.marshal("chessbrain/"+net.Arch.String()))
	opset.text(1, "") // the standard operators
	opset.varint(2, onnxOpset)
	m.bytes(8, opset)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		var entry message
		entry.text(1, key)
		entry.text(2, all[key])
		m.bytes(14, entry)
	}
	return m, nil
}

// onnxBuilder adds the layers of a net. Its methods take the name of a tensor and
// return that of their result.
type onnxBuilder struct {
	onnxGraph
	arch   nn.Arch
	params *nn.Net // of which an attention net's body is made
}

func (b *onnxBuilder) net(f *nn.Folded) {
	b.inputs = append(b.inputs, valueInfo(OnnxInput, encoding.NumPlanes, 8, 8))
	var x, squares string // the body's output, and an attention body's by squares
	for i, k := range f.Arch.Blocks {
		switch l := &f.Blocks[i]; k.Kind {
		case nn.BlockInput:
			leelas(f.Arch, "input.conv.weight", l.Convs[0].Weight, false) // Fold made this copy
			x = b.act("/inputconv", b.conv("/inputconv", OnnxInput, &l.Convs[0]))
		case nn.BlockResidual:
			x = b.block(fmt.Sprintf("/block%d", i-1), x, l)
		case nn.BlockEmbedding, nn.BlockDenseEmbedding:
			squares = b.embedding(k)
		case nn.BlockEncoder, nn.BlockSmolgen:
			squares = b.encoder(fmt.Sprintf("/encoder%d", i-1), squares, nn.BlockName(i), k, b.arch.BodyResidual())
		}
	}
	if squares != "" {
		x = b.planes("/attn_body/output", squares, f.Arch.Width())
	}
	for i, h := range f.Arch.Heads {
		switch l := &f.Heads[i]; h.Output {
		case nn.Policy:
			b.outputs = append(b.outputs, valueInfo(OnnxPolicy, encoding.NumPolicy))
			if !h.Attends() {
				b.policy(x, h.Kind, l)
				continue
			}
			if squares == "" {
				squares = b.squares("/policy/squares", x, f.Arch.Width())
			}
			b.attentionPolicy(squares, h)
		case nn.Value:
			b.value(x, h.Form, l)
		case nn.MovesLeft:
			b.outputs = append(b.outputs, valueInfo(OnnxMovesLeft, 1))
			b.node("Relu", OnnxMovesLeft, []string{b.scalarHead("/mlh", x, l)})
		}
	}
}

// conv is a convolution with bias: [batch,Ci,8,8] to [batch,Co,8,8].
func (b *onnxBuilder) conv(name, x string, c *nn.Conv) string {
	pad, k := int64(c.K/2), int64(c.K)
	w := b.tensor(name+"/w/kernel", onnxFloat, c.Weight, c.Co, c.Ci, c.K, c.K)
	bias := b.tensor(name+"/w/bias", onnxFloat, c.Bias, c.Co)
	return b.node("Conv", name, []string{x, w, bias}, intsAttribute("pads", pad, pad, pad, pad), intsAttribute("kernel_shape", k, k))
}

// dense is a fully connected layer over the last axis: [batch,In] to [batch,Out]; output
// names its last node, that which adds a bias.
func (b *onnxBuilder) dense(name, output, x string, d *nn.Dense) string {
	y := b.node("MatMul", name+"/matmul", []string{x, b.matrix(name+"/matmul/w", d)})
	if d.Bias == nil {
		return y
	}
	return b.node("Add", output, []string{y, b.tensor(output+"/w", onnxFloat, d.Bias, d.Out)})
}

// matrix returns a layer's weights as MatMul wants them, [In,Out].
func (b *onnxBuilder) matrix(name string, d *nn.Dense) string {
	transposed := slices.Clone(d.Weight)
	transposeRows(transposed, d.Out, d.In)
	return b.tensor(name, onnxFloat, transposed, d.In, d.Out)
}

// act is the net's activation.
func (b *onnxBuilder) act(name, x string) string { return b.activation(name, x, b.arch.Activation) }

// activation is one of a name. Mish is x*tanh(softplus(x)): its own operator came with
// opset 18. The attributes of Selu have the right values where they are absent.
func (b *onnxBuilder) activation(name, x, kind string) string {
	switch kind {
	case nn.Mish:
		y := b.node("Softplus", name+"/mish/softplus", []string{x})
		y = b.node("Tanh", name+"/mish/tanh", []string{y})
		return b.node("Mul", name+"/mish", []string{y, x})
	case nn.Swish:
		y := b.node("Sigmoid", name+"/swish/sigmoid", []string{x})
		return b.node("Mul", name+"/swish", []string{y, x})
	case nn.SELU:
		return b.node("Selu", name+"/selu", []string{x})
	}
	y := b.node("Relu", name+"/relu", []string{x})
	if kind == nn.ReLU2 {
		return b.node("Mul", name+"/sqrrelu", []string{y, y})
	}
	return y
}

// flatten makes rows of [batch,channels,8,8]: channel*64 + square.
func (b *onnxBuilder) flatten(name, x string, channels int) string {
	return b.reshape(name, x, channels*encoding.NumSquares)
}

// block is a residual block: act(SE(conv2(act(conv1 x))) + x).
func (b *onnxBuilder) block(name, x string, l *nn.Layers) string {
	y := b.act(name+"/conv1", b.conv(name+"/conv1", x, &l.Convs[0]))
	y = b.conv(name+"/conv2", y, &l.Convs[1])
	if l.Dense != nil {
		y = b.squeezeExcite(name+"/conv2/se", y, l.Dense)
	}
	return b.act(name+"/conv2", b.node("Add", name+"/conv2/mixin", []string{y, x}))
}

// squeezeExcite is sigmoid(gamma)*y + beta, (gamma, beta) = fc2(act(fc1(mean of y))).
func (b *onnxBuilder) squeezeExcite(name, y string, fc []nn.Dense) string {
	pool := b.node("ReduceMean", name+"/reduce_mean", []string{y}, intsAttribute("axes", 2, 3), intAttribute("keepdims", 0))
	h := b.act(name+"/fc1", b.dense(name+"/fc1", name+"/fc1/add", pool, &fc[0]))
	h = b.dense(name+"/fc2", name+"/fc2/add", h, &fc[1])
	filters := int64(b.arch.Width())
	h = b.node("Reshape", name+"/reshape", []string{h, b.tensor("/const/se_reshape", onnxInt64, []int64{-1, 2 * filters, 1, 1}, 4)})
	gamma, beta := name+"/split/gamma", name+"/split/beta"
	b.nodeOf("Split", name+"/split", []string{h, b.tensor("/const/se_split", onnxInt64, []int64{filters, filters}, 2)}, []string{gamma, beta}, intAttribute("axis", 1))
	gate := b.node("Sigmoid", name+"/sigmoid", []string{gamma})
	y = b.node("Mul", name+"/mul", []string{gate, y})
	return b.node("Add", name+"/add", []string{y, beta})
}

func (b *onnxBuilder) policy(x, kind string, l *nn.Layers) {
	if kind == nn.PolicyClassical {
		y := b.act("/policy/conv", b.conv("/policy/conv", x, &l.Convs[0]))
		b.dense("/policy/dense", OnnxPolicy, b.flatten("/policy/flatten", y, nn.ClassicalChannels), &l.Dense[0])
		return
	}
	y := b.act("/policy/conv1", b.conv("/policy/conv1", x, &l.Convs[0]))
	y = b.flatten("/policy/flatten", b.conv("/policy/conv2", y, &l.Convs[1]), nn.PolicyPlanes)
	var table []int32
	for _, at := range encoding.ConvPolicyIndex() {
		table = append(table, int32(at))
	}
	b.gather(OnnxPolicy, y, "/const/mapping_table", table)
}

// scalarHead returns the outputs of the value or the moves-left head.
func (b *onnxBuilder) scalarHead(name, x string, l *nn.Layers) string {
	y := b.act(name+"/conv", b.conv(name+"/conv", x, &l.Convs[0]))
	y = b.flatten(name+"/flatten", y, l.Convs[0].Co)
	y = b.act(name+"/dense1", b.dense(name+"/dense1", name+"/dense1/add", y, &l.Dense[0]))
	return b.dense(name+"/dense2", name+"/dense2/add", y, &l.Dense[1])
}

func (b *onnxBuilder) value(x, form string, l *nn.Layers) {
	y := b.scalarHead("/value", x, l)
	if form == nn.ValueScalar {
		b.outputs = append(b.outputs, valueInfo(OnnxValue, 1))
		b.node("Tanh", OnnxValue, []string{y})
		return
	}
	b.outputs = append(b.outputs, valueInfo(OnnxWDL, 3))
	b.node("Softmax", OnnxWDL, []string{y}, intAttribute("axis", -1))
}
