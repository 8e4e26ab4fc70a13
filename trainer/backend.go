package trainer

import (
	"github.com/chessbrain/chessbrain/encoding"
)

// backend does a trainer's arithmetic: host on the CPU, remote on a device. Both
// work on the trainer's net, moments and average; a remote one's lie on the device,
// and in the trainer's memory only after pull.
type backend interface {
	// begin drops the running statistics of a step that was not taken.
	begin() error
	// run takes the micro-batches that next gives, one after another, through the
	// net, adds their measures to s, and returns the sum of their objectives without
	// L2. next gives nil at the end; a batch is done with at its next call.
	run(next func() (*encoding.TrainBatch, pass, error), s *sums) (float64, error)
	// update ends a step; nothing is changed where a number is not finite.
	update(u update) (updated, error)
	// halfSquares is the L2 loss of the weights.
	halfSquares() (float64, error)
	// refresh runs next's micro-batches with the averaged weights, puts the running
	// statistics that they leave into the average, and leaves all else as it was.
	refresh(next func() (*encoding.TrainBatch, pass, error)) error
	// pull brings the trainer's memory up to date, the net alone or all of it; push
	// takes all of that memory.
	pull(all bool) error
	push() error
	close() error
}

// pass says how a micro-batch goes through the net.
type pass struct {
	train      bool // gradients are wanted
	first      bool // of the step
	staged     bool // the device has it already
	mode       bnMode
	lossScale  float64
	bnMomentum float64 // of the running statistics; 0 = that of the configuration
}

// update ends a step of some micro-batches.
type update struct {
	scale     float64 // of gradients: 1/(micro-batches*loss scale)
	objective float64 // of the step, without L2
	lr        float64
	average   bool // the new weights enter the average
}

// updated is what an update did.
type updated struct {
	gradNorm    float64 // before clipping
	halfSquares float64 // of the weights before it
	finite      bool
}
