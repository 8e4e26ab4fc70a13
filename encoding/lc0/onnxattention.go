package lc0

import (
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
)

// The body of an attention net goes through a model as [batch,64,channels], so that a
// layer on each square is one product of matrices. Constant factors stand in weights, not
// in nodes: the roots that divide products of queries and keys, and the scale of what is
// added to a layer's input.

// reshape keeps the batch and gives the rest these dimensions.
func (b *onnxBuilder) reshape(name, x string, dims ...int) string {
	shape := []int64{-1}
	for _, d := range dims {
		shape = append(shape, int64(d))
	}
	return b.node("Reshape", name, []string{x, b.tensor(name+"/shape", onnxInt64, shape, len(shape))})
}

func (b *onnxBuilder) transpose(name, x string, perm ...int64) string {
	return b.node("Transpose", name, []string{x}, intsAttribute("perm", perm...))
}

// squares makes [batch,64,channels] of [batch,channels,8,8].
func (b *onnxBuilder) squares(name, x string, channels int) string {
	return b.transpose(name, b.reshape(name+"/reshape", x, channels, encoding.NumSquares), 0, 2, 1)
}

// planes is the inverse of squares.
func (b *onnxBuilder) planes(name, x string, channels int) string {
	return b.reshape(name, b.transpose(name+"/transpose", x, 0, 2, 1), channels, 8, 8)
}

// gather takes, along axis 1, the places of a table.
func (b *onnxBuilder) gather(output, x, name string, table []int32) string {
	return b.node("Gather", output, []string{x, b.tensor(name, onnxInt32, table, len(table))}, intAttribute("axis", 1))
}

// layer is a fully connected layer of the net over the last axis, its outputs times
// factor.
func (b *onnxBuilder) layer(name, x, param string, factor float64) string {
	d := b.params.Dense(param)
	if factor != 1 {
		d.Weight, d.Bias = scaled(d.Weight, factor), scaled(d.Bias, factor)
	}
	return b.dense(name, name+"/add", x, &d)
}

func scaled(x []float32, factor float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(float64(v) * factor)
	}
	return y
}

// norm is a layer norm over the last axis.
func (b *onnxBuilder) norm(name, x, param string, epsilon float64) string {
	gamma, beta := b.params.Get(param+".gamma"), b.params.Get(param+".beta")
	inputs := []string{x, b.tensor(name+"/w/scale", onnxFloat, gamma, len(gamma)), b.tensor(name+"/w/bias", onnxFloat, beta, len(beta))}
	return b.node("LayerNormalization", name, inputs, intAttribute("axis", -1), floatAttribute("epsilon", float32(epsilon)))
}

// feedForward is two layers on each square, and the norm of their sum with the input.
func (b *onnxBuilder) feedForward(name, x, param, activation string, r nn.Residual) string {
	y := b.activation(name+"/ffn/dense1", b.layer(name+"/ffn/dense1", x, param+".ffn1", 1), activation)
	y = b.layer(name+"/ffn/dense2", y, param+".ffn2", r.Scale)
	return b.norm(name+"/ln2", b.node("Add", name+"/ffn/skip", []string{y, x}), param+".ln2", r.Epsilon)
}

