package kernels

import (
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// profileCase is a launch with what it takes beyond the least: wavefronts of shared
// memory and sectors of global memory.
type profileCase struct {
	name           string
	launch         func(q *profiler) Launch
	shared, global int
	others         []ptxAccess // of shapes that are not counted, or that nvcc puts together
}

// profileCases has the kernels of a training step and of inference in bf16, on few
// boards: what many take is a multiple. What is known to be above the least:
//   - eight fp32 coefficients or sums of a lane are two accesses of 16 bytes, of half a
//     sector each; the second finds it in a cache;
//   - moves and their logits lie anywhere; one thread has a row of a scalar head;
//   - masks are read 8 bytes at a time, 64 bytes apart, all of them in the end;
//   - column_sums has 16 bytes of a row in a block, so as to have more blocks;
//   - a lane has two neighbouring columns of an attention's results, half a sector with its
//     neighbours, and promotions lie anywhere;
//   - borders of wgrad's boards and the tower's planes are written once;
//   - wgrad_reduce reads nine taps from eight fours of banks; squeeze-and-excitation
//     writes its inputs, pack reads its tile with some lanes in one bank.
func profileCases() []profileCase {
	var all []profileCase
	add := func(name string, shared, global int, launch func(q *profiler) Launch) {
		all = append(all, profileCase{name: name, launch: launch, shared: shared, global: global})
	}
	for _, x := range []struct {
		c, forward, act, back, tower, towerGlobal int
	}{
		{64, 64, 192, 128, 202, 2541}, {128, 128, 640, 256, 100, 1111}, {256, 256, 2304, 512, 100, 1111},
	} {
		c := x.c
		add(fmt.Sprintf("conv %d", c), 0, x.forward, func(q *profiler) Launch { return q.conv(0, c, false, false) })
		add(fmt.Sprintf("conv act %d", c), 0, x.act, func(q *profiler) Launch { return q.conv(0, c, true, false) })
		add(fmt.Sprintf("conv data gradient %d", c), 0, x.back, func(q *profiler) Launch { return q.conv(0, c, false, true) })
		add(fmt.Sprintf("tower %d", c), x.tower, x.towerGlobal, func(q *profiler) Launch { return q.tower(c) })
	}
	const c = 128
	add("conv small", 0, 128, func(q *profiler) Launch { return q.conv(2, c, false, false) })
	add("conv slim", 0, 96, func(q *profiler) Launch { return q.conv(1, 96, false, false) })
	add("product", 0, 4160, (*profiler).product)
	add("wgrad", 84, 0, func(q *profiler) Launch { return q.wgrad(9, c, c, false) })
	add("wgrad act", 84, 0, func(q *profiler) Launch { return q.wgrad(9, c, c, true) })
	add("wgrad narrow act", 27, 0, func(q *profiler) Launch { return q.wgrad(9, 32, 32, true) })
	add("wgrad product", 0, 0, func(q *profiler) Launch { return q.wgrad(1, 2048, c, false) })
	add("wgrad reduce", 35840, 0, func(q *profiler) Launch { return q.wgradReduce(c) })
	add("join", 0, 512, func(q *profiler) Launch { return q.join(c) })
	add("join backward", 0, 512, func(q *profiler) Launch { return q.joinBackward(c) })
	add("bn input", 0, 1280, func(q *profiler) Launch { return q.bnInput(c) })
	add("bn forward", 0, 0, func(q *profiler) Launch { return q.bnForward(c) })
	add("bn backward", 0, 0, func(q *profiler) Launch { return q.bnBackward(c) })
	add("se forward", 56, 0, func(q *profiler) Launch { return q.seForward(c, 4) })
	add("se forward, many boards", 224, 0, func(q *profiler) Launch { return q.seForward(c, seWide) })
	add("se backward", 100, 0, func(q *profiler) Launch { return q.seBackward(c, 4) })
	add("se backward, many boards", 400, 0, func(q *profiler) Launch { return q.seBackward(c, seWide) })
	// Heads that begin anywhere are read and written 2 bytes at a time.
	anywhere := []ptxAccess{{emulated.GlobalRead, 2}, {emulated.GlobalWrite, 2}, {emulated.SharedWrite, 2}, {emulated.SharedRead, 4}}
	attention := func(name string, global int, launch func(q *profiler) Launch) {
		add(name, 0, global, launch)
		all[len(all)-1].others = anywhere
	}
	attention("attend", 2048, (*profiler).attend)
	attention("attend backward", 6144, (*profiler).attendBackward)
	attention("attention logits", 1102, (*profiler).attentionLogits)
	attention("attention logits backward", 4216, (*profiler).attentionLogitsBackward)
	add("layer norm", 0, 0, (*profiler).layerNorm)
	add("layer norm backward", 0, 0, (*profiler).layerNormBackward)
	all[len(all)-1].others = []ptxAccess{{emulated.SharedRead, 16}}
	add("gate backward", 0, 0, (*profiler).gateBackward)
	add("outer", 0, 0, (*profiler).outer)
	add("head fc1", 0, 0, func(q *profiler) Launch { return q.headFC1(16) })
	add("head fc1, many boards", 0, 0, func(q *profiler) Launch { return q.headFC1(headWide) })
	add("head fc2", 0, 0, (*profiler).headFC2)
	add("policy gather", 0, 757, (*profiler).policyGather)
	add("policy loss", 0, 1795, (*profiler).policyLoss)
	add("scalar loss", 0, 1336, (*profiler).scalarLoss)
	add("expand", 0, 1008, (*profiler).expand)
	add("gather", 0, 19, (*profiler).gather)
	add("column sums", 0, 16384, (*profiler).columnSums)
	add("pack", 2176, 4608, (*profiler).pack)
	add("prepare gradient", 0, 0, (*profiler).prepareGradient)
	add("finish norm", 0, 0, (*profiler).finishNorm)
	add("sgd", 0, 0, func(q *profiler) Launch { return SGD(q.step()) })
	add("adamw", 0, 0, func(q *profiler) Launch { return AdamW(q.step()) })
	return all
}

// conv is a 3x3 of 4 boards with a tile of convTiles, as a training step has it:
// forward with sums, its input activated, or the gradient of its input.
func (q *profiler) conv(tile, c int, act, back bool) Launch {
	const boards = 4
	a := ConvArgs{X: q.plane(boards, c), W: q.zeros(9 * c * c * 2), Y: q.plane(boards, c), Sums: q.floats(boards * 2 * c), Rows: boards * 64, Ci: int32(c), Co: int32(c)}
	if act {
		a.InScale, a.InShift, a.InAct = q.floats(c), q.floats(c), ActMish
	}
	if back {
		a.Add, a.Z, a.ZScale, a.ZShift, a.ZAct = a.Y, q.plane(boards, c), q.floats(c), q.floats(c), ActMish
	}
	return convTiles(BF16, 9)[tile].launch(BF16, 9, a)
}

// product is a fully connected layer with fp32 results and a bias.
func (q *profiler) product() Launch {
	const rows, ci, co = 256, 256, 128
	return convTiles(BF16, 1)[0].launch(BF16, 1, ConvArgs{X: q.zeros(rows * ci * 2), W: q.zeros(ci * co * 2), Y32: q.floats(rows * co), Bias: q.floats(co), Rows: rows, Ci: ci, Co: co})
}

func (q *profiler) wgrad(taps, ci, co int, act bool) Launch {
	const boards = 2
	a := WgradArgs{X: q.plane(boards, ci), Dz: q.plane(boards, co), Part: q.floats(taps * ci * co), Rows: boards * 64, Ci: int32(ci), Co: int32(co), Splits: 1}
	if act {
		a.InScale, a.InShift, a.InAct = q.floats(ci), q.floats(ci), ActMish
	}
	return Wgrad(BF16, taps, a)
}

func (q *profiler) wgradReduce(c int) Launch {
	const splits, taps = 33, 9
	n := int32(c)
	return WgradReduce(WgradReduceArgs{Part: q.floats(splits * taps * c * c), Grad: q.floats(taps * c * c), Splits: splits, Taps: taps, Co: n, Ci: n, RealCo: n, RealCi: n, Accumulate: 1})
}

func (q *profiler) join(c int) Launch {
	const boards = 4
	return Join(BF16, JoinArgs{
		Z: q.plane(boards, c), X: q.plane(boards, c), Y: q.plane(boards, c), Scale: q.floats(boards * c), Shift: q.floats(boards * c), Boards: boards,
		Padded: int32(c), Act: ActMish, ByBoard: 1,
	})
}

func (q *profiler) joinBackward(c int) Launch {
	const boards = 4
	return JoinBackward(BF16, JoinBackwardArgs{
		Dy: q.plane(boards, c), Z: q.plane(boards, c), X: q.plane(boards, c), D: q.plane(boards, c), Scale: q.floats(boards * c), Shift: q.floats(boards * c),
		Sums: q.floats(boards * 2 * c), Boards: boards, Padded: int32(c), Act: ActMish, ByBoard: 1,
	})
}

func (q *profiler) bnInput(c int) Launch {
	const boards = 4
	return BNInput(BF16, BNInputArgs{
		D: q.plane(boards, c), Z: q.plane(boards, c), Dz: q.plane(boards, c), K: q.floats(3 * c), DynScale: q.floats(boards * c),
		DynShift: q.floats(boards * c), Boards: boards, Padded: int32(c),
	})
}

func (q *profiler) bnForward(c int) Launch {
	const boards = 512
	n := int32(c)
	return BNForward(BNForwardArgs{
		Sums: q.floats(boards * 2 * c), Gamma: q.floats(c), Beta: q.floats(c), PendingMean: q.floats(c), PendingVar: q.floats(c), Mean: q.floats(c),
		InvStd: q.floats(c), Scale: q.floats(c), Shift: q.floats(c), Boards: boards, Channels: n, Padded: n,
	})
}

func (q *profiler) bnBackward(c int) Launch {
	const boards = 512
	n := int32(c)
	return BNBackward(BNBackwardArgs{
		Sums: q.floats(boards * 2 * c), Gamma: q.floats(c), Mean: q.floats(c), InvStd: q.floats(c), Dgamma: q.floats(c), Dbeta: q.floats(c), K: q.floats(3 * c),
		Boards: boards, Channels: n, Padded: n,
	})
}

// oneBlock keeps the kernel that many boards have, for as many as one block takes.
func oneBlock(l Launch) Launch {
	l.Grid.X = 1
	return l
}

func (q *profiler) seForward(c, boards int) Launch {
	units, n := c/4, 16
	return oneBlock(SEForward(SEForwardArgs{
		Sums: q.floats(2 * n * c), Scale: q.floats(c), Shift: q.floats(c), W1: q.floats(units * c), B1: q.floats(units), W2: q.floats(2 * c * units),
		B2: q.floats(2 * c), Pool: q.floats(n * c), Pre: q.floats(n * units), Gate: q.floats(n * c), BoardScale: q.floats(n * c), BoardShift: q.floats(n * c),
		Boards: int32(boards), Channels: int32(c), Padded: int32(c), Units: int32(units), Act: ActMish,
	}))
}

func (q *profiler) seBackward(c, boards int) Launch {
	units, n := c/4, 16
	return oneBlock(SEBackward(SEBackwardArgs{
		Sums: q.floats(2 * n * c), Zsums: q.floats(2 * n * c), Scale: q.floats(c), Shift: q.floats(c), Gate: q.floats(n * c), Pre: q.floats(n * units),
		W1: q.floats(units * c), W2: q.floats(2 * c * units), Df: q.floats(2 * n * c), Dhid: q.floats(n * units), DynScale: q.floats(n * c),
		DynShift: q.floats(n * c), DynSums: q.floats(2 * n * c), Boards: int32(boards), Channels: int32(c), Padded: int32(c), Units: int32(units), Act: ActMish,
	}))
}

// tower is a net of one block with squeeze-and-excitation and the convolutional
// policy head, in the shape that an H100 has for many boards.
func (q *profiler) tower(c int) Launch {
	units := (c/4 + 15) / 16
	vector := 3*c + 16*units
	shape, ok := firstShape(h100, c, vector, 4096)
	if !ok {
		q.t.Fatalf("no tower of %d filters", c)
	}
	boards, passes := shape.Boards, ceil(80, c)
	a := TowerArgs{
		Masks: q.zeros(boards * encoding.NumMasks * 8), Scalars: q.zeros(boards * 6), Flat: q.plane(boards, 48), Prior: q.floats(boards * 35),
		Channels: int32(c), Blocks: 1, Act: ActMish, SeStages: int32(units), Vector: int32(vector), HeadPasses: int32(ceil(48, c)), PolicyPasses: int32(passes),
		HeadColumns: 48, Width: [3]int32{32, 16},
	}
	a.Count = uploadOf(q.t, q.d, q.s, []int32{int32(boards)})
	a.Start, a.Legal = q.moves(boards)
	place := encoding.ConvPolicyIndex()
	a.Place = uploadOf(q.t, q.d, q.s, place[:])
	a.Stages = int32(3*(7+c/16*(3+passes)) + units + ceil(c, 48)*ceil(48, c))
	a.Weights, a.Vectors, a.HeadBias = q.zeros(int(a.Stages)*towerStageSize*c), q.floats((4+passes)*vector), q.floats(ceil(48, c)*c)
	return Tower(BF16, a, shape, boards)
}

func (q *profiler) headFC1(boards int) Launch {
	const inputs, outputs, rows = 2048, 128, 64
	layer := HeadLayer{
		X: q.zeros(rows * inputs * 2), W: q.zeros(inputs * outputs * 2), Bias: q.floats(outputs), Y: q.floats(rows * outputs), Stride: inputs, Inputs: inputs,
		Outputs: outputs, Act: ActMish,
	}
	return oneBlock(HeadFC1(BF16, HeadFC1Args{Count: uploadOf(q.t, q.d, q.s, []int32{rows}), Layer: [3]HeadLayer{layer}}, boards))
}

func (q *profiler) headFC2() Launch {
	const boards, hidden = 4, 128
	return HeadFC2(HeadFC2Args{
		Count: uploadOf(q.t, q.d, q.s, []int32{boards}), Value: q.floats(boards * hidden), ValueW: q.floats(3 * hidden), ValueBias: q.floats(3),
		MovesLeft: q.floats(boards * hidden), MovesW: q.floats(hidden), MovesBias: q.floats(1), Wdl: q.floats(3 * boards), M: q.floats(boards),
		ValueHidden: hidden, ValueOutputs: 3, MovesHidden: hidden,
	}, boards)
}

// places returns those of the convolutional policy head in a row of logits.
func (q *profiler) places() driver.Ptr {
	place := kernel.NewConvPolicyOffsets(encoding.ConvPolicyIndex())
	return uploadOf(q.t, q.d, q.s, place[:])
}

func (q *profiler) policyGather() Launch {
	const boards, width = 4, 64 * encoding.NumConvPlanes
	a := PolicyGatherArgs{Count: uploadOf(q.t, q.d, q.s, []int32{boards}), Logits: q.floats(boards * width), Place: q.places(), Prior: q.floats(boards * 35), Width: width}
	a.Start, a.Legal = q.moves(boards)
	return PolicyGather(a, boards)
}

func (q *profiler) expand() Launch {
	const boards = 2
	return Expand(BF16, ExpandArgs{Masks: q.zeros(boards * encoding.NumMasks * 8), Scalars: q.zeros(boards * 6), Planes: q.plane(boards, 112), Boards: boards})
}

func (q *profiler) policyLoss() Launch {
	const rows, width = 8, 64 * encoding.NumConvPlanes
	target := make([]float32, 35*rows)
	for i := range target {
		target[i] = 1
	}
	a := PolicyLossArgs{
		Logits: q.floats(rows * width), Place: q.places(), Target: uploadOf(q.t, q.d, q.s, target), Weight: q.floats(rows), Dlogits: q.zeros(rows * width * 2),
		Loss: q.floats(2 * rows), Entropy: q.floats(rows), Rows: rows, Width: width,
	}
	a.Start, a.Legal = q.moves(rows)
	return PolicyLoss(BF16, a)
}

func (q *profiler) scalarLoss() Launch {
	const rows, width = 128, 16
	a := ScalarLossArgs{
		Logits: q.floats(rows * width), Targets: q.floats(18 * rows), Weight: q.floats(rows), Dlogits: q.zeros(rows * width * 2),
		Rows: rows, Width: width, Terms: 2,
	}
	for i := range a.Terms {
		a.Term[i].Loss = q.floats(2 * rows)
	}
	return ScalarLoss(BF16, a)
}

func (q *profiler) gather() Launch {
	const rows = 8
	a := GatherArgs{
		Kept: uploadOf(q.t, q.d, q.s, []uint32{8, 16, 24, 32, 40, 48, 56, 7}), Images: uploadOf(q.t, q.d, q.s, encoding.PolicyImages()[:]),
		WindowMasks: q.zeros(rows * encoding.NumMasks * 8), WindowScalars: q.zeros(rows * 6), WindowTargets: q.floats(18 * rows), WindowAhead: q.zeros(16 * rows),
		WindowLegal: q.zeros(rows * WindowMoves * 2), WindowPolicy: q.floats(rows * WindowMoves), Masks: q.zeros(rows * encoding.NumMasks * 8),
		Scalars: q.zeros(rows * 6), Targets: q.floats(18 * rows), Ahead: q.zeros(16 * rows), Legal: q.zeros(35 * rows * 2), Policy: q.floats(35 * rows), Rows: rows,
	}
	a.Start, _ = q.moves(rows)
	return Gather(a)
}

// Attention of two boards, eight heads of 32 columns.
func (q *profiler) attend() Launch {
	const boards, heads, depth, width = 2, 8, 32, 256
	return Attend(BF16, AttendArgs{
		Q: q.plane(boards, width), K: q.plane(boards, width), V: q.plane(boards, width), Extra: q.zeros(boards * heads * 64 * 64 * 2), Y: q.plane(boards, width),
		Boards: boards, Heads: heads, Depth: depth, Stride: width, Width: width, Scale: 1,
	})
}

func (q *profiler) attendBackward() Launch {
	const boards, heads, depth, width = 2, 8, 32, 256
	return AttendBackward(BF16, AttendBackwardArgs{
		Q: q.plane(boards, width), K: q.plane(boards, width), V: q.plane(boards, width), Extra: q.zeros(boards * heads * 64 * 64 * 2), Dy: q.plane(boards, width),
		Dq: q.plane(boards, width), Dk: q.plane(boards, width), Dv: q.plane(boards, width), Dextra: q.zeros(boards * heads * 64 * 64 * 2),
		Boards: boards, Heads: heads, Depth: depth, Width: width, Scale: 1,
	})
}

func (q *profiler) attentionLogits() Launch {
	const boards, width = 2, 256
	return AttentionLogits(BF16, AttentionLogitsArgs{Q: q.plane(boards, width), K: q.plane(boards, width), More: q.floats(boards * 64 * 16), Y: q.floats(boards * encoding.NumAttention), Boards: boards, Width: width, Scale: 1})
}

func (q *profiler) attentionLogitsBackward() Launch {
	const boards, width = 2, 256
	return AttentionLogitsBackward(BF16, AttentionLogitsBackwardArgs{
		Q: q.plane(boards, width), K: q.plane(boards, width), Dy: q.zeros(boards * encoding.NumAttention * 2), Dq: q.plane(boards, width), Dk: q.plane(boards, width), Dmore: q.plane(boards, 16),
		Boards: boards, Width: width, Scale: 1,
	})
}

func (q *profiler) layerNorm() Launch {
	const boards, width = 2, 256
	return LayerNorm(BF16, LayerNormArgs{X: q.plane(boards, width), Skip: q.plane(boards, width), Gamma: q.floats(width), Beta: q.floats(width), Mul: q.floats(64 * width), Add: q.floats(64 * width), Y: q.plane(boards, width),
		Rows: boards * 64, Width: width, Real: width, Group: width, Scale: 1, Epsilon: 1})
}

func (q *profiler) layerNormBackward() Launch {
	const boards, width = 2, 256
	return LayerNormBackward(BF16, LayerNormBackwardArgs{X: q.plane(boards, width), Skip: q.plane(boards, width), Gamma: q.floats(width), Dy: q.plane(boards, width), Dx: q.plane(boards, width), Dskip: q.plane(boards, width), Sums: q.floats(boards * 2 * width),
		Rows: boards * 64, Width: width, Real: width, Group: width, Scale: 1, Epsilon: 1})
}

func (q *profiler) gateBackward() Launch {
	const boards, width = 2, 256
	return GateBackward(BF16, GateBackwardArgs{X: q.plane(boards, width), Dy: q.plane(boards, width), Mul: q.floats(64 * width), Dmul: q.floats(64 * width), Dadd: q.floats(64 * width), Dx: q.plane(boards, width),
		Boards: boards, Width: width, Real: width, Accumulate: 1})
}

func (q *profiler) columnSums() Launch {
	const rows, columns = 2048, 128
	return ColumnSums(BF16, ColumnSumsArgs{X: q.zeros(rows * columns * 2), Sum: q.floats(columns), Rows: rows, Columns: columns, Real: columns, Accumulate: 1})
}

// outer is the gradient of squeeze-and-excitation's layers, 128 filters.
func (q *profiler) outer() Launch {
	const boards, c, units = 512, 128, 32
	layers := []OuterLayer{
		{Dout: q.floats(boards * 2 * c), In: q.floats(boards * units), Dw: q.floats(2 * c * units), Dbias: q.floats(2 * c), Rows: 2 * c, Columns: units, DoutStride: 2 * c, InStride: units, Act: ActMish},
		{Dout: q.floats(boards * units), In: q.floats(boards * c), Dw: q.floats(c * units), Dbias: q.floats(units), Rows: units, Columns: c, DoutStride: units, InStride: c},
	}
	return Outer(OuterArgs{Layers: uploadLayers(q.t, q.d, q.s, layers), Boards: boards}, layers)
}

func (q *profiler) pack() Launch {
	const c = 64
	entry := PackEntry{W: q.floats(9 * c * c), Forward: q.zeros(9 * c * c * 2), Backward: q.zeros(9 * c * c * 2), Co: c, Ci: c, Taps: 9}
	return Pack(BF16, PackArgs{Entries: uploadBytes(q.t, q.d, q.s, bytesOf(&entry)), Count: 1}, 9*c*c)
}

const profiledWeights = 8192

func (q *profiler) prepareGradient() Launch {
	const n = profiledWeights
	return PrepareGradient(PrepareGradientArgs{G: q.floats(n), W: q.floats(n), Decay: q.zeros(n / 256), Part: q.zeros(16 * PrepareGradientParts(n)), N: n})
}

func (q *profiler) finishNorm() Launch {
	const parts, running = 1024, 2048
	return FinishNorm(FinishNormArgs{Part: q.zeros(16 * parts), Pending: q.floats(running), State: q.zeros(24), Parts: parts, Running: running})
}

func (q *profiler) step() StepArgs {
	const n = profiledWeights
	state := uploadBytes(q.t, q.d, q.s, bytesOf(&StepState{Clip: 1, Finite: 1}))
	return StepArgs{W: q.floats(n), G: q.floats(n), M: q.floats(n), V: q.floats(n), Swa: q.floats(n), Decay: q.zeros(n / 256), State: state, N: n, SwaAdd: 1}
}
