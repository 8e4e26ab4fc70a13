package kernels

import "fmt"

// The geometry of headfc.cu.
const (
	headWarps    = 8
	headOutputs  = 32   // of a block
	headStep     = 512  // inputs are a multiple of it
	headWide     = 1024 // boards from which on blocks of 64 boards fill the device
	boardThreads = 128
)

// HeadFC1 runs the first fully connected layers of the heads, those with outputs, on
// up to boards positions. It sets their Tiles.
func HeadFC1(t Type, a HeadFC1Args, boards int) Launch {
	tiles := 0
	for i := range a.Layer {
		l := &a.Layer[i]
		if l.Inputs%headStep != 0 || t == F32 {
			panic(fmt.Sprintf("kernels: head layer of %d inputs in %v: bf16 or fp16 and a multiple of %d are asked for", l.Inputs, t, headStep))
		}
		l.Tiles = int32(ceil(int(l.Outputs), headOutputs))
		tiles += int(l.Tiles)
	}
	kernel, each := "head_fc1_", 16
	if boards >= headWide {
		kernel, each = "head_fc1_wide_", 64
	}
	l := inRow(kernel+t.String(), ceil(boards, each), headWarps*32, headWarps*16*(headOutputs+8)*4, &a)
	l.Grid.Y = tiles
	return l
}

// HeadFC2 runs the last layers of value and moves left on up to boards positions.
func HeadFC2(a HeadFC2Args, boards int) Launch {
	return perWarp("head_fc2", boardThreads/32, boards, &a)
}

// HeadOutputs turns logits of value and moves left into answers.
func HeadOutputs(a HeadOutputsArgs, boards int) Launch {
	return inRow("head_outputs", ceil(boards, boardThreads), boardThreads, 0, &a)
}

// PolicyGather turns policy logits into the probabilities of legal moves.
func PolicyGather(a PolicyGatherArgs, boards int) Launch {
	return perWarp("policy_gather", boardThreads/32, boards, &a)
}