// embedding is the first block of an attention net. What squares are told of the others
// goes through a product of its own: it is the same for all positions where it is
// encoding.SquareMap, and becomes a bias of each square.
func (b *onnxBuilder) embedding(k nn.Block) string {
	const name = "/attn_body"
	fc := b.params.Dense("input.fc")
	fc.Weight = slices.Clone(fc.Weight)
	leelas(b.arch, "input.fc.weight", fc.Weight, false)
	own, told := columns(fc, 0, encoding.NumPlanes), columns(fc, encoding.NumPlanes, fc.In)
	told.Bias = fc.Bias
	dense := k.Kind == nn.BlockDenseEmbedding

	x := b.dense(name+"/planes", "", b.squares(name+"/input", OnnxInput, encoding.NumPlanes), &own)
	var others string
	if dense {
		others = b.dense(name+"/men", name+"/men/add", b.men(name+"/preprocess", k), &told)
	} else {
		others = b.squareMap(name+"/squares", &told)
	}
	x = b.act(name+"/embedding", b.node("Add", name+"/embedding", []string{x, others}))
	if dense {
		x = b.norm(name+"/ln1", x, "input.ln1", nn.InnerEpsilon)
	}
	if k.Gated > 0 {
		x = b.node("Mul", name+"/gate/mul", []string{x, b.gate(name+"/gate/mul/w", "input.gate.gamma")})
		x = b.node("Add", name+"/gate/add", []string{x, b.gate(name+"/gate/add/w", "input.gate.beta")})
	}
	if dense {
		x = b.feedForward(name, x, "input", k.HiddenActivation, b.arch.BodyResidual())
	}
	return x
}

// columns returns the part of a layer that reads inputs lo to hi, without bias.
func columns(d nn.Dense, lo, hi int) nn.Dense {
	part := nn.Dense{In: hi - lo, Out: d.Out}
	for row := range slices.Chunk(d.Weight, d.In) {
		part.Weight = append(part.Weight, row[lo:hi]...)
	}
	return part
}

// squareMap returns a layer's outputs for the map of each square, [64,Out].
func (b *onnxBuilder) squareMap(name string, d *nn.Dense) string {
	var out []float32
	for sq := range encoding.NumSquares {
		m := encoding.SquareMap(sq)
		for o, bias := range d.Bias {
			sum := float64(bias)
			for i, v := range m {
				sum += float64(v) * float64(d.Weight[o*d.In+i])
			}
			out = append(out, float32(sum))
		}
	}
	return b.tensor(name, onnxFloat, out, encoding.NumSquares, d.Out)
}

// men returns what a layer makes of the men of the newest board: [batch,64,positions].
func (b *onnxBuilder) men(name string, k nn.Block) string {
	var planes []int32
	for plane := range int32(encoding.MenPlanes) {
		planes = append(planes, plane)
	}
	d := b.params.Dense("input.men")
	d.Weight = slices.Clone(d.Weight)
	transposeRows(d.Weight, encoding.NumSquares, len(planes)) // to the input's order, plane*64 + square
	x := b.flatten(name+"/flatten", b.gather(name+"/men", OnnxInput, "/const/men_planes", planes), len(planes))
	return b.reshape(name+"/reshape", b.dense(name, name+"/add", x, &d), encoding.NumSquares, k.Positions)
}

// gate returns [64,width] of a parameter [width,64].
func (b *onnxBuilder) gate(name, param string) string {
	w := slices.Clone(b.params.Get(param))
	transposeRows(w, b.arch.Width(), encoding.NumSquares)
	return b.tensor(name, onnxFloat, w, encoding.NumSquares, b.arch.Width())
}

// encoder is attention between the squares, then two layers on each.
func (b *onnxBuilder) encoder(name, x, param string, k nn.Block, r nn.Residual) string {
	y := b.layer(name+"/mha/out", b.attention(name, x, param, k), param+".out", r.Scale)
	x = b.norm(name+"/ln1", b.node("Add", name+"/mha/skip", []string{y, x}), param+".ln1", r.Epsilon)
	return b.feedForward(name, x, param, k.HiddenActivation, r)
}

