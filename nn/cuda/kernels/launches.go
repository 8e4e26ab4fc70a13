package kernels

import "math"

// The launches of the kernels whose geometry follows from their arguments alone. The
// constants are those of the .cu files.

// ColumnSums adds up the rows of an activation in t: a bias's gradient.
func ColumnSums(t Type, a ColumnSumsArgs) Launch {
	const threads, count = 1024, 8 // COLUMN_THREADS, COLUMN_COUNT
	return inRow("column_sums_"+t.String(), ceil(int(a.Real), count), threads, threads/32*count*4, &a)
}

// Expand writes the input planes of boards positions, channels last: those of
// encoding.ExpandPlanes, rounded to t.
func Expand(t Type, a ExpandArgs) Launch {
	const planes, lanes = 112, 16 // NUM_PLANES, EXPAND_LANES
	return inRow("expand_"+t.String(), int(a.Boards), planes/(16/t.Size())*lanes, 0, &a)
}

// WindowMoves is the legal moves that a row of a window has room for: ROW_MOVES of
// gather.cu.
const WindowMoves = 256

// Gather returns gather, one warp a row.
func Gather(a GatherArgs) Launch { return perWarp("gather", 8, int(a.Rows), &a) }

// Pack makes the weights of all entries into those that Conv reads, in t. longest
// is the number of weights, taps*co*ci, of the largest entry: it only decides how
// many blocks an entry gets.
func Pack(t Type, a PackArgs, longest int) Launch {
	const threads, side, depth = 256, 16, 9 // PACK_THREADS, PACK_SIDE, PACK_DEPTH
	l := inRow("pack_"+t.String(), max(1, min(ceil(longest, side*side*depth), 1024)), threads, side*(side*depth+1)*4, &a)
	l.Grid.Y = int(a.Count)
	return l
}

// The geometry of boardrows.cuh.
const (
	vectorBytes  = 16 // of one access
	rowLanes     = 8  // threads that share a board's squares
	maxRowGroups = 32 // accesses of a row in one block
)

// overBoards is a launch over activations [boards*64][padded]. A thread has 8 squares
// of one group of channels, 16 bytes each; a block has about 256 threads: some boards
// where rows are short, a part of the rows where they are long.
func overBoards[A any](kernel string, t Type, boards, padded int32, a *A) Launch {
	groups := int(padded) * t.Size() / vectorBytes
	parts := ceil(groups, maxRowGroups)
	width := ceil(groups, parts)
	together := maxRowGroups / width
	l := inRow(kernel+t.String(), ceil(int(boards), together), width, 0, a)
	l.Grid.Y, l.Block.Y, l.Block.Z = parts, rowLanes, together
	return l
}

// Join launches y = act(z*scale + shift + x).
func Join(t Type, a JoinArgs) Launch { return overBoards("join_", t, a.Boards, a.Padded, &a) }

// JoinBackward launches Join's gradient and its sums by board.
func JoinBackward(t Type, a JoinBackwardArgs) Launch {
	l := overBoards("join_backward_", t, a.Boards, a.Padded, &a)
	// two sums of every channel that a thread has
	l.Shared = l.Block.X * l.Block.Y * l.Block.Z * 2 * vectorBytes / t.Size() * 4
	return l
}

// BNInput launches the gradient of batch norm's input.
func BNInput(t Type, a BNInputArgs) Launch { return overBoards("bn_input_", t, a.Boards, a.Padded, &a) }

// norm is a kernel of norm.cu over [boards][2][padded] sums.
func norm[A any](kernel string, padded int32, a *A) Launch {
	const threads, channels = 512, 8 // of a block
	return inRow(kernel, int(padded)/channels, threads, threads/32*2*channels*8, a)
}

// BNForward launches batch norm's statistics.
func BNForward(a BNForwardArgs) Launch { return norm("bn_forward", a.Padded, &a) }

// BNBackward launches batch norm's parameter gradients and the coefficients of BNInput.
func BNBackward(a BNBackwardArgs) Launch { return norm("bn_backward", a.Padded, &a) }

// seWide is the number of boards from which on 16 a block fill a large device; below it
// are 4.
const seWide = 2048

// squeeze is a squeeze-and-excitation kernel of se.cu.
func squeeze[A any](kernel string, boards int32, a *A) Launch {
	const threads, chunk, parts = 256, 16, 8 // terms of a sum in shared memory; parts of the longer sums
	each, suffix := 4, "_4"
	if boards >= seWide {
		each, suffix = 16, "_16"
	}
	return inRow(kernel+suffix, ceil(int(boards), each), threads, 4*(threads*(chunk+1)+parts*chunk*(each|4)), a)
}

