package cuda

import (
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

// headStep is what the channels of the heads' 1x1 convolutions are padded to.
const headStep = 8

// fusedNet is a net in one kernel for the tower and the policy, and two for the
// fully connected layers of the heads.
type fusedNet struct {
	typ       kernels.Type
	arch      nn.Arch
	info      driver.Info
	channels  int // padded
	blob      *blob
	tower     kernels.TowerArgs // but for addresses
	weights   part
	vectors   part
	headBias  part
	place     part // within [planes][64], or the index itself for the classical head
	heads     []fusedHead
	value     lastLayer
	movesLeft lastLayer
}

// fusedHead is a 1x1 convolution and the fully connected layer after it: of value,
// moves left, or the classical policy.
type fusedHead struct {
	width         int // channels, padded to headStep
	outputs       int
	act           int32
	weights, bias part
}

// lastLayer is the second fully connected layer of a scalar head.
type lastLayer struct{ weights, bias part }

// packFused adds a net to b; nil where it must go layer by layer.
func packFused(b *blob, info driver.Info, f *nn.Folded, t kernels.Type) *fusedNet {
	c := roundUp(f.Arch.Width(), kernels.TowerStep)
	n := &fusedNet{typ: t, arch: f.Arch, info: info, channels: c, blob: b}
	n.tower = kernels.TowerArgs{Channels: int32(c), Blocks: int32(len(f.Arch.Blocks) - 1), Act: activation(f.Arch.Activation), Vector: int32(c)}
	if units := int32(roundUp(f.Arch.SEUnits(), seStageUnits)); units > 0 {
		n.tower.SeStages, n.tower.Vector = units/seStageUnits, int32(3*c)+units
	}
	if t == kernels.F32 || c > kernels.TowerMaxChannels || attends(f.Arch) || len(n.shapes(1)) == 0 {
		return nil
	}
	n.packTower(f)
	n.packHeads(f)
	return n
}

// packTower writes the stages of weights in the order of their use, and the vectors
// of the 3x3 layers.
func (n *fusedNet) packTower(f *nn.Folded) {
	s := stagePacker{typ: n.typ, channels: n.channels, vector: int(n.tower.Vector)}
	for i, b := range f.Arch.Blocks {
		switch l := f.Blocks[i]; b.Kind {
		case nn.BlockInput:
			s.conv3(&l.Convs[0], encoding.NumPlanes)
			s.endLayer()
		case nn.BlockResidual:
			s.conv3(&l.Convs[0], n.channels)
			s.endLayer()
			s.conv3(&l.Convs[1], n.channels)
			s.endLayer(l.Dense...)
		}
	}
	var convs []*nn.Conv
	columns := 0
	for i, h := range firstLayers(f) {
		width := roundUp(h.conv.Co, headStep)
		n.tower.Width[i] = int32(width)
		convs, columns = append(convs, h.conv), columns+width
	}
	n.tower.HeadColumns, n.tower.HeadPasses = int32(columns), int32(roundUp(columns, n.channels)/n.channels)
	headBias := s.conv1(convs, columns)
	for i, h := range f.Arch.Heads {
		if l := f.Heads[i]; h.Kind == nn.PolicyConvolutional {
			s.conv3(&l.Convs[0], n.channels)
			s.endLayer()
			n.tower.PolicyPasses = int32(s.conv3(&l.Convs[1], n.channels))
			s.endLayer()
		}
	}
	n.tower.Stages = int32(s.numStages())
	n.weights = n.blob.add(s.data)
	n.vectors = n.blob.floats(s.vectors)
	n.headBias = n.blob.floats(headBias)
}

// firstLayer is a head's 1x1 convolution and the fully connected layer after it.
type firstLayer struct {
	conv  *nn.Conv
	dense *nn.Dense
	act   int32
}

// firstLayers lists those of value, moves left, classical policy.
func firstLayers(f *nn.Folded) (list []firstLayer) {
	var classical []firstLayer
	for i, h := range f.Arch.Heads {
		switch l := f.Heads[i]; h.Kind {
		case nn.HeadFlattened:
			list = append(list, firstLayer{&l.Convs[0], &l.Dense[0], activation(f.Arch.Activation)})
		case nn.PolicyClassical:
			classical = []firstLayer{{&l.Convs[0], &l.Dense[0], kernels.ActNone}}
		}
	}
	return append(list, classical...)
}

func (n *fusedNet) packHeads(f *nn.Folded) {
	b := n.blob
	for i, l := range firstLayers(f) {
		h := fusedHead{width: int(n.tower.Width[i]), outputs: l.dense.Out, act: l.act}
		h.weights, h.bias = b.add(stored(n.typ, squaresFirst(l.dense, h.width))), b.floats(l.dense.Bias)
		n.heads = append(n.heads, h)
	}
	last := func(l nn.Layers) lastLayer { return lastLayer{b.floats(l.Dense[1].Weight), b.floats(l.Dense[1].Bias)} }
	for i, h := range f.Arch.Heads {
		switch {
		case h.Output == nn.Value:
			n.value = last(f.Heads[i])
		case h.Output == nn.MovesLeft:
			n.movesLeft = last(f.Heads[i])
		case h.Kind == nn.PolicyClassical:
			n.place = b.add(bytesOf(policyPlaces(h.Kind)))
		default:
			n.place = b.add(bytesOf(encoding.ConvPolicyIndex()[:]))
		}
	}
}

// limit: activations stay in shared memory, so batches may be of any size.
func (n *fusedNet) limit() int { return 1 << 20 }

// workPlaces returns where, in the memory of activations, the heads' channels and
// the outputs of their first layers lie, and its size.
func (n *fusedNet) workPlaces(boards int) (outputs []int, size int) {
	size = roundUp(boards*encoding.NumSquares*int(n.tower.HeadColumns)*n.typ.Size(), blobAlign)
	for _, h := range n.heads {
		outputs = append(outputs, size)
		size += roundUp(4*boards*h.outputs, blobAlign)
	}
	return outputs, size
}

func (n *fusedNet) work(boards int) int {
	_, size := n.workPlaces(boards)
	return size
}

// shapes lists those of the tower for a batch of up to boards.
func (n *fusedNet) shapes(boards int) []kernels.TowerShape {
	return kernels.TowerShapes(n.info, n.channels, int(n.tower.Vector), boards)
}

func (n *fusedNet) launches(boards int, shape kernels.TowerShape, io batchMemory) []kernels.Launch {
	b := n.blob
	tower := n.tower
	tower.Count, tower.Masks, tower.Scalars, tower.Start, tower.Legal = io.count, io.masks, io.scalars, io.start, io.legal
	tower.Place, tower.Weights, tower.Vectors, tower.HeadBias = b.at(n.place), b.at(n.weights), b.at(n.vectors), b.at(n.headBias)
	tower.Flat, tower.Prior = io.work, io.prior
	outputs, _ := n.workPlaces(boards)
	fc1 := kernels.HeadFC1Args{Count: io.count}
	before := 0
	for i, h := range n.heads {
		fc1.Layer[i] = kernels.HeadLayer{
			X: io.work.Offset(before * encoding.NumSquares * n.typ.Size()),
			W: b.at(h.weights), Bias: b.at(h.bias), Y: io.work.Offset(outputs[i]),
			Stride: encoding.NumSquares * tower.HeadColumns, Inputs: int32(encoding.NumSquares * h.width),
			Outputs: int32(h.outputs), Act: h.act,
		}
		before += h.width
	}
	fc2 := kernels.HeadFC2Args{
		Count: io.count, Value: fc1.Layer[0].Y, ValueW: b.at(n.value.weights), ValueBias: b.at(n.value.bias),
		Wdl: io.wdl, M: io.movesLeft, ValueHidden: fc1.Layer[0].Outputs, ValueOutputs: int32(n.arch.Head(nn.Value).Outputs()),
	}
	if n.arch.Head(nn.MovesLeft) != nil {
		fc2.MovesLeft, fc2.MovesHidden = fc1.Layer[1].Y, fc1.Layer[1].Outputs
		fc2.MovesW, fc2.MovesBias = b.at(n.movesLeft.weights), b.at(n.movesLeft.bias)
	}
	list := []kernels.Launch{
		kernels.Tower(n.typ, tower, shape, boards),
		kernels.HeadFC1(n.typ, fc1, boards),
		kernels.HeadFC2(fc2, boards),
	}
	if tower.PolicyPasses > 0 {
		return list
	}
	return slices.Insert(list, 2, kernels.PolicyGather(kernels.PolicyGatherArgs{
		Count: io.count, Logits: io.work.Offset(outputs[len(outputs)-1]), Place: b.at(n.place),
		Start: io.start, Legal: io.legal, Prior: io.prior, Width: encoding.NumPolicy,
	}, boards))
}
