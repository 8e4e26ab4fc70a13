package cuda

import (
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

// layeredLimit is the most boards that a net which goes layer by layer takes at
// once: enough to fill a device, at 250 KiB of activations a board of 256 filters.
const layeredLimit = 1024

// layeredNet is a net of which each layer is a launch of the training kernels, with
// batch norm in the convolutions. Activations are kept before the activation
// function, where only convolutions read them.
type layeredNet struct {
	typ         kernels.Type
	arch        nn.Arch
	act         int32
	padded      int // channels of the tower
	blob        *blob
	input       layer
	tower       []layeredBlock
	attention   *attentionBody // nil: the tower
	policy      [2]layer       // convolutional: 3x3, 3x3; classical: 1x1, fully connected
	value       [3]layer       // 1x1, fully connected, fully connected
	movesLeft   [3]layer
	place       part
	ones, zeros part // [padded]

	attentionPolicy *attentionPolicy // nil: policy
}

// layer is a convolution or a fully connected layer.
type layer struct {
	taps, ci, co  int // padded
	perBoard      int // rows of a board
	weights, bias part
}

// layeredBlock is a residual block; w1 is none without squeeze-and-excitation.
type layeredBlock struct {
	conv1, conv2   layer
	w1, b1, w2, b2 part
}

// packLayered adds the net from, folded, to b.
func packLayered(b *blob, from *nn.Net, f *nn.Folded, t kernels.Type) *layeredNet {
	n := &layeredNet{typ: t, arch: f.Arch, act: activation(f.Arch.Activation), padded: kernels.Pad(f.Arch.Width()), blob: b}
	for i, k := range f.Arch.Blocks {
		switch l := f.Blocks[i]; k.Kind {
		case nn.BlockInput:
			n.input = n.conv(&l.Convs[0])
		case nn.BlockResidual:
			k := layeredBlock{conv1: n.conv(&l.Convs[0]), conv2: n.conv(&l.Convs[1]), w1: none}
			if se := l.Dense; se != nil {
				k.w1, k.b1 = b.floats(se[0].Weight), b.floats(se[0].Bias)
				k.w2, k.b2 = b.floats(se[1].Weight), b.floats(se[1].Bias)
			}
			n.tower = append(n.tower, k)
		}
	}
	if f.Arch.Attention() {
		n.attention = n.packAttention(from)
	}
	for i, h := range f.Arch.Heads {
		switch l := f.Heads[i]; h.Kind {
		case nn.PolicyAttention, nn.PolicyEncoded:
			n.attentionPolicy = n.packAttentionPolicy(from, h, l)
		case nn.PolicyConvolutional:
			n.policy = [2]layer{n.conv(&l.Convs[0]), n.conv(&l.Convs[1])}
		case nn.PolicyClassical:
			n.policy = [2]layer{n.conv(&l.Convs[0]), n.flattened(&l.Dense[0], l.Convs[0].Co)}
		case nn.HeadFlattened:
			packed := [3]layer{n.conv(&l.Convs[0]), n.flattened(&l.Dense[0], l.Convs[0].Co), n.dense(l.Dense[1].Weight, l.Dense[1].Bias, l.Dense[1].Out, l.Dense[1].In)}
			if h.Output == nn.Value {
				n.value = packed
			} else {
				n.movesLeft = packed
			}
		}
	}
	n.place = b.add(bytesOf(policyPlaces(f.Arch.Head(nn.Policy).Kind)))
	n.ones, n.zeros = b.floats(slices.Repeat([]float32{1}, n.padded)), b.floats(make([]float32, n.padded))
	return n
}

// flattened packs a fully connected layer after a convolution.
func (n *layeredNet) flattened(d *nn.Dense, channels int) layer {
	wide := kernels.Pad(channels)
	return n.dense(squaresFirst(d, wide), d.Bias, d.Out, encoding.NumSquares*wide)
}

func (n *layeredNet) dense(w, bias []float32, out, in int) layer {
	l := n.conv(&nn.Conv{Ci: in, Co: out, K: 1, Weight: w, Bias: bias})
	l.perBoard = 1
	return l
}

// conv packs weights as [taps][co][ci], padded with zeros.
func (n *layeredNet) conv(c *nn.Conv) layer {
	l := layer{taps: c.K * c.K, ci: kernels.Pad(c.Ci), co: kernels.Pad(c.Co), perBoard: encoding.NumSquares}
	w := make([]float32, l.taps*l.ci*l.co)
	for o := range c.Co {
		for i := range c.Ci {
			for tap := range l.taps {
				w[(tap*l.co+o)*l.ci+i] = c.Weight[(o*c.Ci+i)*l.taps+tap]
			}
		}
	}
	l.weights = n.blob.add(stored(n.typ, w))
	l.bias = n.blob.floats(padded(c.Bias, l.co))
	return l
}

func (n *layeredNet) limit() int {
	if attends(n.arch) {
		return attentionLimit
	}
	return layeredLimit
}

// layeredWork is where activations lie.
type layeredWork struct {
	planes, x, h, z      driver.Ptr // T [boards*64][112] and [padded]
	logits               driver.Ptr // fp32, of the policy
	flat, hidden         driver.Ptr // T, of one head at a time
	value, movesLeft     driver.Ptr // fp32 logits
	sums                 driver.Ptr // [boards][2][padded]
	pool, pre, gate      driver.Ptr
	boardScale, boardAdd driver.Ptr // [boards][padded]
	attention            attentionWork
	size                 int
}

// layout places the activations of a batch of up to boards at base.
func (n *layeredNet) layout(base driver.Ptr, boards int) (w layeredWork) {
	next := func(elements, size int) driver.Ptr {
		at := base.Offset(w.size)
		w.size += roundUp(boards*elements*size, blobAlign)
		return at
	}
	t, squares := n.typ.Size(), encoding.NumSquares
	w.planes = next(squares*encoding.NumPlanes, t)
	w.x = next(squares*n.padded, t)
	if n.attention == nil || n.policy[0].taps == 9 {
		w.h, w.z = next(squares*n.padded, t), next(squares*n.padded, t)
	}
	w.logits = next(n.policyWidth(), 4)
	flat := max(n.value[0].co, n.movesLeft[0].co)
	if n.policy[1].perBoard == 1 {
		flat = max(flat, n.policy[0].co)
	}
	w.flat, w.hidden = next(squares*flat, t), next(max(n.value[1].co, n.movesLeft[1].co), t)
	w.value, w.movesLeft = next(n.value[2].co, 4), next(n.movesLeft[2].co, 4)
	if units := n.arch.SEUnits(); units > 0 {
		w.sums, w.pool, w.pre, w.gate = next(2*n.padded, 4), next(n.padded, 4), next(units, 4), next(n.padded, 4)
		w.boardScale, w.boardAdd = next(n.padded, 4), next(n.padded, 4)
	}
	w.attention = n.layoutAttention(func(elements int) driver.Ptr { return next(elements, t) })
	return w
}

// policyWidth is the logits of a board: [64][80], or the padded classical layer's.
func (n *layeredNet) policyWidth() int { return n.policy[1].co * n.policy[1].perBoard }

func (n *layeredNet) work(boards int) int { return n.layout(0, boards).size }

func (n *layeredNet) shapes(int) []kernels.TowerShape { return nil }

// layeredLaunches collects the launches of a batch.
type layeredLaunches struct {
	net    *layeredNet
	boards int
	io     batchMemory
	work   layeredWork
	list   []kernels.Launch
}

func (n *layeredNet) launches(boards int, _ kernels.TowerShape, io batchMemory) []kernels.Launch {
	k := &layeredLaunches{net: n, boards: boards, io: io, work: n.layout(io.work, boards)}
	k.list = append(k.list, kernels.Expand(n.typ, kernels.ExpandArgs{Masks: io.masks, Scalars: io.scalars, Planes: k.work.planes, Boards: int32(boards)}))
	if n.attention != nil {
		k.attend(n.attention)
	} else {
		k.climb()
	}
	k.heads()
	return k.list
}

// run appends a layer that reads act of x.
func (k *layeredLaunches) run(l layer, x driver.Ptr, act int32, to kernels.ConvArgs) {
	to.X, to.InAct, to.W, to.Bias = x, act, k.net.blob.at(l.weights), k.net.blob.at(l.bias)
	to.Rows, to.Ci, to.Co = int32(k.boards*l.perBoard), int32(l.ci), int32(l.co)
	k.list = append(k.list, kernels.Conv(k.net.typ, l.taps, to))
}

// climb appends the tower: x is made of the planes.
func (k *layeredLaunches) climb() {
	n, w, b, boards := k.net, k.work, k.net.blob, int32(k.boards)
	// join makes x of z: activated, with x added where that is not the first.
	join := func(scale, shift, x driver.Ptr, byBoard int32) {
		k.list = append(k.list, kernels.Join(n.typ, kernels.JoinArgs{
			Z: w.z, Scale: scale, Shift: shift, X: x, Y: w.x, Boards: boards, Padded: int32(n.padded), Act: n.act, ByBoard: byBoard,
		}))
	}
	k.run(n.input, w.planes, kernels.ActNone, kernels.ConvArgs{Y: w.z})
	join(b.at(n.ones), b.at(n.zeros), 0, 0)
	for _, block := range n.tower {
		k.run(block.conv1, w.x, kernels.ActNone, kernels.ConvArgs{Y: w.h})
		k.run(block.conv2, w.h, n.act, kernels.ConvArgs{Y: w.z, Sums: w.sums})
		if block.w1 == none {
			join(b.at(n.ones), b.at(n.zeros), w.x, 0)
			continue
		}
		k.list = append(k.list, kernels.SEForward(kernels.SEForwardArgs{
			Sums: w.sums, Scale: b.at(n.ones), Shift: b.at(n.zeros),
			W1: b.at(block.w1), B1: b.at(block.b1), W2: b.at(block.w2), B2: b.at(block.b2),
			Pool: w.pool, Pre: w.pre, Gate: w.gate, BoardScale: w.boardScale, BoardShift: w.boardAdd,
			Boards: boards, Channels: int32(n.arch.Width()), Padded: int32(n.padded), Units: int32(n.arch.SEUnits()), Act: n.act,
		}))
		join(w.boardScale, w.boardAdd, w.x, 1)
	}
}

// heads appends the answers to x.
func (k *layeredLaunches) heads() {
	n, w, b, io := k.net, k.work, k.net.blob, k.io
	head := func(l [3]layer, out driver.Ptr) {
		k.run(l[0], w.x, kernels.ActNone, kernels.ConvArgs{Y: w.flat})
		k.run(l[1], w.flat, n.act, kernels.ConvArgs{Y: w.hidden})
		k.run(l[2], w.hidden, n.act, kernels.ConvArgs{Y32: out})
	}
	outputs := kernels.HeadOutputsArgs{
		Count: io.count, Value: w.value, Wdl: io.wdl, M: io.movesLeft,
		ValueStride: int32(n.value[2].co), ValueOutputs: int32(n.arch.Head(nn.Value).Outputs()),
	}
	head(n.value, w.value)
	if n.arch.Head(nn.MovesLeft) != nil {
		head(n.movesLeft, w.movesLeft)
		outputs.MovesLeft, outputs.MovesStride = w.movesLeft, int32(n.movesLeft[2].co)
	}
	k.list = append(k.list, kernels.HeadOutputs(outputs, k.boards))
	if n.attentionPolicy != nil {
		k.attentionPriors(n.attentionPolicy)
		return
	}
	between := w.h
	if n.policy[1].perBoard == 1 {
		between = w.flat
	}
	k.run(n.policy[0], w.x, kernels.ActNone, kernels.ConvArgs{Y: between})
	k.run(n.policy[1], between, n.act, kernels.ConvArgs{Y32: w.logits})
	k.list = append(k.list, kernels.PolicyGather(kernels.PolicyGatherArgs{
		Count: io.count, Logits: w.logits, Place: b.at(n.place), Start: io.start, Legal: io.legal, Prior: io.prior, Width: int32(n.policyWidth()),
	}, k.boards))
}