// attention returns the values of all squares, weighted for each square and head:
// [batch,64,heads*width].
func (b *onnxBuilder) attention(encoder, x, param string, k nn.Block) string {
	name := encoder + "/mha"
	part := func(to, from string, factor float64, perm ...int64) string {
		y := b.layer(name+to, x, param+from, factor)
		return b.transpose(name+to+"/transpose", b.reshape(name+to+"/reshape", y, encoding.NumSquares, k.Heads, k.HeadWidth), perm...)
	}
	q := part("/Q", ".q", 1/math.Sqrt(float64(k.HeadWidth)), 0, 2, 1, 3) // [batch,heads,64,width]
	y := b.node("MatMul", name+"/QK/matmul", []string{q, part("/K", ".k", 1, 0, 2, 3, 1)})
	if k.Kind == nn.BlockSmolgen {
		y = b.node("Add", name+"/QK/smolgen", []string{y, b.smolgen(encoder+"/smolgen", x, param+".smolgen", k)})
	}
	y = b.node("Softmax", name+"/QK/softmax", []string{y}, intAttribute("axis", -1))
	y = b.node("MatMul", name+"/QKV/matmul", []string{y, part("/V", ".v", 1, 0, 2, 1, 3)})
	return b.reshape(name+"/QKV", b.transpose(name+"/QKV/transpose", y, 0, 2, 1, 3), encoding.NumSquares, k.Heads*k.HeadWidth)
}

// smolgen returns what the whole position adds to the products of queries and keys:
// [batch,heads,64,64]. Its last layer is that of all encoders.
func (b *onnxBuilder) smolgen(name, x, param string, k nn.Block) string {
	y := b.reshape(name+"/compress", b.layer(name+"/compress", x, param+".compress", 1), encoding.NumSquares*k.Compressed)
	for _, i := range []string{"1", "2"} {
		y = b.activation(name+"/dense"+i, b.layer(name+"/dense"+i, y, param+".fc"+i, 1), k.SmolgenActivation)
		y = b.norm(name+"/ln"+i, y, param+".ln"+i, nn.InnerEpsilon)
	}
	all := b.params.Dense("smolgen")
	y = b.reshape(name+"/heads", y, k.Heads, k.SmolgenUnits)
	y = b.node("MatMul", name+"/matmul", []string{y, b.matrix("/const/smolgen_w", &all)})
	return b.reshape(name, y, k.Heads, encoding.NumSquares, encoding.NumSquares)
}

// attentionPolicy takes x of squares. A move's logit is the product of its squares, and of
// a promotion what the target's key says of the piece besides. The sum of the rows of a
// piece and of all pieces is taken here; the fourth row, for other moves, is zero.
func (b *onnxBuilder) attentionPolicy(x string, h nn.Head) {
	const name, none = "/policy", 3
	x = b.activation(name+"/dense1", b.layer(name+"/dense1", x, "policy.embedding", 1), b.arch.PolicyActivation())
	for i := range h.Encoders {
		x = b.encoder(fmt.Sprintf("%s/encoder%d", name, i), x, h.EncoderName(i), b.arch.PolicyEncoder(h), nn.PolicyResidual())
	}
	k := b.layer(name+"/K", x, "policy.k", 1)
	y := b.layer(name+"/Q", x, "policy.q", 1/math.Sqrt(float64(h.Hidden)))
	y = b.node("MatMul", name+"/matmul", []string{y, b.transpose(name+"/K/transpose", k, 0, 2, 1)})
	y = b.reshape(name+"/flatten", y, encoding.NumSquares*encoding.NumSquares)

	promotion := b.params.Dense("policy.promotion")
	rows := make([]float32, len(promotion.Weight))
	for i := range none * h.Hidden {
		rows[i] = promotion.Weight[i] + promotion.Weight[none*h.Hidden+i%h.Hidden]
	}
	promotion.Weight = rows
	p := b.reshape(name+"/promotion", b.dense(name+"/promotion", "", k, &promotion), encoding.NumSquares*promotion.Out)

	var moves, pieces []int32
	for _, at := range encoding.AttentionPolicyIndex() {
		move, piece := int32(at), int32(none)
		if of := move - encoding.NumSquares*encoding.NumSquares; of >= 0 {
			from, to := 48+of/24, 56+of/3%8
			move, piece = from*encoding.NumSquares+to, to*int32(promotion.Out)+of%3
		}
		moves, pieces = append(moves, move), append(pieces, piece)
	}
	y = b.gather(name+"/moves", y, "/const/mapping_table", moves)
	b.node("Add", OnnxPolicy, []string{y, b.gather(name+"/pieces", p, "/const/promotion_table", pieces)})
}
