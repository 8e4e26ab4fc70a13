package reference

import (
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
)

// Attention is an attention net whose parameters may be any numbers, for slopes: get
// returns those of a name, or nil.
type Attention struct {
	Arch nn.Arch
	Get  func(name string) []float64
}

// Body returns the body's output for a position, [channel][64].
func (a Attention) Body(masks *[encoding.NumMasks]uint64, s *encoding.Scalars) [][]float64 {
	return forward{a.Arch, a.Get}.body(masks, s)
}

// Policy returns the logits of h, an attention policy head, by policy index, over a body's
// output [channel][64].
func (a Attention) Policy(x [][]float64, h nn.Head) []float64 {
	return forward{a.Arch, a.Get}.attentionPolicy(x, h)
}

// transposed turns [a][b] into [b][a]: channels and squares.
func transposed(x [][]float64) [][]float64 {
	y := make([][]float64, len(x[0]))
	for j := range y {
		for i := range x {
			y[j] = append(y[j], x[i][j])
		}
	}
	return y
}

// each is a fully connected layer on each row of x, without bias where the net has none.
func (f forward) each(x [][]float64, name string) [][]float64 {
	w, bias := f.get(name+".weight"), f.get(name+".bias")
	y := make([][]float64, len(x))
	for r, row := range x {
		y[r] = make([]float64, len(w)/len(row))
		for o := range y[r] {
			if bias != nil {
				y[r][o] = bias[o]
			}
			for i, v := range row {
				y[r][o] += w[o*len(row)+i] * v
			}
		}
	}
	return y
}

func activateAll(x [][]float64, name string) [][]float64 {
	for _, row := range x {
		for i, v := range row {
			row[i] = activate(name, v)
		}
	}
	return x
}

// norm is the layer norm of scale*x + skip over each row; skip may be nil.
func (f forward) norm(x, skip [][]float64, r nn.Residual, name string) [][]float64 {
	gamma, beta := f.get(name+".gamma"), f.get(name+".beta")
	y := make([][]float64, len(x))
	for at, row := range x {
		z, mean, variance := make([]float64, len(row)), 0.0, 0.0
		for i, v := range row {
			if z[i] = r.Scale * v; skip != nil {
				z[i] += skip[at][i]
			}
			mean += z[i] / float64(len(row))
		}
		for _, v := range z {
			variance += (v - mean) * (v - mean) / float64(len(row))
		}
		for i, v := range z {
			y[at] = append(y[at], (v-mean)/math.Sqrt(variance+r.Epsilon)*gamma[i]+beta[i])
		}
	}
	return y
}

// embedding is the first block of an attention net.
func (f forward) embedding(input planes, b nn.Block) planes {
	a := f.arch
	x := transposed(input)
	var said [][]float64
	if b.Kind == nn.BlockDenseEmbedding {
		var men []float64
		for _, row := range x {
			men = append(men, row[:12]...)
		}
		flat := f.dense(men, "input.men")
		for sq := range x {
			said = append(said, flat[sq*b.Positions:][:b.Positions])
		}
	} else {
		for sq := range x {
			var row []float64
			for _, v := range encoding.SquareMap(sq) {
				row = append(row, float64(v))
			}
			said = append(said, row)
		}
	}
	for sq := range x {
		x[sq] = append(x[sq], said[sq]...)
	}
	x = activateAll(f.each(x, "input.fc"), a.Activation)
	if b.Kind == nn.BlockDenseEmbedding {
		x = f.norm(x, nil, nn.Residual{Scale: 1, Epsilon: nn.InnerEpsilon}, "input.ln1")
	}
	if b.Gated > 0 {
		gamma, beta := f.get("input.gate.gamma"), f.get("input.gate.beta")
		for sq, row := range x {
			for c := range row {
				row[c] = row[c]*gamma[c*64+sq] + beta[c*64+sq]
			}
		}
	}
	if b.Kind == nn.BlockDenseEmbedding {
		y := f.each(activateAll(f.each(x, "input.ffn1"), b.HiddenActivation), "input.ffn2")
		x = f.norm(y, x, a.BodyResidual(), "input.ln2")
	}
	return transposed(x)
}

// encoder is attention between the squares, then two layers on each.
func (f forward) encoder(in planes, name string, b nn.Block, r nn.Residual) planes {
	x := transposed(in)
	q, k, v := f.each(x, name+".q"), f.each(x, name+".k"), f.each(x, name+".v")
	var extra [][]float64
	if b.Kind == nn.BlockSmolgen {
		extra = f.smolgen(x, name+".smolgen", b)
	}
	attended := make([][]float64, len(x))
	for sq := range attended {
		attended[sq] = make([]float64, b.Heads*b.HeadWidth)
	}
	for h := range b.Heads {
		lo, hi := h*b.HeadWidth, (h+1)*b.HeadWidth
		for from := range x {
			logits := make([]float64, len(x))
			for to := range x {
				for i := lo; i < hi; i++ {
					logits[to] += q[from][i] * k[to][i] / math.Sqrt(float64(b.HeadWidth))
				}
				if extra != nil {
					logits[to] += extra[h][from*64+to]
				}
			}
			for to, p := range Softmax(logits) {
				for i := lo; i < hi; i++ {
					attended[from][i] += p * v[to][i]
				}
			}
		}
	}
	x = f.norm(f.each(attended, name+".out"), x, r, name+".ln1")
	y := f.each(activateAll(f.each(x, name+".ffn1"), b.HiddenActivation), name+".ffn2")
	return transposed(f.norm(y, x, r, name+".ln2"))
}

// smolgen returns [heads][from*64 + to], made of the whole position.
func (f forward) smolgen(x [][]float64, name string, b nn.Block) [][]float64 {
	var flat []float64
	for _, row := range f.each(x, name+".compress") {
		flat = append(flat, row...)
	}
	y := [][]float64{flat}
	for _, layer := range []string{"1", "2"} {
		y = activateAll(f.each(y, name+".fc"+layer), b.SmolgenActivation)
		y = f.norm(y, nil, nn.Residual{Scale: 1, Epsilon: nn.InnerEpsilon}, name+".ln"+layer)
	}
	var heads [][]float64
	for h := range b.Heads {
		heads = append(heads, y[0][h*b.SmolgenUnits:][:b.SmolgenUnits])
	}
	return f.each(heads, "smolgen")
}

// attentionPolicy returns the logits by policy index.
func (f forward) attentionPolicy(in planes, h nn.Head) []float64 {
	x := activateAll(f.each(transposed(in), h.Prefix()+".embedding"), f.arch.PolicyActivation())
	for i := range h.Encoders {
		x = transposed(f.encoder(transposed(x), h.EncoderName(i), f.arch.PolicyEncoder(h), nn.PolicyResidual()))
	}
	q, k := f.each(x, h.Prefix()+".q"), f.each(x, h.Prefix()+".k")
	promotion := f.each(k[56:], h.Prefix()+".promotion") // [file][queen, rook, bishop, all]
	logits := make([]float64, encoding.NumPolicy)
	for idx, at := range encoding.AttentionPolicyIndex() {
		from, to := int(at)/64, int(at)%64
		extra := 0.0
		if at >= 64*64 {
			at -= 64 * 64
			target, piece := int(at)/3%8, int(at)%3
			from, to = 48+int(at)/24, 56+target
			extra = promotion[target][piece] + promotion[target][3]
		}
		for i := range q[from] {
			logits[idx] += q[from][i] * k[to][i] / math.Sqrt(float64(len(q[from])))
		}
		logits[idx] += extra
	}
	return logits
}
