package cuda

import (
	"cmp"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

// conv is a convolution (taps 9 or 1) or a fully connected layer (taps 1 with rows
// of boards) of the net in training.
type conv struct {
	t                 *Trainer
	taps, ci, co      int   // real
	channels          int   // > 0: the input is [64][channels] activations, ci = 64*channels
	bySquare          int32 // 1: columns of the weight are square*channels + c, else c*64 + square
	weight, bias      int   // parameters; bias -1 where there is none
	forward, backward driver.Ptr
	inPad, outPad     int // padded ci and co
	rowsPerBoard      int
}

// newConv makes the layer of parameter name+".weight"; channels > 0 where it
// follows flattened activations. hasBack says whether its input has a gradient.
func newConv(t *Trainer, name string, channels int, hasBack bool) *conv {
	l := t.layout
	shape := l.specs[l.param(name+".weight")].Shape
	if len(shape) == 4 {
		return newLayer(t, name, channels, 64, hasBack)
	}
	return newLayer(t, name, channels, 1, hasBack)
}

// newSquares makes a fully connected layer on each square.
func newSquares(t *Trainer, name string) *conv { return newLayer(t, name, 0, 64, true) }

// newLayer makes a layer with so many rows a board.
func newLayer(t *Trainer, name string, channels, rowsPerBoard int, hasBack bool) *conv {
	l := t.layout
	w := l.param(name + ".weight")
	shape := l.specs[w].Shape
	c := &conv{t: t, taps: 1, co: shape[0], ci: shape[1], channels: channels, weight: w, bias: l.param(name + ".bias"), rowsPerBoard: rowsPerBoard}
	if len(shape) == 4 {
		c.taps = shape[2] * shape[3]
	}
	c.inPad, c.outPad = kernels.Pad(c.ci), kernels.Pad(c.co)
	if channels > 0 {
		c.inPad = 64 * kernels.Pad(channels)
	}
	size := c.taps * c.inPad * c.outPad * t.typ.Size()
	c.forward = t.mem.alloc(size)
	if hasBack {
		c.backward = t.mem.alloc(size)
	}
	t.convs = append(t.convs, c)
	t.partBytes = max(t.partBytes, 4*c.splits(t.cfg.Capacity)*c.taps*c.inPad*c.outPad)
	return c
}

func (c *conv) rows(boards int) int { return boards * c.rowsPerBoard }

func (c *conv) splits(boards int) int {
	return kernels.WgradSplits(c.t.typ, c.taps, c.rows(boards), c.inPad, c.outPad, c.t.dev.Info().SMs)
}

// entry describes the weights to the pack kernel.
func (c *conv) entry() kernels.PackEntry {
	return kernels.PackEntry{
		W: c.t.layout.in(c.t.params, c.weight), Forward: c.forward, Backward: c.backward,
		Co: int32(c.co), Ci: int32(c.ci), Taps: int32(c.taps), Channels: int32(c.channels), BySquare: c.bySquare,
	}
}

// input is what a layer reads: activations as stored, or act(x*scale+shift) of them.
type input struct {
	x, scale, shift driver.Ptr
	act             int32
}

// run computes the layer for boards; more fills in what else the kernel does.
func (c *conv) run(q *queue, boards int, in input, more kernels.ConvArgs) {
	a := more
	a.X, a.InScale, a.InShift, a.InAct = in.x, in.scale, in.shift, in.act
	a.W, a.Rows, a.Ci, a.Co = c.forward, int32(c.rows(boards)), int32(c.inPad), int32(c.outPad)
	if c.bias >= 0 {
		a.Bias = c.t.layout.in(c.t.params, c.bias)
	}
	q.do(kernels.Conv(c.t.typ, c.taps, a))
}

// inputGrad computes the gradient of the layer's input from dz, that of its output.
func (c *conv) inputGrad(q *queue, boards int, dz driver.Ptr, more kernels.ConvArgs) {
	a := more
	a.X, a.W, a.Rows, a.Ci, a.Co = dz, c.backward, int32(c.rows(boards)), int32(c.outPad), int32(c.inPad)
	q.do(kernels.Conv(c.t.typ, c.taps, a))
}

// weightGrad adds to, or sets, the gradients of weight and bias.
func (c *conv) weightGrad(q *queue, boards int, in input, dz driver.Ptr) {
	t, rows, splits := c.t, c.rows(boards), c.splits(boards)
	q.do(kernels.Wgrad(t.typ, c.taps, kernels.WgradArgs{
		X: in.x, Dz: dz, Part: t.part, InScale: in.scale, InShift: in.shift, InAct: in.act,
		Rows: int32(rows), Ci: int32(c.inPad), Co: int32(c.outPad), Splits: int32(splits),
	}))
	r := kernels.WgradReduceArgs{
		Part: t.part, Grad: t.layout.in(t.grads, c.weight), Splits: int32(splits), Taps: int32(c.taps),
		Co: int32(c.outPad), Ci: int32(c.inPad), RealCo: int32(c.co), RealCi: int32(c.ci), Accumulate: q.accumulate,
	}
	if c.channels > 0 {
		r.Channels, r.RealChannels, r.BySquare = int32(kernels.Pad(c.channels)), int32(c.channels), c.bySquare
	}
	q.do(kernels.WgradReduce(r))
	if c.bias >= 0 {
		q.do(kernels.ColumnSums(t.typ, kernels.ColumnSumsArgs{
			X: dz, Sum: t.layout.in(t.grads, c.bias), Rows: int32(rows), Columns: int32(c.outPad), Real: int32(c.co), Accumulate: q.accumulate,
		}))
	}
}

// batchNorm follows a convolution.
type batchNorm struct {
	t                       *Trainer
	gamma, beta, mean, vari int // parameters
	channels, padded        int
	bMean, invStd           driver.Ptr // of the micro-batch, [padded]
	scale, shift            driver.Ptr // [padded]
}

func newBatchNorm(t *Trainer, name string) *batchNorm {
	l := t.layout
	b := &batchNorm{t: t, gamma: l.param(name + ".gamma"), beta: l.param(name + ".beta"), mean: l.param(name + ".mean"), vari: l.param(name + ".var")}
	b.channels = l.specs[b.gamma].Len()
	b.padded = kernels.Pad(b.channels)
	b.bMean, b.invStd = t.mem.floats(b.padded), t.mem.floats(b.padded)
	b.scale, b.shift = t.mem.floats(b.padded), t.mem.floats(b.padded)
	return b
}

// forward sets scale and shift from the convolution's sums.
func (b *batchNorm) forward(q *queue, boards int, sums driver.Ptr) {
	l, t, running := b.t.layout, b.t, b.t.pending
	if q.pass.Running {
		sums, running = 0, t.running
	}
	momentum := cmp.Or(q.pass.BNMomentum, t.cfg.BNMomentum)
	q.do(kernels.BNForward(kernels.BNForwardArgs{
		Sums: sums, Gamma: l.in(t.params, b.gamma), Beta: l.in(t.params, b.beta),
		PendingMean: l.in(running, b.mean), PendingVar: l.in(running, b.vari),
		Mean: b.bMean, InvStd: b.invStd, Scale: b.scale, Shift: b.shift,
		Boards: int32(boards), Channels: int32(b.channels), Padded: int32(b.padded), Momentum: float32(momentum),
	}))
}

// backward turns d, the gradient of the output, into dz, that of the input z, and
// sets the gradients of gamma and beta; sums are those of d and d*z by board. d'
// = dynScale*d + dynShift stands for d where dynScale is given.
func (b *batchNorm) backward(q *queue, boards int, dz, d, z, sums, dynScale, dynShift driver.Ptr) {
	l, t := b.t.layout, b.t
	q.do(kernels.BNBackward(kernels.BNBackwardArgs{
		Sums: sums, Gamma: l.in(t.params, b.gamma), Mean: b.bMean, InvStd: b.invStd,
		Dgamma: l.in(t.grads, b.gamma), Dbeta: l.in(t.grads, b.beta), K: t.k,
		Boards: int32(boards), Channels: int32(b.channels), Padded: int32(b.padded), Accumulate: q.accumulate,
	}), kernels.BNInput(t.typ, kernels.BNInputArgs{
		D: d, Z: z, K: t.k, DynScale: dynScale, DynShift: dynShift, Dz: dz, Boards: int32(boards), Padded: int32(b.padded),
	}))
}

// unit is a convolution, batch norm and the activation. Only the convolution's
// output z is kept: what reads the activations computes them from it.
type unit struct {
	conv *conv
	bn   *batchNorm
	z    driver.Ptr // T [capacity*64][padded]
	sums driver.Ptr // [capacity][2][padded] of z and z*z
}

func newUnit(t *Trainer, convName, bnName string, hasBack bool) *unit {
	u := &unit{conv: newConv(t, convName, 0, hasBack), bn: newBatchNorm(t, bnName)}
	t.widest = max(t.widest, u.conv.outPad)
	u.z = t.activations(u.conv.outPad)
	u.sums = t.mem.floats(t.cfg.Capacity * 2 * u.conv.outPad)
	return u
}

func (u *unit) forward(q *queue, boards int, in input) {
	u.conv.run(q, boards, in, kernels.ConvArgs{Y: u.z, Sums: u.sums})
	u.bn.forward(q, boards, u.sums)
}

// output is the activation of z.
func (u *unit) output() input {
	return input{x: u.z, scale: u.bn.scale, shift: u.bn.shift, act: u.conv.t.act}
}

// slope makes a convolution's result, a gradient of the output, that of batch norm's
// output, and takes its sums.
func (u *unit) slope(y, sums driver.Ptr) kernels.ConvArgs {
	return kernels.ConvArgs{Y: y, Z: u.z, ZScale: u.bn.scale, ZShift: u.bn.shift, ZAct: u.conv.t.act, Sums: sums}
}

// join is what writes the unit's activations to y.
func (u *unit) join(boards int, y driver.Ptr) kernels.JoinArgs {
	return kernels.JoinArgs{
		Z: u.z, Scale: u.bn.scale, Shift: u.bn.shift, Y: y, Boards: int32(boards), Padded: int32(u.conv.outPad), Act: u.conv.t.act,
	}
}

// joinBackward makes d, the gradient of the activations, that of batch norm's output,
// and sets t.sums to its sums.
func (u *unit) joinBackward(q *queue, boards int, d driver.Ptr) {
	q.do(kernels.JoinBackward(q.t.typ, kernels.JoinBackwardArgs{
		Dy: d, Z: u.z, Scale: u.bn.scale, Shift: u.bn.shift, D: d, Sums: q.t.sums,
		Boards: int32(boards), Padded: int32(u.conv.outPad), Act: q.t.act,
	}))
}