// SEForward launches the two small layers and the scale and shift of every board.
func SEForward(a SEForwardArgs) Launch { return squeeze("se_forward", a.Boards, &a) }

// SEBackward launches their gradients.
func SEBackward(a SEBackwardArgs) Launch { return squeeze("se_backward", a.Boards, &a) }

// PolicyLoss returns policy_loss, one warp a row. a.Width is a multiple of 16.
func PolicyLoss(t Type, a PolicyLossArgs) Launch {
	return perWarp("policy_loss_"+t.String(), 8, int(a.Rows), &a)
}

// The formulas of ScalarLossArgs.Head.
const (
	LossWDL       = 0 // cross entropy over win, draw, loss: three outputs
	LossValue     = 1 // (tanh(z)-q)^2
	LossMovesLeft = 2 // Huber
	LossError     = 3 // of a forecast of the value's error
	LossCategory  = 4 // cross entropy over categories of the value
)

// The formulas of AuxTerm.Kind.
const (
	AuxSurvival = iota
	AuxMaterial
	AuxReply
	AuxShortTerm
)

// NoMaterial is Ahead.Material where it and Survive are not known.
const NoMaterial = math.MinInt16

// AuxLoss returns aux_loss, one warp a row.
func AuxLoss(t Type, a AuxLossArgs) Launch {
	const rows, width = 8, 208 // a block; AUX_WIDTH
	l := perWarp("aux_loss_"+t.String(), rows, int(a.Rows), &a)
	l.Shared = rows * width * 4
	return l
}

// MaxTerms is how many terms one head may have.
const MaxTerms = len(ScalarLossArgs{}.Term)

// ScalarLoss returns scalar_loss, one thread a row. a.Width is a multiple of 16.
func ScalarLoss(t Type, a ScalarLossArgs) Launch {
	const rows = 128 // a block
	return inRow("scalar_loss_"+t.String(), ceil(int(a.Rows), rows), rows, 0, &a)
}

// Threads of the blocks that update.cu is written for, and what a block takes on.
const (
	prepareThreads  = 256
	finishThreads   = 1024
	stepThreads     = 256
	weightsAThread  = 4
	sumBytes        = 2 * 8 // shared memory a thread where two sums are added up
	maxPrepareParts = 1024
)

// PrepareGradientParts returns how many parts prepare_gradient of n numbers
// writes: [parts][2] float64. It depends on n alone. maxPrepareParts keeps it to one wave of
// blocks on a large GPU; the sums' order, which hangs on it, is the same everywhere.
func PrepareGradientParts(n int) int {
	return max(1, min(ceil(n, prepareThreads*weightsAThread), maxPrepareParts))
}

// PrepareGradient returns prepare_gradient.
func PrepareGradient(a PrepareGradientArgs) Launch {
	return inRow("prepare_gradient", PrepareGradientParts(int(a.N)), prepareThreads, prepareThreads*sumBytes, &a)
}

// FinishNorm returns finish_norm; a.Parts is PrepareGradientParts of the gradient.
func FinishNorm(a FinishNormArgs) Launch {
	return inRow("finish_norm", 1, finishThreads, finishThreads*sumBytes, &a)
}

// SGD returns sgd: Nesterov momentum as nn/kernel.SGDNesterov.
func SGD(a StepArgs) Launch { return step("sgd", a) }

// NAdamW returns nadamw, as nn/kernel.NAdamW.
func NAdamW(a StepArgs) Launch { return step("nadamw", a) }

// AdamW returns adamw, as nn/kernel.AdamW.
func AdamW(a StepArgs) Launch { return step("adamw", a) }

func step(kernel string, a StepArgs) Launch {
	return inRow(kernel, ceil(int(a.N), stepThreads*weightsAThread), stepThreads, 0, &a)
}

// KeepRunning returns keep_running; a.N may be any number above 0.
func KeepRunning(a KeepRunningArgs) Launch {
	return inRow("keep_running", ceil(int(a.N), stepThreads), stepThreads, 0, &a)
}

// AddPart returns add_part; a.N may be any number above 0.
func AddPart(a AddPartArgs) Launch {
	return inRow("add_part", ceil(int(a.N), stepThreads), stepThreads, 0, &a)
}
