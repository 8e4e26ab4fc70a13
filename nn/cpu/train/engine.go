package train

import (
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// bnMode says which statistics batch norm normalises with.
type bnMode uint8

const (
	batchStats   bnMode = iota // of the micro-batch; the running statistics move towards them
	runningStats               // the saved running ones, taken as constants
)

// param is one parameter of the net: the master weights, and the gradient of
// the last micro-batch where it is trained (nil for running statistics).
type param struct {
	spec nn.ParamSpec
	data []float32
	grad []float32
}

// engine is what the layers of one net share: parameters, worker pool, scratch
// and the micro-batch at hand. It is private memory that Gorgonia never sees.
type engine struct {
	pool     *pool
	act      kernel.Act
	capacity int // boards that the buffers hold
	slice    int // boards of a slice
	// precision is that of the 3x3 convolutions' products, forward and backward, and of the
	// layers of attention nets: see inHalf.
	precision kernel.Precision

	params []param
	// running holds the running statistics as they will be once the step is
	// taken: a skipped step leaves params alone.
	running    [][]float32 // by parameter; nil for trained ones
	bnMomentum float64

	packers []packer                // the layers with packed copies of weights
	scratch [][numScratch][]float32 // by worker
	// workspaces and sliceSpaces are the workers', of a group of boards and of a slice, for
	// layers that compute again what their backward pass needs.
	workspaces, sliceSpaces []workspace

	// arenas hold partial weight gradients by slice: those of the layer at work,
	// and those of the layer before, while they are summed.
	arenas [2][][]float32
	arena  int      // the one opened last
	due    []dueSum // to be summed beside the next phase

	carried      phase        // what the last layer left to the next phase
	carriedGrads *weightGrads // completed by it
	// towerGrad [capacity][64][filters] is the gradient of the tower's activations,
	// on its way down; grads are others, of one layer's backward pass.
	towerGrad []float32
	grads     [][]float32

	features encoding.SparseFeatures // of a sparse net

	squares []float64 // by piece, of sumSquares

	batch     *encoding.TrainBatch
	boards    int
	mode      bnMode
	version   uint64  // of the weights
	packedAt  uint64  // the version that the packed copies are of
	lossScale float64 // factor of every loss gradient
	train     bool    // gradients of the losses are wanted
}

func newEngine(a nn.Arch, capacity, workers int, bnMomentum float64, p kernel.Precision) *engine {
	e := &engine{
		pool: newPool(workers), act: kernel.ActOf(a.Activation), capacity: capacity, precision: p,
		bnMomentum: bnMomentum, version: 1, lossScale: 1, grads: make([][]float32, 1+len(a.Heads)),
		scratch: make([][numScratch][]float32, workers), workspaces: make([]workspace, workers), sliceSpaces: make([]workspace, workers), slice: sliceBoards(capacity),
	}
	if a.Sparse() {
		e.features, e.slice = a.SparseFeatures(), sparseSlice(capacity)
	}
	for i := range e.arenas {
		e.arenas[i] = make([][]float32, e.maxSlices())
	}
	for _, spec := range nn.Specs(a) {
		p := param{spec: spec, data: make([]float32, spec.Len())}
		var running []float32
		if spec.Kind.Trained() {
			p.grad = make([]float32, len(p.data))
		} else {
			running = make([]float32, len(p.data))
		}
		e.params = append(e.params, p)
		e.running = append(e.running, running)
	}
	return e
}

// param returns the index of a parameter, -1 where the net has none of that name.
func (e *engine) param(name string) int {
	return slices.IndexFunc(e.params, func(p param) bool { return p.spec.Name == name })
}

// shape is the shape of a parameter that there is.
func (e *engine) shape(name string) []int { return e.params[e.param(name)].spec.Shape }

// packer is a layer that keeps its weights in the order of the kernels.
type packer interface{ pack() }

// begin takes a micro-batch, whose rows must fit the capacity, and brings the
// packed weights up to date.
func (e *engine) begin(b *encoding.TrainBatch, mode bnMode, train bool) {
	e.batch, e.boards, e.mode, e.train = b, b.N, mode, train
	e.carry(phase{}, nil) // of a pass that an error ended
	e.due = e.due[:0]
	if e.packedAt != e.version {
		e.packedAt = e.version
		e.pool.run(len(e.packers), func(i, _ int) { e.packers[i].pack() })
	}
}

// span is a slice of the micro-batch: boards lo to lo+n.
type span struct{ slice, worker, lo, n int }

// rows returns the part of x [boards][width] that belongs to the slice.
func (s span) rows(x []float32, width int) []float32 { return x[s.lo*width:][:s.n*width] }

// groupBoards is how many boards of a slice go through a chain of layers
// together: few enough that their activations stay in the core's cache.
const groupBoards = 8

// numSlices is the number of slices of the micro-batch, maxSlices that of the
// largest.
func (e *engine) numSlices() int { return (e.boards + e.slice - 1) / e.slice }
func (e *engine) maxSlices() int { return (e.capacity + e.slice - 1) / e.slice }

// scratchUse names the scratch buffers of a worker: those in use at one time are
// different ones.
type scratchUse int

const (
	convScratch scratchUse = iota // of a kernel call
	gradScratch                   // of a weight gradient, over the groups of a slice
	inputBuffer                   // a group's input planes
	actBuffer                     // a group's activations, or their gradient
	normBuffer                    // a group's gradient before batch norm
	preBuffer                     // a group's activations before Mish
	sumBuffer                     // a group's sums by board
	softBuffer                    // a row's policy and its target, softened
	numScratch
)

// workerScratch returns n floats of the worker's scratch, with any contents. A
// slice is worked on by one goroutine, so growing it here is safe.
func (e *engine) workerScratch(s span, use scratchUse, n int) []float32 {
	b := &e.scratch[s.worker][use]
	if len(*b) < n {
		*b = make([]float32, n)
	}
	return (*b)[:n]
}

// towerBuffer is the gradient buffer of the tower's layers. Behind it each head has its
// own, as heads work together.
const towerBuffer = 0

// gradBuffer returns activation-gradient buffer k for width floats a board. It is
// only valid within one layer's backward pass, and what it carries to the next phase.
func (e *engine) gradBuffer(k, width int) []float32 {
	if n := e.capacity * width; len(e.grads[k]) < n {
		e.grads[k] = make([]float32, n)
	}
	return e.grads[k]
}

// decays says whether weight decay and L2 touch a parameter.
func decays(s nn.ParamSpec) bool { return s.Kind == nn.Weight }
